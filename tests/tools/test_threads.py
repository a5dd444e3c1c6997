from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import relevo.tools
from relevo.errors import ToolError
from relevo.tools.threads import Threads

WORD = contextvars.ContextVar("WORD", default="")


class Gate:
    """A call that stays in its thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()
        self.left = threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        self.leave.wait(20)
        return "left"


async def entered(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.entered.wait, 20)


async def stick(threads: Threads) -> Gate:
    """Leave one thread stuck."""
    gate = Gate()
    task = asyncio.create_task(threads.run(gate, on_late=lambda _: gate.left.set()))
    await entered(gate)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return gate


async def test_what_a_call_returns_or_raises_comes_back() -> None:
    threads = Threads()

    assert await threads.run(lambda: threading.current_thread().name) == "relevo-tool"
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)


async def test_a_thread_is_used_again() -> None:
    threads = Threads()

    assert await threads.run(threading.get_ident) == await threads.run(threading.get_ident)


async def test_b152_context_variables_are_seen_and_do_not_leak() -> None:
    threads = Threads()
    WORD.set("outer")

    def call() -> Any:
        seen = WORD.get()
        WORD.set("inner")
        return seen

    assert await threads.run(call) == "outer"
    assert await threads.run(call) == "outer"
    assert WORD.get() == "outer"


async def test_b146_calls_run_side_by_side_and_the_loop_is_free() -> None:
    threads = Threads()
    both = threading.Barrier(2, timeout=20)

    await asyncio.gather(threads.run(both.wait), threads.run(both.wait))


async def test_no_more_than_the_limit_run_at_once_and_the_rest_follow() -> None:
    threads = Threads(limit=2)
    gates = [Gate() for _ in range(4)]
    tasks = [asyncio.create_task(threads.run(gate)) for gate in gates]
    await entered(gates[0])
    await entered(gates[1])

    assert not gates[2].entered.is_set()
    gates[0].leave.set()
    await entered(gates[2])
    assert not gates[3].entered.is_set()
    for gate in gates:
        gate.leave.set()
    assert await asyncio.gather(*tasks) == ["left"] * 4


async def test_b147_a_stuck_thread_delays_nobody_and_is_counted() -> None:
    threads = Threads(limit=1)
    gate = await stick(threads)

    assert threads.stuck == 1
    assert await threads.run(lambda: "next") == "next"
    gate.leave.set()
    assert await asyncio.to_thread(gate.left.wait, 20)


async def test_b147_who_waited_for_a_thread_that_gets_stuck_gets_another() -> None:
    threads = Threads(limit=1)
    gate = Gate()
    first = asyncio.create_task(threads.run(gate))
    await entered(gate)
    second = asyncio.create_task(threads.run(lambda: "second"))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == "second"
    gate.leave.set()


async def test_b147_too_many_stuck_threads_are_refused_and_a_freed_one_counts_no_more() -> None:
    threads = Threads(limit=1, stuck_limit=2)
    gates = [await stick(threads), await stick(threads)]

    with pytest.raises(ToolError) as caught:
        await threads.run(lambda: None)
    assert (caught.value.category, caught.value.retryable, caught.value.outcome) == ("transient", True, "not_executed")
    for gate in gates:
        gate.leave.set()
        await asyncio.to_thread(gate.left.wait, 20)
    while threads.stuck:  # the thread tells that it is late a moment before it is counted off
        await asyncio.sleep(0)
    assert await threads.run(lambda: "free") == "free"


async def test_a_call_given_up_before_it_began_never_runs() -> None:
    threads = Threads(limit=1)
    gate = Gate()
    first = asyncio.create_task(threads.run(gate))
    await entered(gate)
    ran: list[int] = []
    second = asyncio.create_task(threads.run(lambda: ran.append(1)))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.leave.set()
    await first
    await threads.run(lambda: None)

    assert ran == []
    assert threads.stuck == 0


def test_a_call_that_ends_after_its_loop_is_closed_is_no_crash() -> None:
    threads = Threads(limit=1)
    gate = Gate()

    async def leave_it() -> None:
        pending.append(asyncio.create_task(threads.run(gate)))
        await entered(gate)

    pending: list[Any] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave_it())
    loop.close()
    gate.leave.set()
    assert asyncio.run(threads.run(lambda: "again")) == "again"
    pending[0]._log_destroy_pending = False
    pending[0].get_coro().close()


def test_b147_a_stuck_thread_does_not_keep_the_process() -> None:
    script = """
import asyncio, threading
from relevo.clock import RealClock
from relevo.tools import tool, ToolContext
from relevo.tools.pipeline import run
@tool(timeout_seconds=0.05)
def stuck(): threading.Event().wait()
print(asyncio.run(run(stuck, {}, ToolContext(session_id="s", call_id="c"), RealClock())).outcome)
"""
    source = str(Path(relevo.tools.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": source},
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert done.stdout.strip() == "unknown"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_with_threads_of_its_own() -> None:
    script = """
import asyncio, os
from relevo.tools.threads import Threads
threads = Threads(limit=1)
asyncio.run(threads.run(lambda: None))
child = os.fork()
if child == 0:
    os._exit(asyncio.run(threads.run(lambda: 7)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    source = str(Path(relevo.tools.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={"PYTHONPATH": source},
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert done.stdout.strip() == "7"
