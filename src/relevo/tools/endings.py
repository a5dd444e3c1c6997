"""How a call ends: it returned, it failed, or it waits for something elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from relevo.content import Block, Json, encode
from relevo.errors import Category, ToolError

T = TypeVar("T")

Fate = Literal["not_executed", "failed", "unknown", "executed"]
"""What became of the effect. `executed`: it happened, and only its result was lost."""

NO_OUTPUT = "(no output)"
"""What the model reads where a tool said nothing; the API refuses an empty text block."""

_SHOWN_PARTIAL_CHARS = 4_000

_ADVICE: dict[Fate, str] = {
    "not_executed": "Nothing was executed.",
    "failed": "",
    "unknown": "It is unknown whether it took effect: check before you do it again.",
    "executed": "It did take effect: do not repeat it.",
}


@dataclass(frozen=True, slots=True)
class Returned:
    """
    The call succeeded.

    A tool returns one itself when the model should read something else than the value: `Returned(text, data)`.
    """

    content: str | Sequence[Block]
    """What the model reads."""
    data: Json = None
    """The value, for gates and programs; None when `content` is all there is."""
    degraded: Mapping[str, Json] | None = None
    """Where it comes from when it is a fallback's: `{"source", "age_seconds", "because"}`. No gate counts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The call failed. Fields as in `ToolError`."""

    message: str
    category: Category
    code: str | None = None
    retryable: bool = False
    outcome: Fate = "failed"
    partial: Json = None
    retry_after_seconds: float | None = None
    """How long not to ask again; None when nobody said."""
    still_running: bool = False
    """It was given up and could not be stopped: what it does to the world may still be on its way."""

    @property
    def content(self) -> str:
        """What the model reads: what went wrong, what was achieved, and whether doing it again is safe."""
        parts = [self.message]
        if self.partial is not None:
            text = encode(self.partial).decode()
            parts.append(f"Achieved before the failure: {text[:_SHOWN_PARTIAL_CHARS]}")
        if _ADVICE[self.outcome]:
            parts.append(_ADVICE[self.outcome])
        if self.retryable and self.retry_after_seconds is not None:
            parts.append(f"The same call may succeed in about {math.ceil(self.retry_after_seconds)} seconds.")
        elif self.retryable:
            parts.append("The same call may succeed later.")
        return "\n".join(parts)

    def record(self) -> dict[str, Json]:
        """The `error` of `tool.ended`."""
        return {
            "category": self.category,
            "code": self.code,
            "retryable": self.retryable,
            "outcome": self.outcome,
            "partial": self.partial,
            "retry_after_seconds": self.retry_after_seconds,
        }


@dataclass(frozen=True, slots=True)
class Waiting:
    """The call started something elsewhere; `until` says, with a `type`, which event will end it."""

    until: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """What a tool's `fallback` gives in place of a result: a value, where it comes from, and how old it is."""

    value: Any
    source: str
    """For the model: `cache`, `yesterday's price list`."""
    age_seconds: float | None = None
    """None when nobody knows."""


Ending = Returned | Failed | Waiting


@dataclass(frozen=True)  # no slots: they break `Done[int](1)` in Python 3.11
class Done(Generic[T]):
    """Says a `reconcile` hook: the effect of this key happened, and this is what the tool would have returned."""

    value: T


@dataclass(frozen=True, slots=True)
class NotDone:
    """Says a `reconcile` hook: the effect of this key did not happen and is not on its way."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Says a `reconcile` hook: nobody can tell. The call will not be run again."""

    why: str = ""


Answer = Done[Any] | NotDone | Unclear
"""What a `reconcile` hook may return."""


def failed(error: ToolError) -> Failed:
    """A tool's own error as an ending, unchanged. `partial` must be JSON."""
    return Failed(
        message=error.message,
        category=error.category,  # pyright: ignore[reportArgumentType]  it forgets the Literal in ToolError
        code=error.code,
        retryable=error.retryable,
        outcome=error.outcome,  # pyright: ignore[reportArgumentType]
        partial=error.partial,
        retry_after_seconds=error.retry_after,
    )
