"""
What every store of ours does the same way: what it lets in, and how stored rows become events and lists again.

Order is the position, never the time: `at` is kept as whole microseconds since 1970 in UTC and compared with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from relevo.errors import InvalidValue, LeaseLost, LogCorrupt, LogMoved
from relevo.events import Body, Event, SessionCreated, SessionIdle, SessionUpdated
from relevo.log.codec import Stored, decode, encode
from relevo.log.log import MAX_EVENT_BYTES, SessionInfo

STATUSES = {
    "session.status_running": "running",
    "session.status_idle": "idle",
    "session.status_terminated": "terminated",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000


class Row(NamedTuple):
    """One stored event."""

    position: int
    kind: str
    version: int
    at: int
    """Microseconds since 1970, UTC."""
    data: bytes


def microseconds(at: datetime) -> int:
    """
    A time as it is stored.

    Raises:
        InvalidValue: a naive time, which means another moment on every machine.
    """
    if at.tzinfo is None:
        raise InvalidValue(f"{at!r} has no time zone")
    since = at - _EPOCH
    return since.days * _DAY + since.seconds * 1_000_000 + since.microseconds


def moment(at: int) -> datetime:
    """The time that was stored, in UTC."""
    return _EPOCH + timedelta(0, 0, at)


def admitted(session_id: str, bodies: Sequence[Body], expected: int) -> list[Stored]:
    """
    The bodies in stored form, before any lock is taken.

    Raises:
        NotJson, InvalidValue: one of them cannot be stored, or not there.
    """
    if expected < 0:
        raise InvalidValue(f"expected={expected} is not a position; 0 is the empty log")
    if not session_id or not session_id.isprintable():
        raise InvalidValue(f"{session_id!r} cannot be a session's id")
    stored = []
    for position, body in enumerate(bodies, expected + 1):
        if isinstance(body, SessionCreated) is not (position == 1):
            raise InvalidValue(f"session.created is the first event and only that; {body.kind} at {position}")
        one = encode(body)
        if len(one.data) > MAX_EVENT_BYTES:
            raise InvalidValue(f"{one.kind} takes {len(one.data)} bytes; at most {MAX_EVENT_BYTES} are stored")
        stored.append(one)
    return stored


def check_place(session_id: str, *, expected: int, head: int, epoch: int | None, newest: int) -> None:
    """
    Let pass who holds the session, or only speaks to it, and knows where its log ends.

    The lease first: a zombie must stop, and `LogMoved` would tell it to read and try again.
    """
    if epoch is not None and epoch != newest:
        raise LeaseLost(session_id, epoch=epoch, newest=newest)
    if expected != head:
        raise LogMoved(session_id, expected=expected, actual=head)


def event(session_id: str, row: Row) -> Event:
    """
    The event a row says.

    Raises:
        LogCorrupt: it cannot be read; names session and position.
    """
    try:
        return Event(session_id, row.position, moment(row.at), decode(row.kind, row.version, row.data))
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise LogCorrupt(f"session {session_id!r}, position {row.position} cannot be read: {error}") from error


def check_gapless(session_id: str, rows: Sequence[Row], *, after: int) -> None:
    """A hole is corruption, never a shorter history."""
    for position, row in enumerate(rows, after + 1):
        if row.position != position:
            raise LogCorrupt(f"session {session_id!r}, position {position} is missing")


class Landmarks(NamedTuple):
    """The few rows of a session from which its line in a list is made."""

    session_id: str
    epoch: int
    head: int
    created: Row
    updates: Sequence[Row]
    """Every `session.updated`, oldest first."""
    status: Row | None
    """The newest status event."""
    updated_at: int


def info(marks: Landmarks) -> SessionInfo:
    """
    A session's line in a list.

    Raises:
        LogCorrupt: a row that cannot be read.
    """
    agent: object = None
    title: str | None = None
    for row in (marks.created, *marks.updates):
        body = event(marks.session_id, row).body
        if isinstance(body, SessionCreated | SessionUpdated):
            agent = body.agent.get("name", "") if body.agent is not None else agent
            title = body.title if body.title is not None else title
    last = event(marks.session_id, marks.status).body if marks.status else None
    return SessionInfo(
        id=marks.session_id,
        agent=str(agent or ""),
        title=title,
        status=STATUSES[marks.status.kind] if marks.status else "idle",
        stop_reason=str(last.stop_reason.get("type")) if isinstance(last, SessionIdle) else None,
        head=marks.head,
        epoch=marks.epoch,
        created_at=moment(marks.created.at),
        updated_at=moment(marks.updated_at),
    )


def check_limit(limit: int) -> None:
    """Refuse a page size that is not 1 to 1000."""
    if not 1 <= limit <= 1000:
        raise InvalidValue(f"limit={limit} is not between 1 and 1000")
