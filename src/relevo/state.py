"""
What a log means now.

A `State` is what `fold.fold` makes of events. It holds nothing that grows with the history but `facts`, a linked list
that shares its tail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar

from relevo.content import Call, Json
from relevo.events import ToolConfirmation, ToolStarted, UserInterrupt
from relevo.outcome import Outcome
from relevo.phases import Phase

T = TypeVar("T")


def replace(value: T, **changes: Any) -> T:
    """`dataclasses.replace` for classes that check nothing: eight times as fast, on the path of every event."""
    copy: T = object.__new__(type(value))
    copy.__dict__.update(value.__dict__)
    copy.__dict__.update(changes)
    return copy


class Status(Enum):
    """How far an open call has come."""

    PROPOSED = "proposed"
    """The model asked; nothing was decided."""
    WAITING = "waiting"
    """Somebody or something outside must act first."""
    DECIDED = "decided"
    """A person decided; nothing was run yet."""
    RETRYING = "retrying"
    """An attempt failed, and another follows."""
    STARTED = "started"
    """Its effect may have begun. Seen at a wake, it means: begun by a process that is gone."""


@dataclass(frozen=True)
class OpenCall:
    """A call the model waits for."""

    call: Call
    status: Status = Status.PROPOSED
    refused: str | None = None
    """Why it must be answered without being looked at; None for an ordinary call."""
    until: Mapping[str, Json] | None = None
    """What it waits for, of `ToolWaiting`."""
    decision: ToolConfirmation | None = None
    proposed: Any = None
    """What a person is asked to approve, when it is not the model's own input."""
    started: ToolStarted | None = None
    """The newest attempt."""
    failures: tuple[str, ...] = ()
    """What each failed attempt came to, in a word (a code or a category)."""
    failed: Mapping[str, Json] | None = None
    """The error of the newest failed attempt."""
    retry_at: datetime | None = None
    """Not before this moment is the next attempt due."""

    @property
    def awaits(self) -> str | None:
        """What kind of thing it waits for (`approval`, `order`, ...); None when it can move."""
        return str((self.until or {}).get("type")) if self.status is Status.WAITING else None

    @property
    def expires_at(self) -> datetime | None:
        """When the wait is over; None is never, and so is a moment of a tool's own that nobody can read."""
        try:
            moment = datetime.fromisoformat((self.until or {})["expires_at"])
        except (KeyError, TypeError, ValueError):
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fact:
    """A successful result: what gates ask about."""

    position: int
    tool: str
    input: Any
    data: Any
    before: Fact | None = field(default=None, repr=False, compare=False)
    """The fact before it, so that the newest comes first and the tail is shared. Longer than Python recurses."""


@dataclass(frozen=True)
class Turn:
    """Counters since somebody last spoke."""

    began_at: datetime | None = None
    """Moved on by every time in which nobody worked, so that now minus this is time spent working."""
    answers: int = 0
    """Also requests that were sent and never answered, because their process died."""
    tool_calls: int = 0
    pauses: int = 0
    """In a row."""
    growths: int = 0
    """How often the output limit of the present answer was raised."""
    nudges: Mapping[str, int] = field(default_factory=dict)
    """By reason."""
    repeats: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Call (name and input) -> its last result's hash, and how often in a row that call gave it."""
    repeated: int = 0
    """The most that any call gave the same result in a row."""
    texts: tuple[str, ...] = ()
    """Partial texts that the model was asked to continue."""
    text: str = ""
    """The newest text of this turn."""


@dataclass(frozen=True)
class Totals:
    """Counters over the whole log. Every request counts, also one whose answer was thrown away."""

    requests: int = 0
    input_tokens: int = 0
    """Without cache reads and writes."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Answers whose price is unknown; while this is over 0, `cost_usd` is a lower bound."""

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True)
class State:
    """What a log means now."""

    session_id: str
    position: int = 0
    phase: Phase = Phase.QUIET
    agent: Mapping[str, Json] = field(default_factory=dict)
    identity: Mapping[str, Json] = field(default_factory=dict)
    title: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    created_at: datetime | None = None
    active_at: datetime | None = None
    """When the harness last wrote something."""
    open: Mapping[str, OpenCall] = field(default_factory=dict)
    """Calls without a result, by id, in the model's order."""
    awake: bool = False
    """A harness took it up and has not put it down."""
    in_flight: int = 0
    """Position of the request that has no answer yet, 0 when there is none."""
    max_tokens: int = 0
    """Output limit of the newest request, 0 before the first."""
    failures: int = 0
    """Failed attempts of the present request, in a row."""
    failing_since: datetime | None = None
    retry_at: datetime | None = None
    """Not before this moment is the next attempt due; None when it is due now."""
    unheard: bool = False
    """A message came that no request has carried yet."""
    queued: bool = False
    """It came while a turn was under way: if no request of that turn carries it, it begins the next."""
    holds_back: bool = False
    """The newest answer lets no text follow it yet (see `stops.holds_back`)."""
    interrupted: UserInterrupt | None = None
    ending: Outcome | None = None
    """How the turn ends, once that is known and not yet written."""
    outcome: Outcome | None = None
    """How the last turn ended; None before the first end."""
    facts: Fact | None = None
    turn: Turn = field(default_factory=Turn)
    totals: Totals = field(default_factory=Totals)

    def results(self, tool: str) -> Iterator[Fact]:
        """Successful results of a tool, newest first."""
        fact = self.facts
        while fact is not None:
            if fact.tool == tool:
                yield fact
            fact = fact.before

    @property
    def partial_text(self) -> str:
        """What the model said in this turn, the cut pieces joined."""
        return "".join((*self.turn.texts, self.turn.text))
