"""
A thread for what may wait: a lock, a disk, a long read.

Whoever is cancelled while waiting for it gets the cancel only when the job is over, so that nothing happens behind
the back of a call that has returned; jobs see `stop` and give up early.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from relevo.errors import LogClosed

T = TypeVar("T")

Stop = threading.Event
"""Set when nobody waits for the job's result any more."""


class Worker:
    """One thread, started when first needed; its jobs run one after the other."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"relevo-{name}")
        self._closed = False

    def submit(self, job: Callable[[Stop], T]) -> Future[T]:
        """Run a job that nobody waits for. Raises LogClosed."""
        return self._submit(job, Stop())

    async def run(self, job: Callable[[Stop], T], *, discard: Callable[[T], object] | None = None) -> T:
        """
        Run a job and wait until it is over, also when cancelled: then `discard` is given what nobody will take.

        Raises:
            LogClosed: after `close`.
        """
        stop = Stop()
        running = asyncio.wrap_future(self._submit(job, stop))
        cancelled: asyncio.CancelledError | None = None
        while not running.done():
            try:
                # Unlike `await running`, this does not cancel the future, which would lose sight of the thread.
                await asyncio.wait([running])
            except asyncio.CancelledError as error:
                stop.set()
                cancelled = error
        if cancelled is not None:
            if running.exception() is None and discard is not None:
                discard(running.result())
            raise cancelled
        return running.result()

    async def close(self) -> None:
        """Wait for the jobs at hand, then end the thread."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown)

    def _submit(self, job: Callable[[Stop], T], stop: Stop) -> Future[T]:
        if self._closed:
            raise LogClosed("the log was closed meanwhile")
        return self._executor.submit(job, stop)
