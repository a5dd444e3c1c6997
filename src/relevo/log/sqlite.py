"""
A log in one SQLite file, for one machine and any number of its processes.

**Why not aiosqlite.** It hops to a thread and back for every statement: measured here at about 50 microseconds a hop,
four of them an append (Python 3.11, 2026-12). An append of ours is one local transaction that touches the page cache
and no disk, 40 to 60 microseconds in all: done before a thread would have been woken. So it runs right here, on the
loop, and never waits: a connection of the loop's own tries without any patience, and only what may take long goes to
threads with connections of their own: a locked file, a sync, large values, long reads, a checkpoint and what is
written meanwhile (logfile.py).

**Durability.** Write-ahead log, `synchronous=NORMAL`: a commit survives the death of the process at once, and a power
cut when it was flushed (flush.py) or checkpointed. What a torn WAL holds is a valid prefix.

**Bytes.** A commit writes whole pages, so a small page costs least. A turn of 2.3 KB in four appends wrote, with the
checkpoint, 9 KB with pages of 512 bytes, 14 KB with 1024, 25 KB with SQLite's usual 4096; two hundred sessions in turn
wrote 15, 29 and 64 KB. A table with a (session, position) index beside it wrote 20 KB at 1024, `without rowid` 22. The
price is a value of a megabyte: 6 milliseconds to write instead of 2, in the thread.

**Processes and threads.** Each process opens its own; do not carry one across `os.fork`. A log belongs to the event
loop that uses it, one at a time. Not for network file systems.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from relevo.clock import Clock, RealClock
from relevo.errors import InvalidValue, LogClosed
from relevo.events import Body, Event
from relevo.log import places, rows
from relevo.log.bell import Bell, follow
from relevo.log.database import PATIENCE_SECONDS, Work
from relevo.log.log import Lease, SessionInfo, Snapshot
from relevo.log.logfile import LogFile
from relevo.log.transaction import Transaction

S = TypeVar("S")
T = TypeVar("T")

POLL_SECONDS = 0.05
"""How late a follower hears of an append by another process."""

INLINE_ROWS = 64
INLINE_BYTES = 64 * 1024
"""What is read or written on the loop; more goes to a thread."""

ALL = 2**62

SLICE_SECONDS = 0.0005
"""How long events are decoded before other tasks have their turn."""


class SqliteLog:
    """
    A log in the file `path`, which is made with its folders when first used.

    Raises, on first use:
        LogCorrupt: the file is damaged, or another program's. It is never changed or taken for empty.
        LogTooNew: written by a newer Relevo.
        LogUnavailable: it cannot be read or written now.
    """

    def __init__(
        self, path: str | Path, *, clock: Clock | None = None, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        if str(path) in ("", ":memory:") or str(path).startswith("file:"):
            raise InvalidValue(f"{str(path)!r} is not a file; for a log in memory use MemoryLog()")
        self._path = Path(path).expanduser().absolute()
        self._file = LogFile(self._path, patience_seconds)
        self._clock = clock or RealClock()
        self._bell = Bell()
        self._followers = 0
        self._poller: asyncio.Task[None] | None = None

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
        self._check_open()
        stored = rows.admitted(session_id, bodies, expected)
        when = rows.microseconds(at)

        def work(connection: sqlite3.Connection) -> int:
            place = places.check(connection, session_id, expected=expected, epoch=epoch)
            return places.insert(connection, place, stored, when).head

        try:
            head = await self._file.write(work, size_bytes=sum(len(one.data) for one in stored))
        finally:
            self._bell.ring(session_id)
        if flush and stored:
            await self._file.flush()
        return head

    async def claim(self, session_id: str, *, take_over: bool = False) -> Lease:
        self._check_open()
        return await self._file.write(lambda connection: places.claim(connection, session_id, take_over=take_over))

    async def release(self, lease: Lease) -> None:
        self._check_open()
        await self._file.write(lambda connection: places.release(connection, lease))

    async def read(
        self, session_id: str, *, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> list[Event]:
        self._check_open()

        def reading(after: int, limit: int, limit_bytes: int) -> Work[places.Page]:
            return lambda connection: places.read(
                connection, session_id, after=after, until=until, kinds=kinds, limit=limit, limit_bytes=limit_bytes
            )

        found, more = await self._file.read(reading(after, INLINE_ROWS, INLINE_BYTES))
        if more:
            last = found[-1].position if found else after
            found += (await self._file.read_much(reading(last, ALL, ALL))).rows
        if kinds is None:
            rows.check_gapless(session_id, found, after=max(0, after))
        return await _in_slices(lambda row: rows.event(session_id, row), found)

    async def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        self._check_open()
        self._followers += 1
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll(), name="relevo-log-poll")
        events = follow(lambda seen: self.read(session_id, after=seen), self._bell, session_id, after)
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            self._followers -= 1
            if not self._followers:
                await self._stop_polling()

    async def sessions(self, *, limit: int = 100, before: str | None = None) -> list[SessionInfo]:
        self._check_open()
        rows.check_limit(limit)
        marks = await self._file.read_much(lambda connection: places.newest(connection, limit=limit, before=before))
        return await _in_slices(rows.info, marks)

    async def save_snapshot(self, session_id: str, snapshot: Snapshot) -> None:
        self._check_open()
        await self._file.write(
            lambda connection: places.save_snapshot(connection, session_id, snapshot), size_bytes=len(snapshot.data)
        )

    async def load_snapshot(self, session_id: str) -> Snapshot | None:
        self._check_open()
        return await self._file.read(lambda connection: places.load_snapshot(connection, session_id))

    @asynccontextmanager
    async def transaction(
        self, session_id: str, *, expected: int, at: datetime, epoch: int | None = None
    ) -> AsyncIterator[Transaction]:
        """
        A block whose own SQL and events are stored together or not at all; see transaction.py.

        Raises:
            LogMoved, LeaseLost, SessionNotFound: before the block begins.
            LogUnavailable: it could not begin, or nothing of it was stored.
        """
        self._check_open()
        connection, place = await self._file.begin(
            lambda connection: places.check(connection, session_id, expected=expected, epoch=epoch)
        )
        try:
            held = Transaction(connection, self._path, place, at)
            yield held
            held.commit()
        finally:
            connection.set_authorizer(None)
            self._file.end(connection)
        self._bell.ring(session_id)

    async def close(self) -> None:
        if self._bell.closed:
            return
        self._bell.close()
        await self._stop_polling()
        await self._file.close()

    def _check_open(self) -> None:
        if self._bell.closed:
            raise LogClosed(f"the log {self._path} was closed")

    async def _poll(self) -> None:
        seen: object = None
        while True:
            await self._clock.sleep(POLL_SECONDS)
            version = self._file.version()
            if version is None or version != seen:
                self._bell.ring_all()
            seen = version

    async def _stop_polling(self) -> None:
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.cancel()
            await asyncio.wait([poller])


async def _in_slices(make: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """Make all, giving way to other tasks after every half millisecond."""
    now = asyncio.get_running_loop().time
    made: list[T] = []
    give_way = now() + SLICE_SECONDS
    for item in items:
        if now() > give_way:
            await asyncio.sleep(0)
            give_way = now() + SLICE_SECONDS
        made.append(make(item))
    return made
