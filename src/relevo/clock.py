"""
Time as an argument: a real clock, and one that tests move.

Durations are seconds. `now` is for people and records; every wait and deadline uses `monotonic`, which no
change of the wall clock can bend.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Alarm(Protocol):
    """A call that will be made unless cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What anything that waits is given."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 or less gives way once and returns."""
        ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[None]:
        """Cancel the block after `seconds` and raise TimeoutError; None is no limit."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        async with asyncio.timeout(seconds):
            yield


class MovableClock:
    """
    A clock that stands still until `advance` is called.

    With `jump=True` a sleep moves the clock itself and returns at once, which is what a test of back-off wants.
    """

    def __init__(self, start: datetime = datetime(2026, 12, 1, tzinfo=UTC), *, jump: bool = False) -> None:
        self._start = start
        self._elapsed = 0.0
        self._jump = jump
        self._alarms: list[tuple[float, int, Callable[[], object]]] = []
        self._pending: set[int] = set()
        self._numbers = itertools.count()
        self.slept: list[float] = []
        """Every wait asked for, in order, in seconds."""

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`, 0 or more, and ring every alarm that falls due, in order."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds!r} seconds")
        until = self._elapsed + seconds
        while self._alarms and self._alarms[0][0] <= until:
            when, number, ring = heapq.heappop(self._alarms)
            if number in self._pending:
                self._pending.discard(number)
                self._elapsed = max(self._elapsed, when)
                ring()
        self._elapsed = until

    def call_later(self, seconds: float, ring: Callable[[], object]) -> Alarm:
        """Call `ring` when the clock has moved on by `seconds`."""
        number = next(self._numbers)
        heapq.heappush(self._alarms, (self._elapsed + seconds, number, ring))
        self._pending.add(number)
        return _Alarm(self._pending, number)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if seconds <= 0 or self._jump:
            self.advance(max(0.0, seconds))
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        alarm = self.call_later(seconds, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            alarm.cancel()

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        if seconds is None or seconds <= 0:
            async with asyncio.timeout(seconds):  # never, or due already: there is nothing to wait for
                yield
            return
        # The loop's own timeout tells our cancel from anybody else's; we only decide when it rings.
        async with asyncio.timeout(None) as scope:
            loop = asyncio.get_running_loop()
            alarm = self.call_later(seconds, lambda: scope.reschedule(loop.time()))
            try:
                yield
            finally:
                alarm.cancel()


class _Alarm:
    def __init__(self, pending: set[int], number: int) -> None:
        self._pending = pending
        self._number = number

    def cancel(self) -> None:
        self._pending.discard(self._number)
