"""Time that tests move behaves as time does. Both clocks pass the same tests wherever nothing has to be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.clock import Clock, MovableClock, RealClock

Timeout = Callable[[float | None], AbstractAsyncContextManager[object]]


async def turns(number: int = 5) -> None:
    """Let the loop go round."""
    for _ in range(number):
        await asyncio.sleep(0)


async def ends(wait: Awaitable[object]) -> str:
    """How a wait ended."""
    try:
        await wait
    except TimeoutError:
        return "timeout"
    except asyncio.CancelledError:
        return "cancelled"
    except ValueError:
        return "error"
    return "done"


class TestMoving:
    @given(st.lists(st.floats(0, 1e6)))
    def test_now_and_monotonic_move_together(self, steps: list[float]) -> None:
        clock = MovableClock()
        start = clock.now()
        for step in steps:
            before = clock.monotonic()
            clock.advance(step)

            assert clock.monotonic() == before + step
            assert clock.now() == start + timedelta(seconds=clock.monotonic())

    def test_B268_it_does_not_go_back(self) -> None:
        clock = MovableClock()

        with pytest.raises(ValueError):
            clock.advance(-1)

        assert clock.monotonic() == 0

    @given(st.lists(st.floats(0, 100)), st.floats(0, 100))
    def test_alarms_ring_in_order_at_their_time_and_none_before_it(self, delays: list[float], until: float) -> None:
        clock = MovableClock()
        rung: list[tuple[float, int, float]] = []
        for number, delay in enumerate(delays):
            clock.call_later(delay, lambda d=delay, n=number: rung.append((d, n, clock.monotonic())))  # type: ignore[misc]

        clock.advance(until)

        due = sorted((delay, number, delay) for number, delay in enumerate(delays) if delay <= until)
        assert rung == due
        assert clock.monotonic() == until

    @given(st.lists(st.tuples(st.floats(0, 100), st.booleans())))
    def test_a_cancelled_alarm_does_not_ring_and_nothing_is_kept(self, alarms: list[tuple[float, bool]]) -> None:
        clock = MovableClock()
        rung: list[int] = []
        set_ = [clock.call_later(delay, lambda n=n: rung.append(n)) for n, (delay, _) in enumerate(alarms)]  # type: ignore[misc]
        for alarm, (_, cancelled) in zip(set_, alarms, strict=True):
            if cancelled:
                alarm.cancel()

        clock.advance(100)
        for alarm in set_:
            alarm.cancel()

        assert sorted(rung) == [number for number, (_, cancelled) in enumerate(alarms) if not cancelled]
        assert not clock._alarms
        assert not clock._pending

    def test_an_alarm_may_set_another_that_rings_in_the_same_move(self) -> None:
        clock, rung = MovableClock(), list[float]()
        clock.call_later(1, lambda: clock.call_later(1, lambda: rung.append(clock.monotonic())))

        clock.advance(5)

        assert rung == [2]

    def test_time_is_aware_and_in_utc(self) -> None:
        for clock in (MovableClock(), RealClock()):
            assert clock.now().tzinfo is UTC
        assert MovableClock(datetime(2027, 1, 1, tzinfo=UTC)).now().year == 2027


class TestSleeping:
    async def test_a_sleep_ends_when_the_clock_has_moved_far_enough(self) -> None:
        clock = MovableClock()
        sleep = asyncio.ensure_future(clock.sleep(10))
        await turns()

        clock.advance(9.9)
        await turns()
        assert not sleep.done()
        clock.advance(0.1)
        await sleep

        assert clock.slept == [10]

    async def test_a_cancelled_sleep_leaves_no_alarm(self) -> None:
        clock = MovableClock()
        sleep = asyncio.ensure_future(clock.sleep(10))
        await turns()

        sleep.cancel()

        assert await ends(sleep) == "cancelled"
        assert not clock._pending

    async def test_a_jumping_clock_moves_itself(self) -> None:
        clock = MovableClock(jump=True)

        await clock.sleep(3600)

        assert clock.monotonic() == 3600

    @pytest.mark.parametrize("clock", [MovableClock(), MovableClock(jump=True), RealClock()])
    @pytest.mark.parametrize("seconds", [0, -1, -0.5])
    async def test_no_time_is_no_wait_but_gives_way(self, clock: Clock, seconds: float) -> None:
        others: list[int] = []
        asyncio.get_running_loop().call_soon(others.append, 1)

        await clock.sleep(seconds)

        assert others == [1]


def moved() -> Timeout:
    """Our time limit, on a clock that somebody moves a second at a time."""

    @asynccontextmanager
    async def timeout(seconds: float | None) -> AsyncIterator[object]:
        clock = MovableClock()

        async def move() -> None:
            while True:
                await asyncio.sleep(0)
                clock.advance(1)

        mover = asyncio.ensure_future(move())
        try:
            async with clock.timeout(seconds):
                yield None
        finally:
            mover.cancel()

    return timeout


def shortened(seconds: float | None) -> AbstractAsyncContextManager[object]:
    """asyncio's own time limit, with seconds so short that the test does not wait."""
    return asyncio.timeout(None if seconds is None else seconds / 1000)


@pytest.mark.parametrize("timeout", [moved(), shortened, RealClock().timeout], ids=["ours", "asyncio", "real"])
class TestTimeLimits:
    """The same tests for asyncio's own time limit and ours: they mean the same."""

    @staticmethod
    async def _never() -> None:
        await asyncio.get_running_loop().create_future()

    @pytest.mark.parametrize("seconds", [0, -1, 0.01])
    async def test_what_takes_too_long_is_a_TimeoutError(self, timeout: Timeout, seconds: float) -> None:
        async def limited() -> None:
            async with timeout(seconds):
                await self._never()

        assert await ends(limited()) == "timeout"

    async def test_what_is_done_in_time_is_done(self, timeout: Timeout) -> None:
        async def limited() -> None:
            async with timeout(1000):
                await turns(3)

        assert await ends(limited()) == "done"

    async def test_no_limit_is_none(self, timeout: Timeout) -> None:
        async def limited() -> None:
            async with timeout(None):
                await turns(50)

        assert await ends(limited()) == "done"

    @pytest.mark.parametrize("seconds", [None, 10_000])
    async def test_B164_a_cancel_from_outside_stays_a_cancel(self, timeout: Timeout, seconds: float | None) -> None:
        async def limited() -> None:
            async with timeout(seconds):
                await self._never()

        task = asyncio.ensure_future(limited())
        await turns(3)
        task.cancel()

        assert await ends(task) == "cancelled"
        assert task.cancelled()

    async def test_an_error_inside_stays_itself(self, timeout: Timeout) -> None:
        async def limited() -> None:
            async with timeout(1000):
                raise ValueError

        assert await ends(limited()) == "error"

    async def test_the_task_goes_on_uncancelled_after_its_limit(self, timeout: Timeout) -> None:
        async def limited() -> int:
            with pytest.raises(TimeoutError):
                async with timeout(0.01):
                    await self._never()
            await turns(3)
            task = asyncio.current_task()
            assert task is not None
            return task.cancelling()

        assert await limited() == 0

    async def test_limits_within_limits_end_the_right_block(self, timeout: Timeout) -> None:
        async def limited() -> str:
            async with timeout(1000):
                try:
                    async with timeout(0.01):
                        await self._never()
                except TimeoutError:
                    return "inner"
            return "none"

        assert await limited() == "inner"


async def test_a_sleep_past_the_limit_on_a_jumping_clock_is_a_TimeoutError() -> None:
    clock = MovableClock(jump=True)

    with pytest.raises(TimeoutError):
        async with clock.timeout(5):
            await clock.sleep(10)


async def test_a_limit_that_was_kept_leaves_no_alarm() -> None:
    clock = MovableClock()

    async with clock.timeout(5):
        pass
    clock.advance(10)

    assert not clock._pending
