"""
Deciding about a waiting call: what a door appends when a person approves or denies.

A decision belongs to one call and one input, is used once, and names who took it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from relevo.content import Json, checked, clean, sha256
from relevo.errors import AlreadyDecided, DecisionExpired, InvalidValue, NothingToDecide
from relevo.events import ToolConfirmation
from relevo.state import State


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits for a person."""

    session_id: str
    call_id: str
    tool: str
    input: Json
    reason: str
    expires_at: datetime | None
    """None is never."""
    identity: Mapping[str, Json]
    """Who the session is for."""


def questions(state: State) -> tuple[Question, ...]:
    """Every call of a session that waits for a decision, in the model's order."""
    return tuple(
        Question(
            session_id=state.session_id,
            call_id=call.call.id,
            tool=call.call.name,
            input=call.call.input if call.proposed is None else call.proposed,
            reason=str((call.until or {}).get("reason", "")),
            expires_at=call.expires_at,
            identity=state.identity,
        )
        for call in state.open.values()
        if call.awaits == "approval"
    )


def decide_about(
    state: State,
    call_id: str,
    *,
    result: Literal["allow", "deny"],
    approver: str,
    now: datetime,
    message: str | None = None,
    edited: Mapping[str, Any] | None = None,
    decided: Callable[[str], ToolConfirmation | None] = lambda _: None,
    validate: Callable[[str, Json], object] | None = None,
) -> ToolConfirmation | None:
    """
    The event that records a decision; None when an equal one stands already, so that a repeat is harmless.

    `decided` looks an earlier decision up (the state forgets calls that have ended). `validate` checks an edited input
    for a tool and raises what it finds wrong.

    Raises:
        NothingToDecide: no such call waits for a decision, or ever did.
        AlreadyDecided: another decision was taken first.
        DecisionExpired: the time is over.
        InvalidValue: a blank approver, a message with an approval, an edit with a denial, or one that is no JSON.
    """
    if not approver.strip():
        raise InvalidValue("an approver must be named")
    if result == "allow" and message is not None:
        raise InvalidValue("a message goes with a denial only")
    if result == "deny" and edited is not None:
        raise InvalidValue("an edited input goes with an approval only")
    plain: dict[str, Json] | None = None if edited is None else checked(edited)
    call = state.open.get(call_id)
    earlier = call.decision if call is not None and call.decision is not None else decided(call_id)
    if earlier is not None:
        if (earlier.result, sha256(earlier.input)) == (result, sha256(plain)):
            return None
        raise AlreadyDecided(f"call {call_id!r} was decided ({earlier.result}) by {earlier.approver!r}")
    if call is None or call.awaits != "approval" or call.until is None:
        raise NothingToDecide(f"no call {call_id!r} waits for a decision in session {state.session_id!r}")
    if call.expires_at is not None and call.expires_at <= now:
        raise DecisionExpired(f"the decision about {call_id!r} was due by {call.expires_at.isoformat()}")
    if plain is not None and validate is not None:
        validate(call.call.name, plain)
    return ToolConfirmation(
        tool_use_id=call_id,
        result=result,
        approver=clean(approver.strip()),
        input_sha256=call.until["input_sha256"],
        input=plain,
        deny_message=None if message is None else clean(message),
    )
