"""
Commits made to survive a power cut.

SQLite's own way (`synchronous=FULL`) syncs under the write lock, so that every other append waits for the disk. Ours
commits first and then syncs the WAL file in a thread: the same bytes in the same file, nobody is locked out, and one
sync serves all who committed before it began. A checkpoint between the two does no harm: it syncs the WAL and then
the database before the WAL is used again.
"""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

from relevo.log.worker import Stop, Worker

# What SQLite uses too: the file's times need not reach the disk, its length does.
_sync = getattr(os, "fdatasync", os.fsync)


class Flush:
    """The sync of one WAL file, shared by all who wait for it."""

    def __init__(self, wal: Path) -> None:
        self._wal = wal
        self._descriptor: int | None = None
        self._worker = Worker("log-flush")
        self._committed = 0
        self._synced = 0
        self._round: asyncio.Future[None] | None = None
        self._covers = 0
        """How many commits the round under way makes safe: those before it began."""

    async def __call__(self) -> None:
        """
        Return when everything committed until now is on disk.

        Raises:
            OSError: it is stored, but not safely.
        """
        self._committed += 1
        ticket = self._committed
        loop = asyncio.get_running_loop()
        while self._synced < ticket:
            if self._round is None or self._round.done() or self._round.get_loop() is not loop:
                self._covers = self._committed
                self._round = asyncio.wrap_future(self._worker.submit(self._sync))
            now, covers = self._round, self._covers
            await asyncio.wait([now])
            if now.exception() is None:
                self._synced = max(self._synced, covers)
            elif covers >= ticket:
                now.result()

    def _sync(self, _: Stop) -> None:
        if self._descriptor is None:
            # No lock lives on the WAL file, and it exists as long as we hold a connection. Windows syncs only what
            # was opened for writing.
            self._descriptor = os.open(self._wal, os.O_RDWR)
        _sync(self._descriptor)
        # A file that was deleted or replaced meanwhile takes writes, and nobody will ever read them.
        if not os.path.samestat(os.fstat(self._descriptor), self._wal.stat()):
            raise FileNotFoundError(errno.ENOENT, "the file was replaced while it was open", str(self._wal))

    async def close(self) -> None:
        """Let go of the file."""
        await self._worker.close()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
