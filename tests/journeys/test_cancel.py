"""
Whoever drives a session may stop at any await. The log then still keeps the laws, and a later wake finishes.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relevo import Ended, MovableClock, Session, tool
from relevo.events import ModelAnswered, ModelFailed, RequestStarted, ToolEnded, ToolStarted
from relevo.simulator import call, say
from relevo.simulator.request import Request

from .desks import Desks, S, go
from .stage import Stage
from .workers.desk import agent as desk_agent


def ours() -> set[asyncio.Task[Any]]:
    """Tasks that are not the simulator's; it serves in this loop too."""
    servers = ("RequestHandler", "_accept_connection")
    return {task for task in asyncio.all_tasks() if not any(name in str(task.get_coro()) for name in servers)}


async def until(done: Callable[[], bool]) -> None:
    """Let the others run until it is so."""
    while not done():
        await asyncio.sleep(0.001)


async def stopped(session: Session, message: str, when: Callable[[], bool]) -> None:
    """Drive a session, cancel at that moment, and see that nothing of it is left running."""
    before = ours()
    driving = asyncio.create_task(session.run(message))
    await until(when)
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    assert ours() == before


async def test_a_cancel_while_the_model_answers_leaves_a_session_that_goes_on(any_stage: Stage) -> None:
    asked: list[int] = []

    async def brain(request: Request) -> str:
        asked.append(request.number)
        if len(asked) == 1:
            await asyncio.Event().wait()
        return "Here."

    await any_stage.plays(brain)
    session = await any_stage.begin(agent := any_stage.agent())
    await stopped(session, "Hello?", lambda: bool(asked))

    assert await any_stage.bodies(ModelFailed) == [], "a cancel is not a failure and is never retried (B060)"
    assert await any_stage.harness(agent).wake(session.id) == Ended(text="Here.")
    assert len(await any_stage.bodies(RequestStarted)) == 2
    assert len(await any_stage.bodies(ModelAnswered)) == 1


@pytest.mark.parametrize("effect", ["read", "idempotent", "irreversible"])
@pytest.mark.parametrize("sync", [False, True])
async def test_a_cancel_inside_a_tool_is_a_crash_as_far_as_its_effect_goes(
    stage: Stage, effect: Any, sync: bool
) -> None:
    began: list[int] = []
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def hold() -> str:
        began.append(1)
        if len(began) == 1:
            await leave.wait()
        return "held"

    def hold_in_thread() -> str:
        return asyncio.run_coroutine_threadsafe(hold(), loop).result(20)

    tools = tool(hold_in_thread if sync else hold, name="hold", effect=effect)
    await stage.plays([call("hold"), say("ok")])
    session = await stage.begin(agent := stage.agent(tools))
    driving = asyncio.create_task(session.run("Go."))
    await until(lambda: bool(began))
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    leave.set()

    assert await stage.bodies(ToolEnded) == []
    assert await stage.harness(agent).wake(session.id) == Ended(text="ok")
    assert len(began) == (1 if effect == "irreversible" else 2)
    (ended,) = await stage.bodies(ToolEnded)
    assert ended.is_error is (effect == "irreversible")


async def test_a_cancel_during_backoff_is_heard_at_once(stage: Stage) -> None:
    clock = MovableClock()
    stage.clock = clock
    await stage.plays([say("ok")], faults="http:status=429,retry_after=60@1")
    session = await stage.begin(agent := stage.agent())
    await stopped(session, "Go.", lambda: bool(clock.slept))

    clock.advance(61)
    assert await stage.harness(agent).wake(session.id) == Ended(text="ok")


async def test_a_cancel_of_parallel_tools_stops_them_all_and_keeps_what_had_ended(stage: Stage) -> None:
    stopped_tools: list[int] = []
    waiting: list[int] = []

    @tool(effect="read")
    async def look(n: int) -> str:
        if n == 0:
            return "quick"
        waiting.append(n)
        if len(waiting) > 2:
            return "slow"
        try:
            await asyncio.Event().wait()
        finally:
            stopped_tools.append(n)
        return "never"

    await stage.plays([call("look", {"n": 0}) + call("look", {"n": 1}) + call("look", {"n": 2}), say("ok")])
    session = await stage.begin(agent := stage.agent(look))
    driving = asyncio.create_task(session.run("Go."))
    while not await stage.bodies(ToolEnded):
        await asyncio.sleep(0.001)
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving

    assert sorted(stopped_tools) == [1, 2]
    assert await stage.harness(agent).wake(session.id) == Ended(text="ok")
    assert [result["content"] for result in stage.results()] == ["quick", "slow", "slow"]
    starts = [body.input["n"] for body in await stage.bodies(ToolStarted)]
    assert sorted(starts) == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_b164_a_cancel_at_every_turn_of_the_loop_leaves_a_session_that_goes_on(
    stage: Stage, disk_stage: Stage, path: Path, kind: str
) -> None:
    here = stage if kind == "memory" else disk_stage
    await here.plays(go("lookup", "charge"))
    ledger = path.with_name("ledger")
    agent = desk_agent(ledger, "irreversible")
    desks = Desks(path, here.sim.base_url, "irreversible")
    before = ours()
    finished = 0
    turn = 0
    while finished < 3:
        session = await here.begin(agent)
        await session.say("Go.")
        driving = asyncio.create_task(session.run())
        for _ in range(turn):
            await asyncio.sleep(0)
        turn += 1 + turn // 12
        driving.cancel()
        (result,) = await asyncio.gather(driving, return_exceptions=True)
        finished = finished + 1 if isinstance(result, Ended) else 0
        assert ours() == before

        outcome = await here.harness(agent).wake(session.id)

        assert isinstance(outcome, Ended)
        assert "lookup: customer 7" in outcome.text
        assert len(desks.noted("charge")) <= 1
        assert len(desks.noted("charge")) == 1 or "unknown" in outcome.text
        ledger.write_text("")
        assert turn < 4000


async def test_b164_a_timeout_around_a_run_is_a_cancel_like_any_other(stage: Stage) -> None:
    asked: list[int] = []

    async def brain(_: Request) -> str:
        asked.append(1)
        if len(asked) == 1:
            await asyncio.Event().wait()
        return "Here."

    await stage.plays(brain)
    session = await stage.begin(stage.agent())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await session.run("Hello?")
    assert await session.run() == Ended(text="Here.")


async def test_b155_a_tool_that_raises_cancelled_error_itself_is_an_error_result(stage: Stage) -> None:
    @tool
    async def quits() -> str:
        raise asyncio.CancelledError

    await stage.plays([call("quits"), say("ok")])

    assert await stage.run(stage.agent(quits)) == Ended(text="ok")
    assert stage.results()[0]["is_error"] is True


async def test_b049_a_watcher_that_raises_changes_nothing(any_stage: Stage) -> None:
    seen: list[str] = []

    def watch(event: Any) -> None:
        seen.append(event["type"])
        raise RuntimeError("no screen")

    await any_stage.plays([say("ok")])
    session = await any_stage.begin(any_stage.agent())

    assert await session.run("Go.", watch=watch) == Ended(text="ok")
    assert seen == ["message_start"]


@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["tool", "model"])
async def test_ctrl_c_leaves_nothing_broken(disk_stage: Stage, path: Path, where: str) -> None:
    asked = asyncio.Event()
    desk = go("lookup", "charge")

    async def brain(request: Request) -> Any:
        first = not asked.is_set()
        asked.set()
        if first and where == "model":
            await asyncio.Event().wait()
        return desk(request)

    await disk_stage.plays(brain)
    desks = Desks(path, disk_stage.sim.base_url, "irreversible")
    process = await desks.process("start", *(["sleeps"] if where == "tool" else []))
    assert process.stdout is not None
    if where == "tool":
        assert await process.stdout.readline() == b"charging\n"
    else:
        async with asyncio.timeout(30):
            await asked.wait()
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(20):
        _, said = await process.communicate()

    assert process.returncode in (-signal.SIGINT, 130), said.decode()
    assert b"KeyboardInterrupt" in said
    assert b"never awaited" not in said
    assert b"was destroyed" not in said
    outcome = await disk_stage.harness(desk_agent(desks.ledger, desks.kind)).wake(S)
    assert isinstance(outcome, Ended)
    assert ("unknown" in outcome.text) is (where == "tool")
    assert len(desks.noted("charge")) == 1
