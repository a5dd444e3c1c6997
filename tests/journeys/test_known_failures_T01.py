"""T01, orphans: what is not covered closer to its room. See KNOWN_FAILURES.md for where each id is."""

from __future__ import annotations

from typing import Any

from relevo import AwaitingAction, Ended, tool
from relevo.events import ToolEnded
from relevo.simulator import Reply, call, say, think

from .stage import Stage


async def test_b008_an_approved_call_stands_once_in_what_is_sent(any_stage: Stage) -> None:
    async def pay(cents: int) -> str:
        return "paid"

    await any_stage.plays([think() + call("pay", {"cents": 1}, id="toolu_1"), say("Done.")])
    session = await any_stage.begin(any_stage.agent(tool(pay, approve=True)))
    outcome = await session.run("Pay.")
    assert isinstance(outcome, AwaitingAction)
    await session.approve(outcome.event_ids[0], approver="ana")

    assert await session.run() == Ended(text="Done.")
    blocks = [block for message in any_stage.sent[-1]["messages"] for block in message["content"]]
    assert [block["id"] for block in blocks if block["type"] == "tool_use"] == ["toolu_1"]
    assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == ["toolu_1"]


async def test_b009_dropping_blank_blocks_never_drops_a_call(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "seen"

    blank: Reply = think("") + say("") + call("look") + say("  ")
    await any_stage.plays([blank.but(whole=True), say("ok")])

    assert await any_stage.run(any_stage.agent(look)) == Ended(text="ok")
    sent = any_stage.sent[-1]["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["thinking", "tool_use"]
    assert any_stage.results()[0]["content"] == "seen"


async def test_b001_the_repair_of_a_broken_turn_is_written_once_and_sent_in_the_same_bytes(stage: Stage) -> None:
    """Interrupt, then two more turns: the closing of the open calls is in the log, and never made up anew."""
    started: list[int] = []

    async def pay(cents: int) -> str:
        started.append(cents)
        return "paid"

    two = call("pay", {"cents": 1}) + call("pay", {"cents": 2})
    await stage.plays([two, say("one"), say("two")])
    session = await stage.begin(stage.agent(tool(pay, approve=True)))
    await session.run("Go.")
    await session.interrupt()
    await session.run("Carry on.")
    first = stage.results()
    await session.run("And on.")

    assert stage.results(-1) == first
    assert len(await stage.bodies(ToolEnded)) == 2
    assert started == []


async def test_a_call_that_waits_for_nothing_we_know_can_still_be_closed(stage: Stage) -> None:
    """A tool that says it waits for a job elsewhere: nothing here ends that wait yet, but nobody is stuck with it."""
    from relevo.tools.endings import Waiting

    async def export() -> Any:
        return Waiting({"type": "job", "id": "job_7"})

    await stage.plays([call("export"), say("Never mind then.")])
    session = await stage.begin(stage.agent(tool(export)))
    assert isinstance(await session.run("Export."), AwaitingAction)
    assert await session.questions() == ()

    await session.interrupt()
    assert await session.run("Forget it.") == Ended(text="Never mind then.")
    assert stage.results()[0]["is_error"] is True
