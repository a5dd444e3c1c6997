from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from relevo.errors import LogUnavailable
from relevo.log import SqliteLog
from relevo.log.flush import Flush
from tests.contracts.log_contract import NOW, S, begun, said, turns


class Disk:
    """Counts syncs, and holds or fails them on demand."""

    def __init__(self) -> None:
        self.syncs = 0
        self.broken = False
        self.free = threading.Event()
        self.free.set()

    def sync(self, descriptor: int) -> None:
        assert self.free.wait(30)
        self.syncs += 1
        if self.broken:
            raise OSError(5, "Input/output error")
        os.fsync(descriptor)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr("relevo.log.flush._sync", disk.sync)
    return disk


@pytest.fixture
async def flush(tmp_path: Path) -> AsyncIterator[Flush]:
    (tmp_path / "wal").touch()
    flush = Flush(tmp_path / "wal")
    yield flush
    await flush.close()


async def test_each_flush_alone_is_a_sync(flush: Flush, disk: Disk) -> None:
    await flush()
    await flush()

    assert disk.syncs == 2


async def test_one_sync_serves_all_who_came_before_it_began(flush: Flush, disk: Disk) -> None:
    disk.free.clear()
    first = asyncio.create_task(flush())
    await turns()
    others = [asyncio.create_task(flush()) for _ in range(20)]
    await turns()

    disk.free.set()
    await asyncio.gather(first, *others)

    assert disk.syncs == 2


async def test_a_sync_that_fails_is_told_to_those_it_should_have_served(flush: Flush, disk: Disk) -> None:
    disk.broken = True
    disk.free.clear()
    first = asyncio.create_task(flush())
    await turns()
    second = asyncio.create_task(flush())
    await turns()
    disk.free.set()
    told = await asyncio.gather(first, second, return_exceptions=True)

    disk.broken = False
    await flush()

    assert [type(one) for one in told] == [OSError, OSError]
    assert disk.syncs == 3


async def test_who_is_cancelled_leaves_the_sync_to_the_others(flush: Flush, disk: Disk) -> None:
    disk.free.clear()
    first, second = asyncio.create_task(flush()), asyncio.create_task(flush())
    await turns()

    first.cancel()
    await asyncio.wait([first])
    disk.free.set()
    await second

    assert disk.syncs == 2


async def test_an_append_is_flushed_only_when_asked_and_a_failure_says_what_is_stored(
    tmp_path: Path, disk: Disk
) -> None:
    log = SqliteLog(tmp_path / "sessions.db")
    head = await begun(log)
    assert disk.syncs == 0

    head = await log.append(S, [said("a")], expected=head, at=NOW, flush=True)
    assert disk.syncs == 1

    disk.broken = True
    with pytest.raises(LogUnavailable, match="stored, but not safe"):
        await log.append(S, [said("b")], expected=head, at=NOW, flush=True)
    assert len(await log.read(S)) == head + 1
    await log.close()


def test_a_flush_begun_on_a_loop_that_is_gone_holds_up_nobody(tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "wal").touch()
    flush = Flush(tmp_path / "wal")
    disk.free.clear()

    async def abandoned() -> None:
        waiting = asyncio.ensure_future(flush())
        await turns()
        waiting.cancel()

    async def later() -> None:
        disk.free.set()
        await flush()
        await flush.close()

    asyncio.run(abandoned())
    asyncio.run(later())

    assert disk.syncs == 2
