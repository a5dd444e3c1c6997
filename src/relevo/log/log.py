"""What every log promises. The promises are tested by one contract that every log inherits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from relevo.events import Body, Event

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""An encoded event larger than this is refused. The API takes 32 MB a request; nothing legitimate comes near."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act for a session, until somebody claims it again."""

    session_id: str
    epoch: int
    """Grows by one with every claim. Pass it to tools that write elsewhere as a fencing token."""
    head: int
    """The last position when it was claimed."""
    alone: bool = True
    """Whether the holder before is known to be gone. If not, what it began may still be going on."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One line of a list of sessions, read from the log itself."""

    id: str
    agent: str
    title: str | None
    status: str
    """`running`, `idle` or `terminated`: the newest status event; `idle` when there was none."""
    stop_reason: str | None
    """The type of the newest `session.status_idle`, None while running or before the first."""
    head: int
    epoch: int
    created_at: datetime
    updated_at: datetime
    """When the newest event was written."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A disposable cache of what the events up to `position` mean."""

    position: int
    version: int
    """The fold's version: a snapshot of another version is thrown away, never converted."""
    data: bytes


class Log(Protocol):
    """
    An append-only list of events for each session.

    Position N+1 is never visible before N. Nothing is overwritten or removed. Safe for many tasks at once and,
    where the store allows, many processes.
    """

    async def append(
        self,
        session_id: str,
        bodies: Sequence[Body],
        *,
        expected: int,
        at: datetime,
        epoch: int | None = None,
        flush: bool = False,
    ) -> int:
        """
        Add `bodies` after position `expected`; return the new last position.

        All are stored or none. `expected=0` begins a session, and then the first body must be `SessionCreated`.
        `epoch` is the caller's lease; None is for those who only speak to a session (a message, a decision) and do
        not drive it. With `flush` the events, and all before them, survive a power cut when this returns; without,
        they survive the death of the process.

        Raises:
            LogMoved: the log is no longer at `expected`; read again, decide again.
            LeaseLost: `epoch` is not the newest; stop.
            SessionNotFound: `expected` is over 0 and there is no such session.
            NotJson, InvalidValue: a body cannot be stored; nothing was written and no lock is held.
            LogUnavailable: disk full, read-only, or locked longer than the store's patience. If only the flush failed,
                the events are stored all the same and the message says so: read again.
            LogClosed: after `close`.
        """
        ...

    async def claim(self, session_id: str, *, take_over: bool = False) -> Lease:
        """
        Take the session: the epoch grows, every older holder's next append fails.

        Raises:
            SessionNotFound: no such session.
            SessionHeld: another process that is alive holds it, and `take_over` is not set.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Let the session go: whoever claims it next knows that nothing of this holder is going on any more."""
        ...

    async def read(
        self, session_id: str, *, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> list[Event]:
        """
        The events with `after < position <= until`, in order; `until=None` is the end, `kinds=None` is all.

        Raises SessionNotFound, and LogCorrupt with the position of an event that cannot be read.
        """
        ...

    def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Every event after `after`, stored or still to come, each once, in order. Ends when the log is closed."""
        ...

    async def sessions(self, *, limit: int = 100, before: str | None = None) -> list[SessionInfo]:
        """The newest sessions first (by creation); `before` is the last id of the page before. 1 <= limit <= 1000."""
        ...

    async def save_snapshot(self, session_id: str, snapshot: Snapshot) -> None:
        """Keep the newest snapshot of a session; an older position than the stored one changes nothing."""
        ...

    async def load_snapshot(self, session_id: str) -> Snapshot | None:
        """The stored snapshot, None when there is none."""
        ...

    async def close(self) -> None:
        """Let go of files and followers. Using the log afterwards raises LogClosed; closing twice is fine."""
        ...


class Transaction(Protocol):
    """Writes of a program's own in the log's database, and events, stored together or not at all."""

    async def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement of the program's own; return its rows, all of them."""
        ...

    async def append(self, bodies: Sequence[Body]) -> int:
        """Add events after those there are; return the new last position. Stored when the block ends well."""
        ...


@runtime_checkable
class TransactionalLog(Log, Protocol):
    """A log whose database can hold a program's own tables: what a `transactional` tool needs."""

    def transaction(
        self, session_id: str, *, expected: int, at: datetime, epoch: int | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        """
        A block whose writes and events are stored together when it ends well, and not at all when it raises.

        Nobody else can append to the log meanwhile: keep it short. Raises LogMoved and LeaseLost before it begins.
        """
        ...
