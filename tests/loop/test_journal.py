"""The journal keeps fold and projection in step with the log, whoever else writes."""

from __future__ import annotations

import asyncio

import pytest

from relevo.clock import MovableClock
from relevo.errors import LeaseLost, SessionNotFound
from relevo.events import RequestStarted, SessionCreated, SessionRunning, UserMessage
from relevo.log.memory import MemoryLog
from relevo.loop.journal import Journal
from tests.worlds import MODEL, SESSION, project, state_of

CREATED = SessionCreated(agent={"name": "helper", "model": MODEL})


def said(words: str) -> UserMessage:
    return UserMessage(content=[{"type": "text", "text": words}])


async def begun(log: MemoryLog, clock: MovableClock) -> Journal:
    await log.append(SESSION, [CREATED], expected=0, at=clock.now())
    return await Journal.open(log, SESSION, clock)


async def test_what_is_appended_is_folded_and_projected() -> None:
    log, clock = MemoryLog(), MovableClock()
    journal = await begun(log, clock)

    await journal.append(said("one"), SessionRunning(epoch=1))
    await journal.append(RequestStarted(model=MODEL, max_tokens=9))

    events = await log.read(SESSION)
    assert journal.state == state_of(events)
    assert journal.projection.messages == project(events).messages
    assert [event.position for event in events] == [1, 2, 3, 4]


async def test_when_somebody_spoke_first_it_reads_that_and_writes_after_it() -> None:
    log, clock = MemoryLog(), MovableClock()
    journal = await begun(log, clock)
    await log.append(SESSION, [said("first")], expected=1, at=clock.now())

    await journal.append(SessionRunning(epoch=1))

    events = await log.read(SESSION)
    assert [event.kind for event in events[1:]] == ["user.message", "session.status_running"]
    assert journal.state == state_of(events)


async def test_appends_of_tasks_side_by_side_keep_the_log_gapless() -> None:
    log, clock = MemoryLog(), MovableClock()
    journal = await begun(log, clock)

    await asyncio.gather(*(journal.append(said(str(number))) for number in range(20)))

    events = await log.read(SESSION)
    assert [event.position for event in events] == list(range(1, 22))
    assert journal.state == state_of(events)


async def test_who_lost_the_lease_writes_nothing_more() -> None:
    log, clock = MemoryLog(), MovableClock()
    old = await begun(log, clock)
    new = await Journal.open(log, SESSION, clock)

    with pytest.raises(LeaseLost):
        await old.append(SessionRunning(epoch=1))

    await new.append(SessionRunning(epoch=2))
    assert len(await log.read(SESSION)) == 2


async def test_a_session_that_nobody_began_cannot_be_opened() -> None:
    with pytest.raises(SessionNotFound):
        await Journal.open(MemoryLog(), SESSION, MovableClock())


async def test_every_event_of_one_append_has_the_same_time_and_the_logs_own() -> None:
    log, clock = MemoryLog(), MovableClock()
    journal = await begun(log, clock)
    clock.advance(5)

    await journal.append(SessionRunning(epoch=1), said("x"))

    assert {event.at for event in (await log.read(SESSION))[1:]} == {clock.now()}
