"""
Where sync tools run: a pool of our own, because a thread cannot be killed.

A call that is given up leaves its thread behind, running. The pool counts such stuck threads, takes others on in
their place so that nobody waits for them, refuses new calls when there are too many, and never keeps the process
from exiting. What a stuck thread still does to the world cannot be stopped: give sync tools time limits of their
own (a socket timeout, a statement timeout), or make them async.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from relevo.errors import ToolError

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Job:
    call: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    on_late: Callable[[Any], object]
    state: Literal["queued", "running", "stuck", "done"] = "queued"
    context: contextvars.Context = field(default_factory=contextvars.copy_context)


class Threads:
    """At most `limit` threads that work, and at most `stuck_limit` that were given up and still run."""

    def __init__(self, *, limit: int = 32, stuck_limit: int = 64) -> None:
        self._limit = limit
        self._stuck_limit = stuck_limit
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Start empty; a forked child has none of its parent's threads."""
        self._changed = threading.Condition()
        """Protects all that follows; held for moments, never while a call runs."""
        self._queue: deque[_Job] = deque()
        self._idle = 0
        self._working = 0
        self.stuck = 0
        """Threads that were given up and still run."""

    async def run(self, call: Callable[[], T], *, on_late: Callable[[T], object] = lambda _: None) -> T:
        """
        Run `call` in a thread, with a copy of the context variables.

        When this is cancelled, the thread is left alone; `on_late` is called there with what it returned, should it
        ever end.

        Raises:
            ToolError: too many threads are stuck; nothing was run.
        """
        loop = asyncio.get_running_loop()
        job = _Job(call, loop, loop.create_future(), on_late)
        with self._changed:
            if self.stuck >= self._stuck_limit:
                raise ToolError(
                    f"{self.stuck} earlier calls never came back; no more are started in this process.",
                    category="transient",
                    code="threads_stuck",
                    retryable=True,
                    outcome="not_executed",
                )
            self._queue.append(job)
            self._staff()
        try:
            result: T = await job.future
        except asyncio.CancelledError:
            self._give_up(job)
            raise
        return result

    def _staff(self) -> None:
        """Wake a thread for the newest job, or start one if there is room."""
        if self._idle >= len(self._queue):
            self._changed.notify()
        elif self._working + self._idle < self._limit:
            self._idle += 1
            threading.Thread(target=self._serve, name="relevo-tool", daemon=True).start()

    def _give_up(self, job: _Job) -> None:
        with self._changed:
            if job.state == "queued":
                self._queue.remove(job)
            elif job.state == "running":
                job.state = "stuck"
                self.stuck += 1
                self._working -= 1
                if self._queue:
                    self._staff()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                job = self._queue.popleft()
                job.state = "running"
                self._idle -= 1
                self._working += 1
            if not self._work(job):
                return
            del job  # an idle thread must not keep the last call's arguments alive

    def _work(self, job: _Job) -> bool:
        """Make the call and tell who waits for it. False: this thread was stuck, is replaced, and should end."""
        result: Any = None
        error: BaseException | None = None
        try:
            result = job.context.run(job.call)
        except BaseException as raised:  # noqa: BLE001  it belongs to whoever waits for the future
            error = raised
        with self._changed:
            late = job.state == "stuck"
            if not late:
                # Before the loop hears of it: a cancel that comes now must not count the thread as stuck, and the
                # next call should find it idle.
                job.state = "done"
                self._working -= 1
                self._idle += 1
        if late:
            if error is None:
                job.on_late(result)
            return self._comes_back()

        def tell() -> None:
            if not job.future.done():
                if error is None:
                    job.future.set_result(result)
                else:
                    job.future.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            job.loop.call_soon_threadsafe(tell)
        return True

    def _comes_back(self) -> bool:
        """Whether there is still room for a thread that was stuck."""
        with self._changed:
            self.stuck -= 1
            if self._working + self._idle >= self._limit:
                return False
            self._idle += 1
            return True
