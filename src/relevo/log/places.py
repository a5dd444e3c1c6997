"""What SqliteLog does with a connection: plain functions, no thread, no loop, no lock of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import NamedTuple

from relevo.content import encode
from relevo.errors import LogCorrupt, SessionHeld, SessionNotFound
from relevo.log import rows
from relevo.log.codec import Stored
from relevo.log.database import SQL
from relevo.log.holder import Standing, me, standing
from relevo.log.log import Lease, Snapshot
from relevo.log.rows import Landmarks, Row

MAX_POSITION = 2**32 - 1
"""What fits beside the session's number in one integer key."""


class Place(NamedTuple):
    """Where a session stands in this file."""

    session_id: str
    session: int
    """Its number here; 0 while it has none."""
    epoch: int
    head: int


class Page(NamedTuple):
    """Rows that were read, and whether some of the range were left because they are many or large."""

    rows: list[Row]
    more: bool


def find(connection: sqlite3.Connection, session_id: str) -> Place:
    """Raises SessionNotFound."""
    found = _find(connection, session_id)
    if found is None:
        raise SessionNotFound(session_id)
    return found


def _find(connection: sqlite3.Connection, session_id: str) -> Place | None:
    try:
        row = connection.execute(SQL["place"], {"id": session_id}).fetchone()
    except UnicodeEncodeError:  # half a surrogate pair: no session was ever called so
        return None
    return Place(session_id, *row) if row else None


def check(connection: sqlite3.Connection, session_id: str, *, expected: int, epoch: int | None) -> Place:
    """
    The session's place, if an append there is allowed. Under the write lock it stays so.

    Raises:
        LogMoved, LeaseLost, SessionNotFound.
    """
    place = _find(connection, session_id)
    if place is None:
        if expected > 0:
            raise SessionNotFound(session_id)
        place = Place(session_id, 0, 0, 0)
    rows.check_place(session_id, expected=expected, head=place.head, epoch=epoch, newest=place.epoch)
    return place


def insert(connection: sqlite3.Connection, place: Place, stored: Sequence[Stored], at: int) -> Place:
    """Add rows after a place; the place after them."""
    session = place.session
    if not stored:
        return place
    if not session:
        session = connection.execute(SQL["begin_session"], {"id": place.session_id}).lastrowid or 0
    first = (session << 32) + place.head + 1
    connection.executemany(
        SQL["insert"], [(key, one.kind, one.version, at, one.data) for key, one in enumerate(stored, first)]
    )
    return place._replace(session=session, head=place.head + len(stored))


def claim(connection: sqlite3.Connection, session_id: str, *, take_over: bool) -> Lease:
    """Raises SessionNotFound, SessionHeld."""
    place = find(connection, session_id)
    (holder,) = connection.execute(SQL["holder"], {"session": place.session}).fetchone()
    before = standing(holder)
    if before is Standing.ALIVE and not take_over:
        raise SessionHeld(session_id, holder=holder)
    connection.execute(SQL["claim"], {"session": place.session, "holder": me()})
    return Lease(session_id, place.epoch + 1, place.head, before is Standing.GONE)


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Nothing when somebody else holds the session by now."""
    connection.execute(SQL["release"], {"id": lease.session_id, "epoch": lease.epoch})


def read(
    connection: sqlite3.Connection,
    session_id: str,
    *,
    after: int,
    until: int | None,
    kinds: Collection[str] | None,
    limit: int,
    limit_bytes: int,
) -> Page:
    """
    Rows of a range, in order, as far as the limits go.

    Raises:
        SessionNotFound, LogCorrupt.
    """
    place = find(connection, session_id)
    found: list[Row] = []
    size = 0
    values = {
        "session": place.session,
        "after": max(0, after),
        "until": MAX_POSITION if until is None else min(until, MAX_POSITION),
        "whole": limit_bytes,
        "kinds": None if kinds is None else encode(list(kinds)).decode(),
    }
    # An open cursor would hold a snapshot and keep the WAL from starting again.
    with closing(connection.execute(SQL["read" if kinds is None else "read_kinds"], values)) as cursor:
        try:
            for row in map(Row._make, cursor):
                if row.data is None or len(found) == limit or size > limit_bytes:
                    return Page(found, more=True)
                found.append(row)
                size += len(row.data)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            last = found[-1].position if found else max(0, after)
            raise LogCorrupt(f"session {session_id!r} cannot be read after position {last}: {error}") from error
    return Page(found, more=False)


def newest(connection: sqlite3.Connection, *, limit: int, before: str | None) -> list[Landmarks]:
    """What the lines of a list are made of, newest session first. Raises SessionNotFound for `before`."""
    end = find(connection, before).session if before is not None else 2**63 - 1
    listed = connection.execute(SQL["list"], {"before": end, "limit": limit}).fetchall()
    return [_landmarks(connection, *one) for one in listed]


def _landmarks(connection: sqlite3.Connection, session: int, session_id: str, epoch: int) -> Landmarks:
    which = {"session": session}
    created = connection.execute(SQL["first"], which).fetchone()
    if created is None:
        raise LogCorrupt(f"session {session_id!r}, position 1 is missing")
    status = connection.execute(SQL["status"], which).fetchone()
    head, updated_at = connection.execute(SQL["last"], which).fetchone()
    return Landmarks(
        session_id=session_id,
        epoch=epoch,
        head=head,
        created=Row._make(created),
        updates=[Row._make(one) for one in connection.execute(SQL["updates"], which)],
        status=Row._make(status) if status else None,
        updated_at=updated_at,
    )


def save_snapshot(connection: sqlite3.Connection, session_id: str, snapshot: Snapshot) -> None:
    """Raises SessionNotFound."""
    place = find(connection, session_id)
    values = {"session": place.session, "position": snapshot.position}
    connection.execute(SQL["save_snapshot"], values | {"version": snapshot.version, "data": snapshot.data})


def load_snapshot(connection: sqlite3.Connection, session_id: str) -> Snapshot | None:
    """The stored one, if any."""
    place = _find(connection, session_id)
    row = connection.execute(SQL["load_snapshot"], {"session": place.session}).fetchone() if place else None
    return Snapshot(*row) if row else None
