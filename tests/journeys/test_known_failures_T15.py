"""T15, cancels and exceptions: what the rooms do not cover. See KNOWN_FAILURES.md."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from relevo import Agent, DirectModel, Ended, Hook, MemoryLog, Outcome, run, tool
from relevo.errors import LogClosed, LogUnavailable
from relevo.events import Body, ToolEnded
from relevo.simulator import Simulator, call, say

from .stage import MODEL, Stage


class FullLog(MemoryLog):
    """A log whose disk is full when somebody wants to keep one kind of event, as often as `times` says."""

    def __init__(self, kind: type[Any], times: int) -> None:
        super().__init__()
        self.kind = kind
        self.times = times

    async def append(self, session_id: str, bodies: Sequence[Body], **options: Any) -> int:
        if self.times and any(isinstance(body, self.kind) for body in bodies):
            self.times -= 1
            raise LogUnavailable("the disk is full")
        return await super().append(session_id, bodies, **options)


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "seen"


async def test_b167_a_hook_that_raises_stops_its_call_and_nothing_else(stage: Stage) -> None:
    asked: list[str] = []

    def rule(asked_call: Any, _: Any) -> None:
        asked.append(asked_call.name)
        if len(asked) == 1:
            raise KeyError("a bug in a rule")

    await stage.plays([call("look"), call("look"), say("ok")])
    outcome = await stage.run(stage.agent(look, hooks=[Hook(name="rule", before=rule)]))

    assert outcome == Ended(text="ok")
    assert [body.is_error for body in await stage.bodies(ToolEnded)] == [True, False]
    assert "a bug in a rule" not in str(stage.sent)


async def test_b168_a_log_that_fails_in_the_middle_is_told_to_the_caller_and_the_session_goes_on() -> None:
    stage = Stage(log=FullLog(ToolEnded, times=1))
    await stage.plays([call("look"), say("ok")])
    session = await stage.begin(agent := stage.agent(look))

    with pytest.raises(LogUnavailable, match="disk is full"):
        await session.run("Go.")
    assert [task for task in asyncio.all_tasks() if "attempt" in str(task.get_coro())] == []
    assert await stage.harness(agent).wake(session.id) == Ended(text="ok")
    await stage.close()


async def test_b168_who_follows_a_log_that_is_closed_is_not_left_waiting(stage: Stage) -> None:
    await stage.plays([])
    session = await stage.begin(stage.agent())
    seen: list[int] = []

    async def follow() -> None:
        async for event in session.follow():
            seen.append(event.position)  # noqa: PERF401  the test looks at it meanwhile

    following = asyncio.create_task(follow())
    while not seen:
        await asyncio.sleep(0)
    await stage.log.close()
    await asyncio.wait_for(following, 10)

    assert seen == [1]
    with pytest.raises(LogClosed):
        await session.events()
    stage.log = MemoryLog()


def test_b172_the_door_for_scripts_may_be_used_again_and_from_any_thread(tmp_path: Path) -> None:
    started, stop = threading.Event(), threading.Event()
    address: list[str] = []

    async def serve() -> None:
        async with Simulator(lambda _: "Hello.") as sim:
            address.append(sim.base_url)
            started.set()
            await asyncio.get_running_loop().run_in_executor(None, stop.wait)

    server = threading.Thread(target=lambda: asyncio.run(serve()))
    server.start()
    assert started.wait(20)

    def ask() -> Outcome:
        return run(
            Agent(name="clerk", model=MODEL),
            "Hello?",
            log=tmp_path / "sessions.db",
            model=DirectModel(base_url=address[0], api_key="k"),
        )

    said: list[Outcome] = []
    try:
        said += [ask(), ask()]
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.close()
        said.append(ask())
        worker = threading.Thread(target=lambda: said.append(ask()))
        worker.start()
        worker.join(20)
    finally:
        asyncio.set_event_loop(None)
        stop.set()
        server.join(20)

    assert said == [Ended(text="Hello.")] * 4
