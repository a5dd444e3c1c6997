"""Real processes, killed, racing, and without disk. What they were promised must be there, and nothing half."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import relevo
from relevo.errors import SessionNotFound
from relevo.events import Event
from relevo.log import SqliteLog
from tests.contracts.log_contract import NOW, S, begun, said, texts

pytestmark = [pytest.mark.crash, pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")]

WRITERS = Path(__file__).with_name("writers.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@contextlib.contextmanager
def started(role: str, *words: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    (source,) = (Path(one).parent for one in relevo.__path__)
    process = subprocess.Popen(
        [sys.executable, str(WRITERS), role, *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def lines(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.read().split("\n")[:-1]


async def all_of(path: Path) -> list[Event]:
    log = SqliteLog(path)
    try:
        return await log.read(S)
    finally:
        await log.close()


@pytest.mark.parametrize("flush", ["flush", "no"])
async def test_b191_a_killed_writer_leaves_every_promise_and_nothing_half(path: Path, flush: str) -> None:
    rng = random.Random(191)
    for _ in range(4):
        with started("endless", path, flush) as writer:
            assert writer.stdout is not None
            for _ in range(rng.randrange(1, 150)):
                promised = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            promised = max([promised, *(int(one) for one in lines(writer))])

        events = await all_of(path)

        assert len(events) >= promised
        assert len(events) % 3 == 1
        parts = [text.split()[0].partition(".") for text in texts(events)]
        assert [part for _, _, part in parts] == ["0", "1", "2"] * (len(parts) // 3)
        assert all(parts[n][0] == parts[n + 1][0] == parts[n + 2][0] for n in range(0, len(parts), 3))


@pytest.mark.parametrize("damage", ["cut", "zeros", "noise"])
async def test_b191_a_torn_wal_holds_the_longest_valid_prefix(path: Path, tmp_path: Path, damage: str) -> None:
    rng = random.Random(damage)
    log = SqliteLog(path)
    head = await begun(log, S, said("kept in the database itself"))
    await log.close()
    log = SqliteLog(path)
    for number in range(25):
        bodies = [said(f"{number} " + "x" * rng.randrange(0, 1500)) for _ in range(rng.randrange(1, 4))]
        head = await log.append(S, bodies, expected=head, at=NOW)
    whole = await log.read(S)
    wal = path.with_name(path.name + "-wal").read_bytes()
    database = path.read_bytes()
    await log.close()

    lengths = {}
    for number, offset in enumerate(sorted({0, 1, 31, 32, 33, *rng.sample(range(len(wal)), 40), len(wal) - 1})):
        torn = tmp_path / str(number) / "sessions.db"
        torn.parent.mkdir()
        torn.write_bytes(database)
        tail = {"cut": b"", "zeros": bytes(len(wal) - offset), "noise": rng.randbytes(len(wal) - offset)}[damage]
        torn.with_name("sessions.db-wal").write_bytes(wal[:offset] + tail)

        log = SqliteLog(torn)
        events = await log.read(S)
        assert events == whole[: len(events)]
        assert await log.append(S, [said("on")], expected=len(events), at=NOW) == len(events) + 1
        assert texts(await log.read(S))[-1] == "on"
        await log.close()
        shutil.rmtree(torn.parent)
        lengths[offset] = len(events)

    found = [length for _, length in sorted(lengths.items())]
    assert found == sorted(found)
    assert found[0] == 2
    assert len(set(found)) > 10


async def test_b210_eight_processes_and_a_reader_share_one_file(path: Path) -> None:
    log = SqliteLog(path)
    await begun(log)
    seen: list[Event] = []

    async def watch() -> None:
        async for event in log.follow(S):
            seen.append(event)
            if event.position == 401:
                break

    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(started("some", path, f"w{n}", 50)) for n in range(8)]
        await asyncio.wait_for(watch(), 60)
        said_ = [await asyncio.to_thread(lines, writer) for writer in writers]
    stored = await log.read(S)
    await log.close()

    assert said_ == [["done"]] * 8
    assert seen == stored
    assert [event.position for event in stored] == list(range(1, 402))
    for name in range(8):
        assert [t for t in texts(stored) if t.startswith(f"w{name} ")] == [f"w{name} {n}" for n in range(50)]


async def test_of_two_processes_that_claim_and_append_one_wins_each_position(path: Path) -> None:
    log = SqliteLog(path)
    await begun(log)

    with started("claiming", path, "a", 60) as a, started("claiming", path, "b", 60) as b:
        told = [line for one in (a, b) for line in await asyncio.to_thread(lines, one)]
    promised = {int(line.split()[0]): line.split()[1:] for line in told if line[0].isdigit()}
    stored = await log.read(S, after=1)
    await log.close()

    assert len(promised) == sum(line[0].isdigit() for line in told) == len(stored)
    assert {event.position: texts([event])[0].split()[0] for event in stored} == {
        position: name for position, (name, _) in promised.items()
    }
    epochs = [int(promised[event.position][1]) for event in stored]
    assert epochs == sorted(epochs)


async def test_a_zombie_that_thaws_is_refused(path: Path) -> None:
    log = SqliteLog(path)
    head = await begun(log)

    with started("zombie", path) as frozen:
        assert frozen.stdout is not None
        assert frozen.stdin is not None
        told = json.loads(frozen.stdout.readline())
        frozen.send_signal(signal.SIGSTOP)
        owner = await log.claim(S, take_over=True)
        head = await log.append(S, [said("mine")], expected=head, at=NOW, epoch=owner.epoch)
        frozen.send_signal(signal.SIGCONT)
        frozen.stdin.write(f"{head}\n")  # even at the right position
        frozen.stdin.flush()
        answer = await asyncio.to_thread(frozen.stdout.readline)

    assert told == {"epoch": owner.epoch - 1, "head": 1}
    assert answer == "LeaseLost\n"
    assert texts(await log.read(S)) == ["mine"]
    assert await log.append(S, [said("and on")], expected=head, at=NOW, epoch=owner.epoch) == head + 1
    await log.close()


async def test_a_process_that_dies_holding_the_lock_locks_nobody_out(path: Path) -> None:
    log = SqliteLog(path)
    head = await begun(log)
    hold = (
        "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('begin immediate'); print(1,flush=True); input()"
    )

    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        waiting = asyncio.create_task(log.append(S, [said("a")], expected=head, at=NOW))
        await asyncio.sleep(0)
        holder.kill()

    assert await waiting == head + 1
    await log.close()


def test_a_full_disk_is_said_and_leaves_a_readable_log(path: Path) -> None:
    with started("full_disk", path, 120_000) as writer:
        (line,) = lines(writer)
    told = json.loads(line)

    assert told["refusals"] == ["LogUnavailable"] * 2
    assert told["head"] > 10
    assert told["readable"] == told["head"]
    assert told["after"] == told["head"] + 1


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_may_not_be_written_is_said(what: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="relevo-readonly-"))  # pytest's own folders are closed to nobody
    try:
        path = folder / "sessions.db"
        asyncio.run(_fill(path))
        path.chmod(0o444)
        folder.chmod(0o555 if what == "folder" else 0o777)

        with started("readonly", path) as writer:
            (line,) = lines(writer)

        assert json.loads(line) == ["LogUnavailable"] * 2
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


async def _fill(path: Path) -> None:
    log = SqliteLog(path)
    await begun(log)
    await log.close()


async def test_b191_a_session_that_was_torn_away_whole_is_not_there_rather_than_blank(path: Path) -> None:
    log = SqliteLog(path)
    await begun(log)
    database = path.read_bytes()
    await log.close()
    path.write_bytes(database)

    log = SqliteLog(path)
    with pytest.raises(SessionNotFound):
        await log.read(S)
    assert await begun(log) == 1
    await log.close()
