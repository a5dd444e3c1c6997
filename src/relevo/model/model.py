"""The seam: what the loop knows of a model, whatever carries the request there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from relevo.model.answer import Answer
from relevo.model.request import Request

Watch = Callable[[Mapping[str, Any]], None]
"""Sees every raw stream event as it arrives. It only observes: what it raises is dropped."""


class Model(Protocol):
    """Somebody who answers requests."""

    async def ask(self, request: Request, *, watch: Watch | None = None) -> Answer:
        """
        Make ONE attempt and return the whole answer.

        There is no retry here: the caller logs every attempt and waits with `retry.wait_before`.

        Raises:
            ModelError: there is no whole answer; the error says whether the same request may succeed later.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Closing twice is fine."""
        ...
