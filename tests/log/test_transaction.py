from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from relevo.errors import InvalidValue, LeaseLost, LogClosed, LogMoved, LogUnavailable, NotJson, SessionNotFound
from relevo.log import SqliteLog
from tests.contracts.log_contract import NOW, S, begun, created, ended, said, texts, turns


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    log = SqliteLog(tmp_path / "sessions.db")
    head = await begun(log)
    async with log.transaction(S, expected=head, at=NOW) as tx:
        await tx.execute("create table accounts (id text primary key, balance integer not null)")
        await tx.execute("insert into accounts values (?, ?)", ("ada", 100))
    yield log
    await log.close()


async def balance(log: SqliteLog) -> int:
    async with log.transaction(S, expected=len(await log.read(S)), at=NOW) as tx:
        ((found,),) = await tx.execute("select balance from accounts where id = :id", {"id": "ada"})
    return int(found)


async def pay(log: SqliteLog, expected: int, epoch: int | None = None) -> int:
    async with log.transaction(S, expected=expected, epoch=epoch, at=NOW) as tx:
        await tx.execute("update accounts set balance = balance - 10 where id = 'ada'")
        return await tx.append([ended("paid")])


async def test_own_writes_and_events_are_stored_together(log: SqliteLog) -> None:
    assert await pay(log, 1) == 2

    assert await balance(log) == 90
    assert [event.kind for event in await log.read(S)] == ["session.created", "tool.ended"]


async def test_events_may_be_added_in_several_steps(log: SqliteLog) -> None:
    async with log.transaction(S, expected=1, at=NOW) as tx:
        assert await tx.append([said("a")]) == tx.head == 2
        assert await tx.append([]) == 2
        assert await tx.append([said("b"), said("c")]) == 4

    assert texts(await log.read(S)) == ["a", "b", "c"]


async def test_a_session_can_begin_in_one(log: SqliteLog) -> None:
    async with log.transaction("sesn_new", expected=0, at=NOW) as tx:
        await tx.append([created(), said("a")])
        await tx.append([said("b")])

    assert texts(await log.read("sesn_new")) == ["a", "b"]


async def test_an_error_inside_takes_everything_back(log: SqliteLog) -> None:
    with pytest.raises(RuntimeError, match="mine"):
        async with log.transaction(S, expected=1, at=NOW) as tx:
            await tx.execute("update accounts set balance = 0")
            await tx.append([said("a")])
            raise RuntimeError("mine")

    assert await balance(log) == 100
    assert len(await log.read(S)) == 1


async def test_a_cancel_inside_takes_everything_back(log: SqliteLog) -> None:
    inside = asyncio.Event()

    async def slow() -> None:
        async with log.transaction(S, expected=1, at=NOW) as tx:
            await tx.execute("update accounts set balance = 0")
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(slow())
    await inside.wait()
    task.cancel()
    await asyncio.wait([task])

    assert await balance(log) == 100


async def test_a_wrong_position_or_an_old_lease_is_refused_before_anything(log: SqliteLog) -> None:
    zombie = await log.claim(S)
    await log.claim(S)

    with pytest.raises(LogMoved):
        await pay(log, 0)
    with pytest.raises(LeaseLost):
        await pay(log, 1, zombie.epoch)
    with pytest.raises(SessionNotFound):
        async with log.transaction("sesn_nobody", expected=1, at=NOW):
            pass

    assert await balance(log) == 100


async def test_of_many_at_one_position_exactly_one_is_stored(log: SqliteLog) -> None:
    outcomes = await asyncio.gather(*(pay(log, 1) for _ in range(10)), return_exceptions=True)

    assert sorted(type(one).__name__ for one in outcomes) == ["LogMoved"] * 9 + ["int"]
    assert await balance(log) == 90


async def test_an_append_beside_waits_and_is_not_part_of_it(log: SqliteLog) -> None:
    await begun(log, "sesn_other")
    async with log.transaction(S, expected=1, at=NOW) as tx:
        beside = asyncio.create_task(log.append("sesn_other", [said("beside")], expected=1, at=NOW))
        await tx.append([said("inside")])
        await turns()
        assert not beside.done()
        assert len(await log.read(S)) == 1

    assert await beside == 2
    assert texts(await log.read(S)) == ["inside"]


async def test_followers_hear_of_it(log: SqliteLog) -> None:
    events = log.follow(S, after=1)
    waiting = asyncio.ensure_future(anext(events))
    await turns()

    await pay(log, 1)

    assert (await asyncio.wait_for(waiting, 10)).position == 2
    await events.aclose()  # type: ignore[attr-defined]  # every generator has it


async def test_a_bad_body_is_refused_and_the_block_may_go_on(log: SqliteLog) -> None:
    async with log.transaction(S, expected=1, at=NOW) as tx:
        with pytest.raises(NotJson):
            await tx.append([ended(float("nan"))])
        await tx.append([said("good")])

    assert texts(await log.read(S)) == ["good"]


@pytest.mark.parametrize(
    "sql",
    [
        "commit",
        "rollback",
        "begin",
        "savepoint a",
        "attach ':memory:' as x",
        "pragma synchronous = off",
        "delete from relevo_events",
        "update RELEVO_sessions set epoch = 0",
        "insert into relevo_snapshots values (1, 1, 1, x'')",
        "drop table relevo_events",
        "create table relevo_mine (a)",
        "create index mine on relevo_events (at)",
        "create trigger mine after insert on relevo_events begin select 1; end",
    ],
)
async def test_the_logs_own_tables_and_the_transaction_itself_are_closed(log: SqliteLog, sql: str) -> None:
    async with log.transaction(S, expected=1, at=NOW) as tx:
        await tx.append([said("a")])
        with pytest.raises((InvalidValue, sqlite3.OperationalError)):
            await tx.execute(sql)
        assert await tx.execute("select count(*) from relevo_events") == [(2,)]

    assert texts(await log.read(S)) == ["a"]


async def test_a_wrong_statement_is_the_databases_word(log: SqliteLog) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        async with log.transaction(S, expected=1, at=NOW) as tx:
            await tx.execute("select * from nowhere")
    with pytest.raises(sqlite3.IntegrityError):
        async with log.transaction(S, expected=1, at=NOW) as tx:
            await tx.execute("insert into accounts values ('ada', 1)")


async def test_a_transaction_the_database_ended_stores_nothing_more(log: SqliteLog) -> None:
    with pytest.raises(LogUnavailable, match="rolled this transaction back"):
        async with log.transaction(S, expected=1, at=NOW) as tx:
            await tx.execute("update accounts set balance = 0")
            with pytest.raises(sqlite3.IntegrityError):
                await tx.execute("insert or rollback into accounts values ('ada', 1)")
            await tx.append([said("alone")])

    assert await balance(log) == 100
    assert len(await log.read(S)) == 1


async def test_a_cancel_while_waiting_for_the_lock_leaves_it_free(log: SqliteLog) -> None:
    async with log.transaction(S, expected=1, at=NOW) as tx:
        waiting = asyncio.create_task(pay(log, 1))
        await turns()
        waiting.cancel()
        await asyncio.wait([waiting])
        await tx.append([said("a")])

    assert waiting.cancelled()
    assert await pay(log, 2) == 3


async def test_a_closed_log_has_none(log: SqliteLog) -> None:
    await log.close()

    with pytest.raises(LogClosed):
        await pay(log, 1)
