"""
Waking those who follow a log.

A follower listens before it reads, so that nothing appended in between is missed; a ring only says "look again".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager

from relevo.errors import LogClosed
from relevo.events import Event

Read = Callable[[int], Awaitable[list[Event]]]
"""The events after a position."""


class Bell:
    """Rings for the followers of one session, or of all."""

    def __init__(self) -> None:
        self._listening: dict[str, set[asyncio.Event]] = {}
        self.closed = False

    @contextmanager
    def listen(self, session_id: str) -> Generator[asyncio.Event, None, None]:
        """An event that is set whenever the session's log may have grown."""
        heard = asyncio.Event()
        self._listening.setdefault(session_id, set()).add(heard)
        try:
            yield heard
        finally:
            listeners = self._listening[session_id]
            listeners.discard(heard)
            if not listeners:
                del self._listening[session_id]

    def ring(self, session_id: str) -> None:
        """Something was appended to this session."""
        for heard in self._listening.get(session_id, ()):
            heard.set()

    def ring_all(self) -> None:
        """Something was appended somewhere."""
        for session_id in self._listening:
            self.ring(session_id)

    def close(self) -> None:
        """Let every follower end."""
        self.closed = True
        self.ring_all()


async def follow(read: Read, bell: Bell, session_id: str, after: int) -> AsyncGenerator[Event, None]:
    """Every event after `after`, stored or still to come, until the log is closed."""
    with bell.listen(session_id) as heard:
        while True:
            heard.clear()
            try:
                events = await read(after)
            except LogClosed:
                return
            for event in events:
                yield event
                after = event.position
            if not events:
                await heard.wait()
