from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from relevo.errors import LogClosed, LogCorrupt, LogUnavailable
from relevo.log.database import in_our_words
from relevo.log.logfile import LogFile
from relevo.log.worker import Stop


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[LogFile]:
    file = LogFile(tmp_path / "sessions.db", 5.0)
    await file.write(lambda connection: connection.execute("create table mine (a)"))
    yield file
    await file.close()


def failure(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    return error


def thread_of(_: sqlite3.Connection) -> threading.Thread:
    return threading.current_thread()


def locked_at_first(code: int = sqlite3.SQLITE_BUSY) -> Callable[[sqlite3.Connection], threading.Thread]:
    calls: list[sqlite3.Connection] = []

    def work(connection: sqlite3.Connection) -> threading.Thread:
        calls.append(connection)
        if len(calls) == 1:
            raise failure(code)
        return threading.current_thread()

    return work


async def test_small_work_is_done_on_the_loop(file: LogFile) -> None:
    assert await file.write(thread_of) is threading.main_thread()
    assert await file.read(thread_of) is threading.main_thread()


async def test_large_work_is_done_in_a_thread(file: LogFile) -> None:
    assert await file.write(thread_of, size_bytes=1_000_000) is not threading.main_thread()
    assert await file.read_much(thread_of) is not threading.main_thread()


async def test_what_finds_the_file_locked_is_done_again_in_a_thread(file: LogFile) -> None:
    assert await file.write(locked_at_first()) is not threading.main_thread()
    assert await file.read(locked_at_first()) is not threading.main_thread()
    assert await file.read(locked_at_first(sqlite3.SQLITE_BUSY_SNAPSHOT)) is not threading.main_thread()
    connection, thread = await file.begin(locked_at_first())
    file.end(connection)
    assert thread is not threading.main_thread()


async def test_another_failure_is_not_tried_again(file: LogFile) -> None:
    for use in (file.write, file.read, file.begin):
        with pytest.raises(LogUnavailable):
            await use(locked_at_first(sqlite3.SQLITE_FULL))


async def test_the_first_write_of_a_wal_is_left_to_the_thread(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "other.db", 5.0)

    assert await file.write(thread_of) is not threading.main_thread()
    assert await file.write(thread_of) is threading.main_thread()
    file._checkpoint(Stop())
    connection, thread = await file.begin(thread_of)
    file.end(connection)
    assert thread is threading.main_thread()

    await file.close()


async def test_a_failed_write_leaves_nothing_and_no_lock(file: LogFile) -> None:
    def half(connection: sqlite3.Connection) -> None:
        connection.execute("insert into mine values (1)")
        raise KeyError("mine")

    for size in (0, 1_000_000):
        with pytest.raises(KeyError):
            await file.write(half, size_bytes=size)

    assert await file.read(lambda it: it.execute("select count(*) from mine").fetchone()) == (0,)
    await file.write(lambda it: it.execute("insert into mine values (1)"))


async def test_a_connection_is_lent_to_one_at_a_time_and_used_again(file: LogFile) -> None:
    first, _ = await file.begin(thread_of)
    file.end(first)
    second, _ = await file.begin(thread_of)
    waiting = asyncio.create_task(file.begin(thread_of))
    await asyncio.sleep(0)
    file.end(second)
    third, _ = await waiting
    file.end(third)

    assert first is second
    assert file._spare in (second, third)


async def test_a_connection_given_back_after_the_end_is_closed(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "other.db", 5.0)
    connection, _ = await file.begin(thread_of)
    await file.close()

    file.end(connection)

    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("select 1")
    with pytest.raises(LogClosed):
        await file.read_much(thread_of)


async def test_a_checkpoint_that_fails_is_a_warning(file: LogFile, caplog: pytest.LogCaptureFixture) -> None:
    file._wal = file._wal.with_name("nowhere")

    with caplog.at_level(logging.WARNING, "relevo.log"):
        file._checkpoint(Stop())

    (record,) = caplog.records
    assert record.__dict__["action"] == "checkpoint"
    assert await file.write(thread_of) is threading.main_thread()


async def test_a_version_changes_when_another_connection_writes(file: LogFile) -> None:
    before = file.version()
    assert file.version() == before
    await file.write(thread_of)
    await file.write(lambda it: it.execute("insert into mine values (1)"), size_bytes=1_000_000)  # the thread's

    assert file.version() != before
    assert file._hot is not None
    file._hot.close()
    assert file.version() is None
    file._hot = None
    assert file.version() is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_CORRUPT, LogCorrupt),
        (sqlite3.SQLITE_CORRUPT_INDEX, LogCorrupt),
        (sqlite3.SQLITE_NOTADB, LogCorrupt),
        (sqlite3.SQLITE_IOERR_SHORT_READ, LogCorrupt),
        (sqlite3.SQLITE_IOERR_WRITE, LogUnavailable),
        (sqlite3.SQLITE_FULL, LogUnavailable),
        (sqlite3.SQLITE_READONLY_DIRECTORY, LogUnavailable),
        (sqlite3.SQLITE_CANTOPEN, LogUnavailable),
        (sqlite3.SQLITE_BUSY, LogUnavailable),
        (sqlite3.SQLITE_ERROR, type(None)),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, type(None)),
    ],
)
def test_failures_of_the_file_are_said_in_our_words_and_wrong_sql_is_not(code: int, expected: type[object]) -> None:
    assert type(in_our_words(failure(code), Path("x"))) is expected
