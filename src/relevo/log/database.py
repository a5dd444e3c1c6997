"""
One SQLite file: opened, verified, and its failures said in our words.

The file is never opened with anything but SQLite: POSIX drops every lock a process holds on a file when any of its
descriptors is closed (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_,
read 2026-12-01). Sizes come from `stat`, which is harmless.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from relevo.errors import LogCorrupt, LogError, LogTooNew, LogUnavailable
from relevo.log.statements import load
from relevo.log.worker import Stop, Worker

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
"""Something done with a connection, all or none; may be called again if the file was locked."""

SQL = load(Path(__file__).with_name("sqlite.sql"))

APPLICATION_ID = 0x52656C76
"""`Relv`: what `file` and `PRAGMA application_id` say of our files."""

FORMAT = 1
"""`PRAGMA user_version`. A file with a higher one is refused."""

PAGE_BYTES = 512
"""Of a new file; sqlite.py says why so small."""

PATIENCE_SECONDS = 10.0
"""How long a locked file is tried again."""

_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_CORRUPT_IN_FULL = {sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS}
_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock, so that a repeat may succeed."""
    return _code(error) & 0xFF == sqlite3.SQLITE_BUSY


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)


@contextmanager
def said_in_our_words(path: Path) -> Generator[None, None, None]:
    """Turn the failures of a file into `LogCorrupt` and `LogUnavailable`; wrong SQL stays what it is."""
    try:
        yield
    except sqlite3.Error as error:
        translated = in_our_words(error, path)
        if translated is None:
            raise
        raise translated from error
    except OSError as error:
        raise LogUnavailable(f"{path}: {error}") from error


def in_our_words(error: sqlite3.Error, path: Path) -> LogError | None:
    """The log's error for one of SQLite's; None if it is not about the file."""
    code = _code(error)
    name = getattr(error, "sqlite_errorname", "")
    if code & 0xFF in _CORRUPT or code in _CORRUPT_IN_FULL:
        return LogCorrupt(f"{path} is not a SQLite database, or is damaged: {error}; nothing was changed")
    if is_busy(error):
        return LogUnavailable(f"{path} was locked by others for too long")
    if code & 0xFF in _UNAVAILABLE:
        return LogUnavailable(f"{path}: {error} ({name})")
    return None


def transact(connection: sqlite3.Connection, work: Work[T]) -> T:
    """Do `work` under the write lock: all of it, or none."""
    connection.execute("begin immediate")
    try:
        result = work(connection)
        connection.execute("commit")
    except BaseException:
        undo(connection)
        raise
    return result


def undo(connection: sqlite3.Connection) -> None:
    """Roll back. A connection that cannot must never be used again (`in_transaction` stays true)."""
    try:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("rollback")
    except sqlite3.Error:
        pass


def connect(path: Path) -> sqlite3.Connection:
    """A connection that never waits for a lock and never checkpoints by itself."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        # In WAL mode a commit then writes but does not sync: it survives the process, not the power.
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma wal_autocheckpoint = 0")
        connection.execute("pragma journal_size_limit = 8388608")
    except BaseException:
        connection.close()
        raise
    return connection


def patiently(attempt: Callable[[], T], stop: Stop, patience_seconds: float) -> T:
    """Try again and again while the file is locked, until patience ends or nobody waits for it."""
    give_up = time.monotonic() + patience_seconds
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or stop.is_set() or time.monotonic() >= give_up:
                raise
        # Jittered, or processes that collided once collide again.
        stop.wait(random.uniform(0.0005, 0.01))  # noqa: S311  no secret


class Clerk:
    """A thread with a connection of its own, that waits patiently for locks."""

    def __init__(self, name: str, path: Path, patience_seconds: float) -> None:
        self._path = path
        self._patience_seconds = patience_seconds
        self._connection: sqlite3.Connection | None = None
        self.worker = Worker(name)

    async def do(self, work: Work[T], *, discard: Callable[[T], object] | None = None) -> T:
        """Do `work`, again and again while the file is locked, and wait for it; see `Worker.run`."""
        return await self.worker.run(lambda stop: self.patiently(work, stop), discard=discard)

    def patiently(self, work: Work[T], stop: Stop) -> T:
        """Of the thread only: `do`, without the waiting."""

        def attempt() -> T:
            if self._connection is None:
                self._connection = connect(self._path)
            try:
                return work(self._connection)
            finally:
                if self._connection.in_transaction:  # it could not even roll back
                    self._drop()

        return patiently(attempt, stop, self._patience_seconds)

    async def close(self) -> None:
        """Close the connection in its thread, then end the thread."""
        await self.worker.run(lambda _: self._drop())
        await self.worker.close()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def prepare(path: Path) -> None:
    """
    Make the file if there is none, or see that it is ours and readable.

    Raises:
        LogCorrupt, LogTooNew: nothing was changed.
        sqlite3.Error, OSError: to be said in our words.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # SQLite takes a file shorter than a page for an empty database, and deletes a WAL whose database is gone.
    wal = path.with_name(path.name + "-wal")
    size = path.stat().st_size if path.exists() else 0
    if 0 < size < 512:
        raise LogCorrupt(f"{path} is not a SQLite database, or is damaged: {size} bytes; nothing was changed")
    if not size and wal.exists() and wal.stat().st_size:
        raise LogCorrupt(f"{wal} is there, but {path} is missing or empty; nothing was changed")
    with closing(connect(path)) as connection:
        if not _is_ours(connection, path):
            # Complete in the file itself before the first WAL: a torn WAL then never takes the tables with it.
            connection.execute(f"pragma page_size = {PAGE_BYTES}")
            transact(connection, lambda it: _is_ours(it, path) or _create(it))
        connection.execute("pragma journal_mode = wal")
        (mode,) = connection.execute("pragma journal_mode").fetchone()
        if mode != "wal":
            raise LogUnavailable(f"{path} cannot be used with a write-ahead log here (journal mode {mode!r})")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    (owner,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    tables, ours = connection.execute(SQL["tables"]).fetchone()
    if owner == APPLICATION_ID:
        if version > FORMAT:
            raise LogTooNew(f"{path} has format {version}; this Relevo reads up to {FORMAT}. Upgrade it")
        if ours < 3:
            raise LogCorrupt(f"{path} is a Relevo log without its tables; nothing was changed")
        return True
    if owner or version or tables:
        raise LogCorrupt(f"{path} is another program's database, not a Relevo log; nothing was changed")
    return False


def _create(connection: sqlite3.Connection) -> bool:
    for name, statement in SQL.items():
        if name.startswith("create_"):
            connection.execute(statement)
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.execute(f"pragma user_version = {FORMAT}")
    return True
