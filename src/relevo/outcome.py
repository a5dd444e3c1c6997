"""
How a turn can end. Every ending is one of these; none is an exception, and each carries what was achieved.

`text` is what the model said in this turn, as far as it is usable; empty when it said nothing. The wire form
(`stop_reason` of `session.status_idle`) uses the Managed Agents names where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from relevo.content import Json

Limit = Literal["turns", "tool_calls", "repeats", "seconds", "tokens", "cost", "pauses"]
"""What can run out. `repeats` is the same call with the same result again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The model finished."""

    type: ClassVar[str] = "end_turn"
    text: str = ""
    stop_sequence: str | None = None
    """The stop sequence that was hit, None for the model's own end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitingAction:
    """Somebody outside must act on these calls (their ids) before the turn can go on."""

    type: ClassVar[str] = "requires_action"
    event_ids: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The model declined. The refused answer is not part of what it will see next."""

    type: ClassVar[str] = "refusal"
    category: str | None = None
    explanation: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """The answer hit the output limit, at the largest limit and after being asked to continue. `text` is partial."""

    type: ClassVar[str] = "max_tokens"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """The model ended its turn without saying anything, also when asked again."""

    type: ClassVar[str] = "empty"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFull:
    """The conversation no longer fits the model's window."""

    type: ClassVar[str] = "context_full"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A cap of the agent's `Limits` ended the turn. A new message may go on with fresh per-turn caps."""

    type: ClassVar[str] = "limit_reached"
    limit: Limit
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnavailable:
    """The model could not be asked: not retryable, or retried until the deadline. `error` says why."""

    type: ClassVar[str] = "retries_exhausted"
    error: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """Somebody asked to stop; every open call was answered first."""

    type: ClassVar[str] = "interrupted"
    reason: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedStop:
    """A stop reason this version does not know. Nothing of the answer was run."""

    type: ClassVar[str] = "unsupported_stop"
    stop_reason: str
    text: str = ""


Outcome = (
    Ended
    | AwaitingAction
    | Refused
    | Truncated
    | Empty
    | ContextFull
    | LimitReached
    | ModelUnavailable
    | Interrupted
    | UnsupportedStop
)

_BY_TYPE: Mapping[str, type[Any]] = {kind.type: kind for kind in get_args(Outcome)}


def to_wire(outcome: Outcome) -> dict[str, Json]:
    """The `stop_reason` object: the type and its own fields. The text stays where it was said."""
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name in type(outcome).__slots__
        if name != "text" and (value := getattr(outcome, name)) is not None
    }
    return {"type": outcome.type, **fields}


def from_wire(stop_reason: Mapping[str, Json], text: str) -> Outcome:
    """Read it back; a type from a newer machine, or one without what it must say, becomes `UnsupportedStop`."""
    name = str(stop_reason.get("type"))
    kind = _BY_TYPE.get(name)
    if kind is None:
        return UnsupportedStop(stop_reason=name, text=text)
    known = {
        field: tuple(value) if isinstance(value, list) else value
        for field, value in stop_reason.items()
        if field in kind.__slots__
    }
    try:
        outcome: Outcome = kind(**{**known, "text": text})
    except TypeError:
        return UnsupportedStop(stop_reason=name, text=text)
    return outcome
