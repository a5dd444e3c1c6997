"""
Writes of a program's own, stored together with events or not at all.

    async with log.transaction(session_id, expected=7, epoch=lease.epoch, at=now) as tx:
        await tx.execute("update accounts set balance = balance - ? where id = ?", (amount, account))
        await tx.append([ended])

It holds the file's one write lock from beginning to end: keep it short, wait for nothing slow inside, and append to
this log through `tx` only. The program's tables live in the log's file, made with `tx.execute` too; tables called
`relevo_...` are the log's and closed to it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from relevo.errors import InvalidValue, LogUnavailable
from relevo.events import Body
from relevo.log import rows
from relevo.log.database import said_in_our_words
from relevo.log.places import Place, insert

_FORBIDDEN = {
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,  # rolled back to, it would take events away and leave a hole
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
    sqlite3.SQLITE_PRAGMA,
}
_READING = {sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


class Transaction:
    """What `SqliteLog.transaction` gives: good until its block ends."""

    def __init__(self, connection: sqlite3.Connection, path: Path, place: Place, at: datetime) -> None:
        self._connection = connection
        self._path = path
        self._place = place
        self._at = at
        self._ours = False
        connection.set_authorizer(self._may)

    @property
    def head(self) -> int:
        """The last position, this transaction's own events included."""
        return self._place.head

    async def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """
        One statement of the program's own; its rows, all of them.

        Raises:
            InvalidValue: it would end the transaction, or write the log's own tables.
            LogUnavailable, LogCorrupt: the file failed.
            sqlite3.Error: the database's own word about the statement.
        """
        self._check_alive()
        try:
            with said_in_our_words(self._path):
                return self._connection.execute(sql, parameters).fetchall()
        except LogUnavailable as error:
            cause = error.__cause__
            if isinstance(cause, sqlite3.Error) and cause.sqlite_errorcode == sqlite3.SQLITE_AUTH:
                raise InvalidValue(f"not inside a transaction of the log: {sql!r}") from cause
            raise

    async def append(self, bodies: Sequence[Body]) -> int:
        """
        Add events after those there are; return the new last position. Stored when the block ends well.

        Raises:
            NotJson, InvalidValue: a body cannot be stored.
        """
        self._check_alive()
        stored = rows.admitted(self._place.session_id, bodies, self.head)
        self._ours = True
        try:
            with said_in_our_words(self._path):
                self._place = insert(self._connection, self._place, stored, rows.microseconds(self._at))
        finally:
            self._ours = False
        return self.head

    def commit(self) -> None:
        """Store everything: for the log, which opened it."""
        self._check_alive()
        self._ours = True
        with said_in_our_words(self._path):
            self._connection.execute("commit")

    def _check_alive(self) -> None:
        # `insert or rollback` and a full disk end it; what followed would be stored alone.
        if not self._connection.in_transaction:
            raise LogUnavailable(f"{self._path}: the database rolled this transaction back; nothing of it is stored")

    def _may(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if self._ours or action in _READING:
            return sqlite3.SQLITE_OK
        touches_ours = any((name or "").lower().startswith("relevo_") for name in (first, second))
        return sqlite3.SQLITE_DENY if touches_ours or action in _FORBIDDEN else sqlite3.SQLITE_OK
