"""A whole answer of the model, as it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relevo.content import Block
from relevo.model.usage import Usage, read_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one request brought back."""

    message: Mapping[str, Any]
    """The raw Message object, unknown fields and blocks included. Safe in the log: it passed `content.checked`."""
    request_id: str | None = None
    first_token_seconds: float | None = None
    """From sending to the first content; None when nothing was streamed."""
    seconds: float | None = None
    """From sending to the last byte."""
    malformed: frozenset[int] = frozenset()
    """Blocks whose tool input was no JSON object. Their `input` is `{"_raw": text}`: answer them, never run them."""

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped; None means that nobody said so."""
        reason: str | None = self.message.get("stop_reason")
        return reason

    @property
    def content(self) -> Sequence[Block]:
        blocks: Sequence[Block] = self.message.get("content") or []
        return blocks

    @property
    def usage(self) -> Usage:
        """All tokens of this answer, hidden iterations included."""
        return read_usage(self.message.get("usage"))
