"""T07, how turns end: what is not covered closer to its room. See KNOWN_FAILURES.md for where each id is."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

from relevo import ContextFull, Empty, Ended, LimitReached, Refused, UnsupportedStop, tool
from relevo.events import SessionIdle, ToolStarted
from relevo.simulator import Reply, call, refuse, say, think
from relevo.simulator.request import Request
from relevo.stops import STOP_REASONS

from .stage import Stage


def test_b068_every_stop_reason_of_the_sdk_has_a_meaning() -> None:
    from anthropic.types import StopReason
    from anthropic.types.beta import BetaStopReason

    assert set(get_args(BetaStopReason)) | set(get_args(StopReason)) <= set(STOP_REASONS)


async def test_b068_a_stop_reason_that_nobody_knows_is_never_success(any_stage: Stage) -> None:
    charged: list[int] = []

    @tool
    async def charge() -> str:
        charged.append(1)
        return "charged"

    strange = (say("half ") + call("charge")).but(stop_reason="brand_new_reason")
    await any_stage.plays([strange, say("ok")])
    session = await any_stage.begin(any_stage.agent(charge))
    outcome = await session.run("Go.")

    assert outcome == UnsupportedStop(stop_reason="brand_new_reason", text="half ")
    assert charged == []
    assert await session.run("And now?") == Ended(text="ok")


async def test_b068_after_a_full_window_the_session_can_still_be_spoken_to(any_stage: Stage) -> None:
    await any_stage.plays([say("half", stop_reason="model_context_window_exceeded"), say("ok")])
    session = await any_stage.begin(any_stage.agent())

    assert await session.run("Go.") == ContextFull(text="half")
    assert await session.run("Shorter.") == Ended(text="ok")


async def test_b069_of_a_refusal_nothing_is_run_and_no_call_is_left_open(any_stage: Stage) -> None:
    charged: list[int] = []

    @tool
    async def charge() -> str:
        charged.append(1)
        return "charged"

    refused = (say("I will") + call("charge")) + refuse("bio", "Not that.")
    await any_stage.plays([refused, say("ok")])
    session = await any_stage.begin(any_stage.agent(charge))

    assert await session.run("Go.") == Refused(category="bio", explanation="Not that.")
    assert charged == []
    assert await any_stage.bodies(ToolStarted) == []
    assert (await any_stage.state()).open == {}
    assert await session.run("Else?") == Ended(text="ok")


SILENT: dict[str, Reply] = {
    "nothing": Reply(stop_reason="end_turn"),
    "blank": say(" \n").but(whole=True),
    "only thinking": think("hm").but(stop_reason="end_turn"),
}


@pytest.mark.parametrize("what", SILENT)
async def test_b072_an_empty_end_is_asked_once_more_and_then_typed(any_stage: Stage, what: str) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "seen"

    await any_stage.plays([say("checking...") + call("look"), SILENT[what], SILENT[what]])
    outcome = await any_stage.run(any_stage.agent(look))

    assert outcome == Empty(text="")
    last = any_stage.sent[-1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user", "user"]
    assert "empty" in last[-1]["content"][0]["text"]


@pytest.mark.parametrize("what", SILENT)
async def test_b072_an_answer_after_the_question_counts(any_stage: Stage, what: str) -> None:
    await any_stage.plays([SILENT[what], say("Sorry, here.")])

    assert await any_stage.run(any_stage.agent()) == Ended(text="Sorry, here.")


CAPS: list[tuple[dict[str, Any], str, int]] = [
    ({"turns": 3}, "turns", 3),
    ({"turns": 0}, "turns", 0),
    ({"tool_calls": 2}, "tool_calls", 3),
    ({"tool_calls": 0}, "tool_calls", 1),
    ({"repeats": 2}, "repeats", 2),
    ({"tokens": 1}, "tokens", 1),
    ({"cost_usd": __import__("decimal").Decimal("0.000001")}, "cost", 1),
]


@pytest.mark.parametrize(("limits", "limit", "requests"), CAPS, ids=repr)
async def test_b073_a_cap_makes_exactly_so_many_requests_and_leaves_nothing_open(
    any_stage: Stage, limits: dict[str, Any], limit: str, requests: int
) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "the same"

    await any_stage.plays(lambda _: say("again ") + call("look"))
    outcome = await any_stage.run(any_stage.agent(look, limits=limits))

    assert isinstance(outcome, LimitReached)
    assert outcome.limit == limit
    assert len(any_stage.sent) == requests
    assert (await any_stage.state()).open == {}


async def test_b073_pauses_without_end_are_capped(stage: Stage) -> None:
    search = {"type": "server_tool_use", "name": "web_search", "input": {"query": "x"}}

    def brain(request: Request) -> Reply:
        return Reply((search,), stop_reason="pause_turn")

    await stage.plays(brain)
    outcome = await stage.run(stage.agent(limits={"pauses": 3}))

    assert isinstance(outcome, LimitReached)
    assert outcome.limit == "pauses"
    assert len(stage.sent) == 4


async def test_b075_who_follows_a_session_gets_every_event_and_the_end_last(disk_stage: Stage) -> None:
    @tool(effect="read")
    async def look(n: int) -> str:
        return str(n)

    await disk_stage.plays(lambda request: call("look", {"n": len(request.results)}))
    session = await disk_stage.begin(disk_stage.agent(look, limits={"turns": 3}))
    seen: list[Any] = []

    async def follow() -> None:
        async for event in session.follow():
            seen.append(event)
            if isinstance(event.body, SessionIdle):
                return

    following = asyncio.create_task(follow())
    outcome = await session.run("Go.")
    await asyncio.wait_for(following, 10)

    assert isinstance(outcome, LimitReached)
    assert seen == await disk_stage.events()
    assert seen[-1].body.stop_reason["type"] == "limit_reached"


async def test_a_stop_sequence_is_told_apart_from_an_end(any_stage: Stage) -> None:
    await any_stage.plays([say("one STOP two")])
    outcome = await any_stage.run(any_stage.agent(stop_sequences=["STOP"]))

    assert outcome == Ended(text="one ", stop_sequence="STOP")
