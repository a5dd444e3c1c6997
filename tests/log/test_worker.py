from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from relevo.errors import LogClosed
from relevo.log.worker import Stop, Worker
from tests.contracts.log_contract import turns


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    worker = Worker("test")
    yield worker
    await worker.close()


async def test_jobs_run_one_after_the_other_in_a_thread_of_their_own(worker: Worker) -> None:
    names = await asyncio.gather(*(worker.run(lambda _: threading.current_thread().name) for _ in range(5)))

    assert set(names) == {"relevo-test_0"}


async def test_an_error_of_the_job_is_the_callers(worker: Worker) -> None:
    def job(_: Stop) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await worker.run(job)


async def test_a_cancel_reaches_the_job_and_returns_when_it_is_over(worker: Worker) -> None:
    ended: list[bool] = []

    def job(stop: Stop) -> str:
        ended.append(stop.wait(30))
        return "nobody takes this"

    discarded: list[str] = []
    running = asyncio.create_task(worker.run(job, discard=discarded.append))
    await turns()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert ended == [True]
    assert discarded == ["nobody takes this"]


async def test_a_cancel_that_finds_the_job_failing_discards_nothing(worker: Worker) -> None:
    def job(stop: Stop) -> str:
        stop.wait(30)
        raise KeyError("seen by nobody")

    discarded: list[str] = []
    running = asyncio.create_task(worker.run(job, discard=discarded.append))
    await turns()
    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled()
    assert discarded == []


async def test_closing_waits_for_the_jobs_at_hand(worker: Worker) -> None:
    go = threading.Event()
    running = asyncio.create_task(worker.run(lambda _: go.wait(30)))
    await turns()
    closing = asyncio.create_task(worker.close())
    await turns()
    assert not closing.done()

    go.set()
    await closing

    assert await running
    with pytest.raises(LogClosed):
        await worker.run(lambda _: None)
    with pytest.raises(LogClosed):
        worker.submit(lambda _: None)
