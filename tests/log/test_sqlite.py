from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from relevo.clock import MovableClock
from relevo.errors import InvalidValue, LogCorrupt, LogMoved, LogTooNew, LogUnavailable, SessionNotFound
from relevo.events import Body, Event
from relevo.log import Log, SqliteLog
from relevo.log.sqlite import POLL_SECONDS
from tests.contracts.log_contract import NOW, LogContract, S, begun, created, ended, said, texts, turns


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    log = SqliteLog(path)
    yield log
    await log.close()


class TestSqliteLog(LogContract):
    @pytest.fixture
    async def log(self, path: Path) -> AsyncIterator[Log]:
        log = SqliteLog(path)
        yield log
        await log.close()


@pytest.fixture
def other(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else with the same file open."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        yield connection


def make(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


async def filled(path: Path, count: int = 5) -> None:
    log = SqliteLog(path)
    await begun(log, S, *(said(str(n)) for n in range(2, count + 1)))
    await log.close()


async def refused(path: Path, error: type[Exception], match: str) -> None:
    """Every use is refused, and the file stays as it is."""
    before = path.read_bytes()
    log = SqliteLog(path)
    for _ in range(2):
        with pytest.raises(error, match=match):
            await begun(log)
        with pytest.raises(error, match=match):
            await log.sessions()
    await log.close()
    assert path.read_bytes() == before


# The file


async def test_a_log_is_there_again_after_closing(path: Path) -> None:
    await filled(path)

    log = SqliteLog(path)
    events = await log.read(S)
    lease = await log.claim(S)
    await log.close()

    assert texts(events) == ["2", "3", "4", "5"]
    assert (lease.head, lease.epoch) == (5, 1)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


async def test_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "sessions.db"

    await filled(path)

    assert path.exists()


def test_making_a_log_touches_no_file(path: Path) -> None:
    SqliteLog(path)

    assert not path.exists()


@pytest.mark.parametrize("name", ["", ":memory:", "file:x.db?mode=memory"])
def test_what_is_no_file_is_refused_with_a_hint(name: str) -> None:
    with pytest.raises(InvalidValue, match="MemoryLog"):
        SqliteLog(name)


async def test_an_empty_file_becomes_a_log(path: Path) -> None:
    path.touch()

    await filled(path)


async def test_another_programs_database_is_refused(path: Path) -> None:
    make(path, "create table theirs (a)")

    await refused(path, LogCorrupt, "another program's")


async def test_a_database_without_tables_that_says_it_is_somebodys_is_refused(path: Path) -> None:
    make(path, "pragma user_version = 3")

    await refused(path, LogCorrupt, "another program's")


async def test_a_log_without_its_tables_is_refused(path: Path) -> None:
    await filled(path)
    make(path, "drop table relevo_events")

    await refused(path, LogCorrupt, "without its tables")


async def test_a_log_of_a_newer_program_is_refused(path: Path) -> None:
    await filled(path)
    make(path, "pragma user_version = 99")

    await refused(path, LogTooNew, "99")


@pytest.mark.parametrize("content", [b"x", b"not a database at all" * 100, b"\0" * 4096], ids=["tiny", "text", "zeros"])
async def test_b191_a_file_that_is_no_database_is_never_taken_for_empty(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    await refused(path, LogCorrupt, "damaged")


async def test_b191_a_wal_whose_database_is_gone_is_kept(log: SqliteLog, path: Path, tmp_path: Path) -> None:
    await begun(log)
    orphan = tmp_path / "orphan.db-wal"
    orphan.write_bytes(path.with_name(path.name + "-wal").read_bytes())
    size = orphan.stat().st_size

    for make_empty in (False, True):
        if make_empty:
            (tmp_path / "orphan.db").touch()
        lost = SqliteLog(tmp_path / "orphan.db")
        with pytest.raises(LogCorrupt, match="missing or empty"):
            await lost.sessions()
        await lost.close()

    assert orphan.stat().st_size == size


async def test_b191_a_damaged_page_is_said_and_not_skipped(path: Path) -> None:
    await filled(path, count=400)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 512 * 512)
        file.write(b"\xff" * 512)

    log = SqliteLog(path)
    with pytest.raises(LogCorrupt, match=S):
        await log.read(S)
    await log.close()


async def test_b217_a_broken_row_spoils_only_ranges_it_is_in(path: Path) -> None:
    await filled(path)
    make(path, "update relevo_events set data = cast('{\"content\":' as blob) where place & 4294967295 = 4")

    log = SqliteLog(path)
    with pytest.raises(LogCorrupt, match=f"{S}.*position 4"):
        await log.read(S)
    assert texts(await log.read(S, until=3)) == ["2", "3"]
    assert texts(await log.read(S, after=4)) == ["5"]
    assert await log.append(S, [said("6")], expected=5, at=NOW) == 6
    await log.close()


async def test_a_row_that_is_missing_is_not_a_shorter_history(path: Path) -> None:
    await filled(path)
    make(path, "delete from relevo_events where place & 4294967295 = 3")

    log = SqliteLog(path)
    with pytest.raises(LogCorrupt, match="position 3 is missing"):
        await log.read(S)
    await log.close()


async def test_a_session_without_its_first_event_cannot_be_listed(path: Path) -> None:
    await filled(path)
    make(path, "delete from relevo_events where place & 4294967295 = 1")

    log = SqliteLog(path)
    with pytest.raises(LogCorrupt, match="position 1 is missing"):
        await log.sessions()
    await log.close()


async def test_a_folder_is_no_log(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path)

    with pytest.raises(LogUnavailable):
        await begun(log)

    await log.close()


async def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = SqliteLog(tmp_path / "file" / "sessions.db")

    with pytest.raises(LogUnavailable):
        await begun(log)

    await log.close()


async def test_people_can_read_the_file_with_any_sqlite_shell(log: SqliteLog, other: sqlite3.Connection) -> None:
    await begun(log, S, said("hello"))

    rows = other.execute("select session, position, at, kind, version, data from relevo_log").fetchall()

    assert rows[1] == (
        S,
        2,
        "2026-12-01 12:00:00",
        "user.message",
        1,
        '{"content":[{"type":"text","text":"hello"}]}',
    )


# Many writers


async def test_an_append_waits_while_somebody_else_writes(log: SqliteLog, other: sqlite3.Connection) -> None:
    head = await begun(log)
    other.execute("begin immediate")

    waiting = asyncio.create_task(log.append(S, [said("a")], expected=head, at=NOW))
    await turns()
    assert not waiting.done()
    assert len(await log.read(S)) == head
    other.execute("rollback")

    assert await waiting == head + 1


async def test_patience_ends(path: Path, other: sqlite3.Connection) -> None:
    await filled(path)
    log = SqliteLog(path, patience_seconds=0.02)
    other.execute("begin immediate")

    with pytest.raises(LogUnavailable, match="locked"):
        await log.append(S, [said("a")], expected=5, at=NOW)
    other.execute("rollback")

    assert await log.append(S, [said("a")], expected=5, at=NOW) == 6
    await log.close()


async def test_an_append_that_is_cancelled_while_waiting_is_not_stored(
    log: SqliteLog, other: sqlite3.Connection
) -> None:
    head = await begun(log)
    other.execute("begin immediate")
    waiting = asyncio.create_task(log.append(S, [said("a")], expected=head, at=NOW))
    await turns()

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    other.execute("rollback")

    assert await log.append(S, [said("b")], expected=head, at=NOW) == head + 1
    assert texts(await log.read(S)) == ["b"]


async def test_two_logs_on_one_file_are_one_log(path: Path, log: SqliteLog) -> None:
    second = SqliteLog(path)
    head = await begun(log)

    head = await second.append(S, [said("second")], expected=head, at=NOW)
    with pytest.raises(LogMoved):
        await log.append(S, [said("first")], expected=head - 1, at=NOW)
    head = await log.append(S, [said("first")], expected=head, at=NOW)

    assert await second.read(S) == await log.read(S)
    assert head == 3
    await second.close()


async def test_a_connection_that_cannot_roll_back_is_replaced(log: SqliteLog, monkeypatch: pytest.MonkeyPatch) -> None:
    class Poisoned(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql in ("commit", "rollback"):
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *values)

    head = await begun(log)
    assert log._file._hot is not None
    log._file._hot.close()
    log._file._hot = sqlite3.connect(log._path, isolation_level=None, factory=Poisoned)

    with pytest.raises(sqlite3.OperationalError):
        await log.append(S, [said("lost")], expected=head, at=NOW)

    assert await log.append(S, [said("kept")], expected=head, at=NOW) == head + 1
    assert texts(await log.read(S)) == ["kept"]


async def test_closing_waits_for_what_is_under_way(log: SqliteLog, path: Path, other: sqlite3.Connection) -> None:
    head = await begun(log)
    other.execute("begin immediate")
    waiting = asyncio.create_task(log.append(S, [said("a")], expected=head, at=NOW))
    await turns()

    closing_ = asyncio.create_task(log.close())
    await turns()
    assert not closing_.done()
    other.execute("rollback")
    await closing_

    assert await waiting == head + 1


# Following other processes


@pytest.fixture
async def reader(path: Path) -> AsyncIterator[tuple[SqliteLog, MovableClock]]:
    clock = MovableClock()
    log = SqliteLog(path, clock=clock)
    yield log, clock
    await log.close()


async def next_of(events: AsyncIterator[Event]) -> int:
    return (await anext(events)).position


async def test_a_follower_hears_of_another_process_at_the_next_look(
    log: SqliteLog, reader: tuple[SqliteLog, MovableClock]
) -> None:
    head = await begun(log)
    follower, clock = reader
    events = follower.follow(S)
    assert await next_of(events) == 1

    waiting = asyncio.create_task(next_of(events))
    await turns()
    clock.advance(POLL_SECONDS)
    await turns()
    await log.append(S, [said("a"), said("b")], expected=head, at=NOW)
    assert not waiting.done()
    await turns()
    clock.advance(POLL_SECONDS)

    assert await asyncio.wait_for(waiting, 10) == 2
    assert await next_of(events) == 3
    await events.aclose()  # type: ignore[attr-defined]  # every generator has it


async def test_a_follower_misses_nothing_of_another_process(log: SqliteLog, path: Path) -> None:
    head = await begun(log)
    follower = SqliteLog(path, clock=MovableClock(jump=True))

    async def watch() -> list[int]:
        seen = []
        events = follower.follow(S)
        async for event in events:
            seen.append(event.position)
            if event.position == 201:
                break
        await events.aclose()  # type: ignore[attr-defined]
        return seen

    watching = asyncio.create_task(watch())
    for number in range(100):
        head = await log.append(S, [said("x"), said("y")], expected=head, at=NOW)
        await turns(number % 5)

    assert await asyncio.wait_for(watching, 20) == list(range(1, 202))
    await follower.close()


async def test_nobody_looks_when_nobody_follows(log: SqliteLog, reader: tuple[SqliteLog, MovableClock]) -> None:
    await begun(log)
    follower, clock = reader
    events = follower.follow(S)
    await next_of(events)
    await turns()
    looks = len(clock.slept)

    await events.aclose()  # type: ignore[attr-defined]
    clock.advance(10 * POLL_SECONDS)
    await turns()

    assert looks == 1
    assert len(clock.slept) == looks


# Cost


async def test_a_turn_writes_little_and_the_same_after_many(log: SqliteLog, path: Path) -> None:
    turn: list[list[Body]] = [
        [said("u" * 250)],
        [ended("s" * 50)],
        [said("a" * 700), ended("s" * 100)],
        [ended("r" * 450)],
    ]
    wal = path.with_name(path.name + "-wal")
    head = await begun(log)
    sizes = []

    for _ in range(400):
        for bodies in turn:
            head = await log.append(S, bodies, expected=head, at=NOW)
        sizes.append(wal.stat().st_size)

    early, late = (sizes[100] - sizes[0]) / 100, (sizes[399] - sizes[299]) / 100
    assert early < 10 * 1024
    assert late < 1.2 * early


async def test_the_wal_is_copied_away_and_does_not_grow_for_ever(log: SqliteLog, path: Path) -> None:
    head = await begun(log)

    for _ in range(800):
        head = await log.append(S, [said("x" * 50_000)], expected=head, at=NOW)
        await asyncio.sleep(0)

    assert path.with_name(path.name + "-wal").stat().st_size < 30 * 1024 * 1024
    assert len(await log.read(S)) == head


async def test_a_long_read_lets_others_run(log: SqliteLog) -> None:
    await begun(log, S, *(said("x" * 500) for _ in range(5000)))
    ran = 0

    async def others() -> None:
        nonlocal ran
        while True:
            ran += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(others())
    await log.read(S)
    running.cancel()
    await asyncio.wait([running])

    assert ran > 10


async def test_a_hundred_thousand_events_are_appended_and_read(log: SqliteLog) -> None:
    head = await begun(log)
    bodies = [said(f"number {n}") for n in range(50)]

    for _ in range(2000):
        head = await log.append(S, bodies, expected=head, at=NOW)

    events = await log.read(S)
    assert len(events) == head == 100_001
    assert [event.position for event in await log.read(S, after=99_999)] == [100_000, 100_001]


def test_no_statement_walks_a_whole_table(path: Path) -> None:
    from relevo.log.database import SQL, prepare

    prepare(path)
    names: dict[str, Any] = dict.fromkeys(
        [
            "id",
            "session",
            "after",
            "until",
            "whole",
            "kinds",
            "before",
            "limit",
            "position",
            "version",
            "data",
            "holder",
            "epoch",
        ]
    )
    plans: dict[str, str] = {}
    with closing(sqlite3.connect(path)) as connection:
        for name, sql in SQL.items():
            if not name.startswith("create_") and name not in ("insert", "tables"):
                steps = connection.execute(f"explain query plan {sql}", names).fetchall()
                plans[name] = "; ".join(str(step[3]) for step in steps)

    assert len(plans) > 10
    for plan in plans.values():
        assert "SCAN relevo" not in plan
        assert "TEMP B-TREE" not in plan


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
async def test_a_session_that_is_not_there_is_not_made_by_asking(log: SqliteLog) -> None:
    for use in (log.read(S), log.claim(S)):
        with pytest.raises(SessionNotFound):
            await use

    assert await log.sessions() == []


async def test_title_and_agent_come_from_the_log_of_another_process(log: SqliteLog, path: Path) -> None:
    await log.append(S, [created(title="t")], expected=0, at=NOW)

    second = SqliteLog(path)
    (info,) = await second.sessions()
    await second.close()

    assert (info.title, info.agent, info.head) == ("t", "clerk", 1)
