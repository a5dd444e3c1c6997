"""
T08, thinking: on a model that binds every thinking block to the bytes before it, so one changed byte is a refusal.

See KNOWN_FAILURES.md for where each id is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relevo import AwaitingAction, Ended, InvalidAgent, SqliteLog, tool
from relevo.events import ModelAnswered, SessionUpdated
from relevo.simulator import Reply, call, redacted, say, think

from .desks import Desks, S, go
from .stage import Stage
from .streams import block, end, start, stream
from .workers.desk import agent as desk_agent


@tool(effect="read")
async def look(n: int = 0) -> str:
    return f"seen {n}"


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5"])
async def test_b076_b081_b083_a_turn_goes_back_byte_for_byte_over_many_rounds(any_stage: Stage, model: str) -> None:
    deep = think("A") + say("first ") + think("B") + redacted() + call("look", {"n": 1}) + say("") + call("look")
    rounds: list[Any] = [deep, think("C") + call("look", {"n": 2}), think("D") + say("done"), say("bye")]
    await any_stage.plays([step.but(whole=True) if isinstance(step, Reply) else step for step in rounds])
    session = await any_stage.begin(any_stage.agent(look, model=model))

    assert await session.run("Go.") == Ended(text="done")
    assert await session.run("Bye.") == Ended(text="bye")
    answered = [body.message["content"] for body in await any_stage.bodies(ModelAnswered)]
    sent = [message["content"] for message in any_stage.sent[-1]["messages"] if message["role"] == "assistant"]
    for was, goes in zip(answered, sent, strict=False):
        kept = [each for each in was if each.get("text") != ""]
        assert [_plain(each) for each in goes] == [_plain(each) for each in kept]


def _plain(each: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in each.items() if key != "cache_control"}


async def test_b082_a_signature_is_joined_with_its_text(any_stage: Stage) -> None:
    opening = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [
        {"type": "thinking_delta", "thinking": "one "},
        {"type": "thinking_delta", "thinking": "two"},
        {"type": "signature_delta", "signature": "sig=="},
    ]
    text = block(1, {"type": "text", "text": ""}, [{"type": "text_delta", "text": "ok"}])
    await any_stage.plays([stream(start(), *block(0, opening, deltas), *text, *end("end_turn"))])
    await any_stage.run(any_stage.agent())

    (answered,) = await any_stage.bodies(ModelAnswered)
    thinking = answered.message["content"][0]
    assert (thinking["thinking"], thinking["signature"]) == ("one two", "sig==")


async def test_b087_thinking_and_its_calls_survive_a_restart_as_one(path: Path) -> None:
    """The first harness is closed with an approval open; another program, another log object, goes on."""
    from relevo import MovableClock

    async def pay() -> str:
        return "paid"

    pay_tool = tool(pay, approve=True)
    first = Stage(log=SqliteLog(path))
    sim = await first.plays([think("A") + say("Paying.") + call("pay"), think("B") + say("done")])
    agent = first.agent(pay_tool)
    async with first.harness(agent) as harness:
        session = await harness.start(agent)
        outcome = await session.run("Go.")
        assert isinstance(outcome, AwaitingAction)

    second = Stage(log=SqliteLog(path), clock=MovableClock(jump=True))
    second.sim = sim
    await second.harness(agent).session(session.id).approve(outcome.event_ids[0], approver="ana")
    assert await second.harness(agent).wake(session.id) == Ended(text="done")
    assert [each["type"] for each in sim.requests[-1].body["messages"][1]["content"]] == [
        "thinking",
        "text",
        "tool_use",
    ]
    await second.close()


@pytest.mark.crash
async def test_b087_thinking_survives_the_death_of_its_process(disk_stage: Stage, path: Path) -> None:
    await disk_stage.plays(go("lookup", "charge"))
    desks = Desks(path, disk_stage.sim.base_url, "irreversible")
    await desks.desk("start", "after")
    await disk_stage.harness(desk_agent(desks.ledger, desks.kind)).wake(S)

    kinds = [each["type"] for each in disk_stage.sent[-1]["messages"][1]["content"]]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]


async def test_b088_a_change_of_model_drops_whole_thinking_blocks_and_keeps_the_pairs(any_stage: Stage) -> None:
    any_stage.forgets = True
    await any_stage.plays([think("A") + call("look"), think("B") + say("one"), think("C") + say("two")])
    session = await any_stage.begin(any_stage.agent(look))
    await session.run("Go.")

    harness = any_stage.harness(other := any_stage.agent(look, model="claude-haiku-5-5"))
    await harness.session(session.id).update(other)
    assert await harness.session(session.id).run("Go on.") == Ended(text="two")

    kinds = [each["type"] for message in any_stage.sent[-1]["messages"] for each in message["content"]]
    assert kinds == ["text", "tool_use", "tool_result", "text", "text"]
    assert len(await any_stage.bodies(SessionUpdated)) == 1


async def test_b088_the_model_is_not_changed_in_the_middle_of_a_turn(any_stage: Stage) -> None:
    async def pay() -> str:
        return "paid"

    pay_tool = tool(pay, approve=True)
    await any_stage.plays([think("A") + call("pay"), say("ok")])
    session = await any_stage.begin(any_stage.agent(pay_tool))
    outcome = await session.run("Go.")
    assert isinstance(outcome, AwaitingAction)

    with pytest.raises(InvalidAgent, match="middle"):
        await session.update(any_stage.agent(pay_tool, model="claude-haiku-5-5"))
    await session.deny(outcome.event_ids[0], approver="ana")
    assert await session.run() == Ended(text="ok")


async def test_b088_resuming_with_thinking_off_sends_what_the_model_takes(any_stage: Stage) -> None:
    any_stage.forgets = True
    await any_stage.plays([think("A") + call("look"), think("B") + say("one"), say("two")])
    session = await any_stage.begin(any_stage.agent(look, model="claude-haiku-5-5"))
    await session.run("Go.")

    off = any_stage.agent(look, model="claude-haiku-5-5", thinking={"type": "disabled"})
    harness = any_stage.harness(off)
    await harness.session(session.id).update(off)

    assert await harness.session(session.id).run("Go on.") == Ended(text="two")
    assert any_stage.sent[-1]["thinking"] == {"type": "disabled"}
