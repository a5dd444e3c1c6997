"""What a kept log means to this version of the program."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from relevo.context.project import Projection
from relevo.events import Event
from relevo.fold import fold_all
from relevo.log.codec import decode
from relevo.outcome import to_wire
from relevo.state import State


def events_of(session: str, lines: Sequence[dict[str, Any]]) -> list[Event]:
    """The events as the log's codec reads them."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [
        Event(
            session,
            line["position"],
            epoch + timedelta(microseconds=line["at"]),
            decode(line["kind"], line["version"], line["data"].encode()),
        )
        for line in lines
    ]


def meaning(session: str, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What must not change: the messages byte for byte, whose turn it is, how it ended, what it cost."""
    events = events_of(session, lines)
    projection = Projection()
    for event in events:
        projection.apply(event)
    state = fold_all(State(session_id=session), events)
    return {
        "messages": [message.decode() for message in projection.messages],
        "phase": state.phase.value,
        "outcome": None if state.outcome is None else to_wire(state.outcome),
        "text": None if state.outcome is None else state.outcome.text,
        "tokens": state.totals.tokens,
        "cost_usd": str(state.totals.cost_usd),
        "facts": _facts(state),
    }


def _facts(state: State) -> int:
    count, fact = 0, state.facts
    while fact is not None:
        count, fact = count + 1, fact.before
    return count
