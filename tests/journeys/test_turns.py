"""Turns of one session in one program."""

from __future__ import annotations

import asyncio

import pytest

from relevo import Agent, DirectModel, Effect, Ended, Harness, MemoryLog, tool
from relevo.simulator import Rules, Script, Simulator, call, raw, say

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
AGENT = Agent(name="a", model="claude-opus-5-5")


async def test_two_runs_in_one_program_take_turns() -> None:
    async with Simulator(Rules([lambda request: f"heard {request.last_user_text}"])) as sim:
        model = DirectModel(api_key="any", base_url=sim.base_url)
        async with Harness(MemoryLog(), agents=[AGENT], model=model) as harness:
            session = await harness.start("a")
            outcomes = await asyncio.gather(session.run("one"), session.run("two"), session.run("three"))
            events = await session.events()

        assert sim.violations == []
    assert {outcome.type for outcome in outcomes} == {"end_turn"}
    assert [event.kind for event in events].count("user.message") == 3
    assert outcomes[-1].text.startswith("heard ")


@pytest.mark.parametrize(("effect", "alone"), [("read", True), ("idempotent", False), ("irreversible", False)])
async def test_a_cancelled_run_lets_go_unless_an_effect_may_go_on(effect: Effect, alone: bool) -> None:
    begun = asyncio.Event()

    @tool(effect=effect)
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    agent = Agent(name="b", model="claude-opus-5-5", tools=[wait])
    log = MemoryLog()
    async with Simulator(Script([call("wait")])) as sim:
        model = DirectModel(api_key="any", base_url=sim.base_url)
        async with Harness(log, agents=[agent], model=model) as harness:
            session = await harness.start(agent)
            running = asyncio.create_task(session.run("Go."))
            await begun.wait()
            running.cancel()
            await asyncio.wait([running])
            lease = await log.claim(session.id)

    assert running.cancelled()
    assert lease.alone is alone


async def test_what_was_said_before_a_pause_is_part_of_the_answer() -> None:
    script = Script([say("First half. ") + raw(SEARCH, stop_reason="pause_turn"), raw(FOUND) + say("Second half.")])
    async with Simulator(script) as sim:
        model = DirectModel(api_key="any", base_url=sim.base_url)
        async with Harness(MemoryLog(), agents=[AGENT], model=model) as harness:
            outcome = await harness.run("a", "search")

        assert sim.violations == []
    assert outcome == Ended(text="First half. Second half.")


async def test_a_call_for_a_tool_where_there_are_none_is_told_in_words() -> None:
    script = Script([say("Let me see. ") + call("look", {"a": 1}), "I cannot look.", "Still here."])
    async with Simulator(script) as sim:
        model = DirectModel(api_key="any", base_url=sim.base_url)
        async with Harness(MemoryLog(), agents=[AGENT], model=model) as harness:
            session = await harness.start("a")
            first = await session.run("look")
            second = await session.run("and now?")

        assert sim.violations == []
    assert (first.text, second.text) == ("I cannot look.", "Still here.")
