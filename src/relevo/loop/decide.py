"""
What a session needs next. A pure function of the state: no clock, no network, no log.

The text of a message is never looked at. Caps only ever end a turn; what goes on, goes on because of the phase, and
the phase comes from the stop reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never

from relevo.agent import Limits
from relevo.outcome import (
    AwaitingAction,
    Empty,
    Interrupted,
    Limit,
    LimitReached,
    Outcome,
    Truncated,
)
from relevo.phases import Phase
from relevo.state import OpenCall, State, Status

MAX_GROWTHS = 4
"""How often the output limit of one answer is doubled before the model is asked to continue instead."""

CONTINUE = "Your last message was cut at the output limit. Continue exactly where it ended; do not repeat any of it."
"""What the model is told after a cut answer that cannot grow."""

PLEASE_ANSWER = "Your last message was empty. Please continue: answer, or say what you need."
"""What the model is told after an empty answer. A new message: sending the same again gives the same emptiness."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send a request, not before `not_before` when that is set."""

    max_tokens: int
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    """Judge these calls, and run those that may run."""

    calls: Sequence[OpenCall]


@dataclass(frozen=True, slots=True)
class CloseCalls:
    """Answer these calls without running them."""

    calls: Sequence[OpenCall]
    why: str


@dataclass(frozen=True, slots=True)
class Nudge:
    """Ask the model to go on."""

    reason: Literal["max_tokens", "empty"]
    text: str


@dataclass(frozen=True, slots=True)
class Rest:
    """The turn is over for now: write it down."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is owed; the last turn ended so (None when there was none)."""

    outcome: Outcome | None


Step = AskModel | RunTools | CloseCalls | Nudge | Rest | Nothing


def decide(state: State, limits: Limits, *, now: datetime, first_limit: int, largest_limit: int) -> Step:
    """
    Say what the session needs now.

    `first_limit` is the output limit of an ordinary request, `largest_limit` the most the model can give, in tokens.
    """
    reached = limit_reached(state, limits, now)
    match state.phase:
        case Phase.QUIET:
            return Nothing(state.outcome)
        case Phase.ENDING if state.ending is not None:
            return Rest(state.ending)
        case Phase.ENDING:
            return Nothing(state.outcome)
        case Phase.CALLING | Phase.WAITING if state.interrupted is not None:
            return CloseCalls(_open(state), "Not executed: the user interrupted the turn.")
        case Phase.CALLING if reached is not None:
            return CloseCalls(_open(state), f"Not executed: the limit of this turn is reached ({reached}).")
        case Phase.CALLING:
            return RunTools(_movable(state))
        case Phase.WAITING:
            expired = [call for call in _open(state) if has_expired(call, now)]
            if expired:
                return RunTools(expired)
            return _wait(state)
        case Phase.ASKING | Phase.CUT | Phase.EMPTY if state.interrupted is not None:
            return Rest(Interrupted(reason=state.interrupted.reason, text=state.partial_text))
        case Phase.ASKING | Phase.CUT | Phase.EMPTY if reached is not None:
            return Rest(LimitReached(limit=reached, text=state.partial_text))
        case Phase.ASKING:
            continuing = state.turn.nudges.get("max_tokens") or state.turn.growths
            return AskModel(max(first_limit, state.max_tokens) if continuing else first_limit, state.retry_at)
        case Phase.CUT:
            return _after_cut(state, limits, largest_limit)
        case Phase.EMPTY:
            if state.turn.nudges.get("empty", 0) < limits.nudges:
                return Nudge("empty", PLEASE_ANSWER)
            return Rest(Empty(text=state.partial_text))
        case _:
            assert_never(state.phase)


def limit_reached(state: State, limits: Limits, now: datetime) -> Limit | None:
    """The first cap that forbids going on, None when there is none."""
    turn, totals = state.turn, state.totals
    elapsed = (now - turn.began_at).total_seconds() if turn.began_at else 0.0
    # Between steps, a request in flight is one whose process died.
    if _over(turn.answers + bool(state.in_flight), limits.turns):
        return "turns"
    if limits.tool_calls is not None and turn.tool_calls > limits.tool_calls:
        return "tool_calls"
    if turn.repeated and _over(turn.repeated, limits.repeats):
        return "repeats"
    if _over(elapsed, limits.seconds):
        return "seconds"
    if _over(totals.tokens, limits.tokens):
        return "tokens"
    if limits.cost_usd is not None and (totals.unpriced or totals.cost_usd >= limits.cost_usd):
        return "cost"
    if turn.pauses > limits.pauses:
        return "pauses"
    return None


def has_expired(call: OpenCall, now: datetime) -> bool:
    """Whether the time to act on a waiting call is over."""
    return call.awaits is not None and call.expires_at is not None and call.expires_at <= now


def _over(count: float, limit: float | None) -> bool:
    return limit is not None and count >= limit


def _open(state: State) -> tuple[OpenCall, ...]:
    return tuple(state.open.values())


def _movable(state: State) -> tuple[OpenCall, ...]:
    return tuple(call for call in state.open.values() if call.status is not Status.WAITING)


def _wait(state: State) -> Step:
    """Rest while everything waits; once that is written down, there is nothing more to do."""
    pending = tuple(call_id for call_id, call in state.open.items() if call.awaits != "order")
    outcome = AwaitingAction(event_ids=pending, text=state.partial_text)
    if state.outcome == outcome and not state.awake:
        return Nothing(outcome)
    return Rest(outcome)


def _after_cut(state: State, limits: Limits, largest_limit: int) -> Step:
    grown = min(state.max_tokens * 2, largest_limit)
    if grown > state.max_tokens and state.turn.growths < MAX_GROWTHS:
        return AskModel(grown)
    if state.turn.text.strip() and state.turn.nudges.get("max_tokens", 0) < limits.nudges:
        return Nudge("max_tokens", CONTINUE)
    return Rest(Truncated(text=state.partial_text))
