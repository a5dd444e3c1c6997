"""
Who does what with a log's file: the loop what takes microseconds, two threads what may take longer.

The loop has a connection that never waits. When it finds the file locked, or the work is large, the same work is done
again by a thread with a connection of its own and patience. Nothing here knows what the work is.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path
from typing import TypeVar

from relevo.errors import LogClosed, LogUnavailable
from relevo.log.database import (
    FORMAT,
    PAGE_BYTES,
    Clerk,
    Work,
    connect,
    is_busy,
    patiently,
    prepare,
    said_in_our_words,
    transact,
    undo,
)
from relevo.log.flush import Flush
from relevo.log.worker import Stop

T = TypeVar("T")

_logger = logging.getLogger("relevo.log")

INLINE_BYTES = 64 * 1024
"""More than this is not written on the loop."""

WAL_BYTES = 4 * 1024 * 1024
"""After so much was written the WAL is copied into the database, in a thread."""


class LogFile:
    """One SQLite file with a write-ahead log, made when first used."""

    def __init__(self, path: Path, patience_seconds: float) -> None:
        self.path = path
        self.closed = False
        self._patience_seconds = patience_seconds
        self._wal = path.with_name(path.name + "-wal")
        self._hot: sqlite3.Connection | None = None
        self._spare: sqlite3.Connection | None = None
        self._writer = Clerk("log-write", path, patience_seconds)
        self._reader = Clerk("log-read", path, patience_seconds)
        self._flush = Flush(self._wal)
        self._opening = asyncio.Lock()  # one task opens, the others wait for it
        self._cold = True
        """Whether the next commit begins the WAL anew, which syncs."""
        self._checkpointing = False
        """Whether the disk is busy with a checkpoint, so that a commit may have to wait for it."""
        self._since_checkpoint_bytes = 0

    async def write(self, work: Work[T], *, size_bytes: int = 0) -> T:
        """Do `work` under the write lock, all of it or none. `work` may be called again."""
        hot = self._hot or await self._connected()
        self._owe_checkpoint(size_bytes)
        with said_in_our_words(self.path):
            if not self._cold and not self._checkpointing and size_bytes <= INLINE_BYTES:
                try:
                    return transact(hot, work)
                except sqlite3.OperationalError as error:
                    if not is_busy(error):
                        raise
                finally:
                    if hot.in_transaction:  # it could not even roll back
                        hot.close()
                        self._hot = None
            result = await self._writer.do(lambda connection: transact(connection, work))
            self._cold = False
            return result

    async def begin(self, work: Work[T]) -> tuple[sqlite3.Connection, T]:
        """Take the write lock with a connection for the caller alone, to be given back to `end`."""
        hot = self._hot or await self._connected()
        self._owe_checkpoint(4096)  # a guess: the caller will write what it likes

        def begun(_: sqlite3.Connection) -> tuple[sqlite3.Connection, T]:
            connection, self._spare = self._spare or connect(self.path), None
            try:
                connection.execute("begin immediate")
                return connection, work(connection)
            except BaseException:
                self.end(connection)
                raise

        if self._cold:  # or the caller's commit, on the loop, would begin the WAL
            await self.write(lambda connection: connection.execute(f"pragma user_version = {FORMAT}"))
        with said_in_our_words(self.path):
            if not self._checkpointing:
                try:
                    return begun(hot)
                except sqlite3.OperationalError as error:
                    if not is_busy(error):
                        raise
            return await self._writer.do(begun, discard=lambda held: self.end(held[0]))

    def end(self, connection: sqlite3.Connection) -> None:
        """Give back what `begin` gave; what is not committed is forgotten."""
        undo(connection)
        if self._spare is None and not connection.in_transaction and not self.closed:
            self._spare = connection
        else:
            connection.close()

    async def read(self, work: Work[T]) -> T:
        """Do `work`, which reads little."""
        hot = self._hot or await self._connected()
        with said_in_our_words(self.path):
            try:
                return work(hot)
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
            return await self._reader.do(work)

    async def read_much(self, work: Work[T]) -> T:
        """Do `work`, which may read for long, in a thread."""
        await self._connected()
        with said_in_our_words(self.path):
            return await self._reader.do(work)

    async def flush(self) -> None:
        """Return when all that was written until now survives a power cut."""
        try:
            await self._flush()
        except OSError as error:
            raise LogUnavailable(f"{self.path}: stored, but not safe from a power cut: {error}") from error

    def version(self) -> object:
        """Another value whenever another connection wrote; None when that cannot be told."""
        try:
            return self._hot.execute("pragma data_version").fetchone() if self._hot else None
        except sqlite3.Error:
            return None  # whoever reads next learns why

    async def close(self) -> None:
        """Wait for what is under way and let go of everything."""
        self.closed = True
        async with self._opening:
            for connection in (self._hot, self._spare):
                if connection is not None:
                    connection.close()
            self._hot = self._spare = None
        await self._flush.close()
        await self._reader.close()
        # Last, and in its thread: the last connection of all copies the WAL into the database.
        await self._writer.close()

    async def _connected(self) -> sqlite3.Connection:
        async with self._opening:
            if self.closed:
                raise LogClosed(f"the log {self.path} was closed")
            if self._hot is None:
                with said_in_our_words(self.path):
                    self._hot = await self._writer.worker.run(self._open, discard=sqlite3.Connection.close)
            return self._hot

    def _open(self, stop: Stop) -> sqlite3.Connection:
        def opened() -> sqlite3.Connection:
            prepare(self.path)
            return connect(self.path)

        return patiently(opened, stop, self._patience_seconds)

    def _owe_checkpoint(self, size_bytes: int) -> None:
        self._since_checkpoint_bytes += size_bytes + 4 * PAGE_BYTES
        if self._since_checkpoint_bytes > WAL_BYTES:
            self._since_checkpoint_bytes = 0
            self._checkpointing = True
            self._reader.worker.submit(self._checkpoint)

    def _checkpoint(self, stop: Stop) -> None:
        # Passive waits for nobody, but under writes without a pause never reaches the end, and the WAL would grow.
        # Restart takes the write lock, and appends wait meanwhile.
        def copied(connection: sqlite3.Connection) -> bool:
            restart = self._wal.stat().st_size > 4 * WAL_BYTES
            connection.execute(f"pragma busy_timeout = {1000 if restart else 0}")
            mode = "restart" if restart else "passive"
            _, frames, done = connection.execute(f"pragma wal_checkpoint({mode})").fetchone()
            connection.execute("pragma busy_timeout = 0")
            return bool(frames == done)

        try:
            self._cold = self._reader.patiently(copied, stop) or self._cold
        except (sqlite3.Error, OSError) as error:  # nothing is lost; the next append says what is wrong
            _logger.warning("checkpoint failed: %s", error, extra={"action": "checkpoint", "path": str(self.path)})
        finally:
            self._checkpointing = False
