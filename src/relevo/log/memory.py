"""
A log in memory, for tests and for trying out.

It keeps the same bytes a file would, so it refuses what a file refuses and shares no mutable value with anybody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

from relevo.errors import LogClosed, SessionNotFound
from relevo.events import Body, Event
from relevo.log import rows
from relevo.log.bell import Bell, follow
from relevo.log.log import Lease, SessionInfo, Snapshot
from relevo.log.rows import Landmarks, Row


@dataclass(slots=True)
class _Session:
    rows: list[Row] = field(default_factory=list)
    epoch: int = 0
    held: bool = False
    snapshot: Snapshot | None = None


class MemoryLog:
    """A log that ends with its process. `flush` has nothing to do."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._bell = Bell()

    async def append(
        self,
        session_id: str,
        bodies: Sequence[Body],
        *,
        expected: int,
        at: datetime,
        epoch: int | None = None,
        flush: bool = False,  # noqa: ARG002  memory survives nothing
    ) -> int:
        self._check_open()
        stored = rows.admitted(session_id, bodies, expected)
        when = rows.microseconds(at)
        session = self._sessions.get(session_id)
        if session is None:
            if expected > 0:
                raise SessionNotFound(session_id)
            session = _Session()
        rows.check_place(session_id, expected=expected, head=len(session.rows), epoch=epoch, newest=session.epoch)
        if stored:
            self._sessions[session_id] = session
            session.rows += [
                Row(position, *one[:2], when, one.data) for position, one in enumerate(stored, expected + 1)
            ]
            self._bell.ring(session_id)
        return len(session.rows)

    async def claim(self, session_id: str, *, take_over: bool = False) -> Lease:  # noqa: ARG002  one process
        session = self._session(session_id)
        session.epoch += 1
        alone, session.held = not session.held, True
        return Lease(session_id, session.epoch, len(session.rows), alone)

    async def release(self, lease: Lease) -> None:
        session = self._session(lease.session_id)
        session.held = session.held and session.epoch != lease.epoch

    async def read(
        self, session_id: str, *, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> list[Event]:
        found = self._session(session_id).rows[max(0, after) : until if until is None else max(0, until)]
        return [rows.event(session_id, row) for row in found if kinds is None or row.kind in kinds]

    async def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        self._session(session_id)
        events = follow(lambda seen: self.read(session_id, after=seen), self._bell, session_id, after)
        async with aclosing(events):
            async for event in events:
                yield event

    async def sessions(self, *, limit: int = 100, before: str | None = None) -> list[SessionInfo]:
        self._check_open()
        rows.check_limit(limit)
        if before is not None:
            self._session(before)
        ids = list(self._sessions)
        end = len(ids) if before is None else ids.index(before)
        return [rows.info(self._landmarks(one)) for one in reversed(ids[max(0, end - limit) : end])]

    async def save_snapshot(self, session_id: str, snapshot: Snapshot) -> None:
        session = self._session(session_id)
        if session.snapshot is None or snapshot.position >= session.snapshot.position:
            session.snapshot = snapshot

    async def load_snapshot(self, session_id: str) -> Snapshot | None:
        self._check_open()
        session = self._sessions.get(session_id)
        return session.snapshot if session else None

    async def close(self) -> None:
        self._bell.close()

    def _check_open(self) -> None:
        if self._bell.closed:
            raise LogClosed("this log was closed")

    def _session(self, session_id: str) -> _Session:
        self._check_open()
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound(session_id)
        return session

    def _landmarks(self, session_id: str) -> Landmarks:
        session = self._sessions[session_id]
        return Landmarks(
            session_id=session_id,
            epoch=session.epoch,
            head=len(session.rows),
            created=session.rows[0],
            updates=[row for row in session.rows if row.kind == "session.updated"],
            status=next((row for row in reversed(session.rows) if row.kind in rows.STATUSES), None),
            updated_at=session.rows[-1].at,
        )
