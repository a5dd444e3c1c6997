"""What every brain is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from relevo.simulator.replies import Reply
from relevo.simulator.request import Request


class BrainMistake(Exception):
    """A brain could not answer: a script ran out, a recording is missing.  The client sees a 500, not to be retried."""


@runtime_checkable
class Brain(Protocol):
    """Decides what the model says.  Validation has passed when it is asked; retries ask it again."""

    def answer(self, request: Request) -> Reply | str | Awaitable[Reply | str]:
        """
        Answer `request`.

        Raises:
            BrainMistake: there is no answer; the client gets a 500 with this text.
        """
        ...


Answers = Callable[[Request], "Reply | str | Awaitable[Reply | str]"]
"""A function that will do as a brain; text is said."""
