"""
The fourteen behaviours in which agent loops on Claude were measured, all of them ours.

Each is played against the strict simulator over both transports; the stage asserts that no rule was broken.
"""

from __future__ import annotations

import asyncio
from typing import Any

from relevo import ContextFull, Ended, LimitReached, Refused, Truncated, tool
from relevo.events import LoopNudged, ModelAnswered, ModelFailed, RequestStarted, ToolStarted, UserMessage
from relevo.simulator import Reply, call, raw, refuse, say, think
from relevo.simulator.request import Request

from .stage import Stage, texts_sent

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "news"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def wiper() -> tuple[Any, list[str]]:
    """A tool that must never see anything but a whole path, and what it saw."""
    wiped: list[str] = []

    @tool
    async def wipe(path: str = "/") -> str:
        wiped.append(path)
        return "wiped"

    return wipe, wiped


async def test_three_reads_of_one_answer_begin_together(any_stage: Stage) -> None:
    everybody = asyncio.Barrier(3)
    began: list[float] = []

    @tool(effect="read")
    async def look(place: str) -> str:
        began.append(any_stage.clock.monotonic())
        async with asyncio.timeout(20):
            await everybody.wait()  # opens only when all three are here
        return f"seen {place}"

    await any_stage.plays([think() + call("look", {"place": "a"}) + call("look", {"place": "b"}) + call("look", {"place": "c"}), say("ok")])  # fmt: skip
    outcome = await any_stage.run(any_stage.agent(look))

    assert outcome == Ended(text="ok")
    assert max(began) - min(began) == 0
    assert [result["content"] for result in any_stage.results()] == ["seen a", "seen b", "seen c"]


async def test_a_paused_turn_goes_on(any_stage: Stage) -> None:
    """Text alone may only stand last where the model takes a prefill; newer models pause on a server tool (below)."""
    await any_stage.plays([say("Let me see ", stop_reason="pause_turn"), say("it is 3.")])
    outcome = await any_stage.run(any_stage.agent(model="claude-haiku-4-5"))

    assert isinstance(outcome, Ended)
    assert outcome.text.endswith("it is 3.")
    user, paused = any_stage.sent[1]["messages"]
    assert user["role"] == "user"
    assert [block["text"] for block in paused["content"]] == ["Let me see"]  # never white space at the very end


async def test_a_paused_turn_with_an_open_server_tool_goes_on(any_stage: Stage) -> None:
    paused = think() + raw(SEARCH, stop_reason="pause_turn")
    await any_stage.plays([paused, raw(FOUND) + say("Nothing new.")])
    outcome = await any_stage.run(any_stage.agent())

    assert outcome == Ended(text="Nothing new.")
    kinds = [block["type"] for block in any_stage.sent[1]["messages"][-1]["content"]]
    assert kinds == ["thinking", "server_tool_use"]


async def test_a_whole_call_in_a_cut_turn_is_never_run(any_stage: Stage) -> None:
    wipe, wiped = wiper()
    cut = (say("Now ") + call("wipe", {"path": "/tmp/old"})).but(stop_reason="max_tokens", whole=True)
    await any_stage.plays([cut, say("I left it alone.")])
    outcome = await any_stage.run(any_stage.agent(wipe))

    assert outcome == Ended(text="I left it alone.")
    assert wiped == []
    assert any_stage.sent[1]["max_tokens"] == 2 * any_stage.sent[0]["max_tokens"]
    assert any_stage.sent[1]["messages"] == any_stage.sent[0]["messages"]


async def test_a_cut_call_is_never_run_and_a_larger_limit_gets_it_whole(any_stage: Stage) -> None:
    wipe, wiped = wiper()
    path = "/tmp/" + "deep/" * 40

    def brain(request: Request) -> Reply:
        return say("Done.") if request.new_results else think() + call("wipe", {"path": path})

    await any_stage.plays(brain)
    outcome = await any_stage.run(any_stage.agent(wipe, max_tokens=16))

    assert outcome == Ended(text="Done.")
    assert wiped == [path]
    limits = [body["max_tokens"] for body in any_stage.sent]
    assert len(limits) > 2
    assert limits[:-1] == [16 * 2**power for power in range(len(limits) - 1)]


async def test_a_call_that_stays_cut_ends_typed_and_unrun(any_stage: Stage) -> None:
    wipe, wiped = wiper()
    await any_stage.plays(lambda _: call("wipe", {"path": "/tmp/" + "deep/" * 4000}))
    outcome = await any_stage.run(any_stage.agent(wipe, max_tokens=16))

    assert outcome == Truncated(text="")
    assert wiped == []
    assert await any_stage.bodies(ToolStarted) == []


async def test_cut_text_grows_then_continues_then_ends_typed(any_stage: Stage) -> None:
    whole = {"whole": True, "stop_reason": "max_tokens"}
    pieces = [say(text).but(**whole) for text in ("a", "ab", "abc ", "def")]
    await any_stage.plays(pieces)
    outcome = await any_stage.run(any_stage.agent())

    assert outcome == Truncated(text="abc def")
    assert [body["max_tokens"] for body in any_stage.sent] == [32_000, 64_000, 128_000, 128_000]
    assert [len(body["messages"]) for body in any_stage.sent] == [1, 1, 1, 3]
    assert len(await any_stage.bodies(LoopNudged)) == 1


async def test_cut_text_that_is_continued_is_one_answer(any_stage: Stage) -> None:
    await any_stage.plays([say("One, two, ").but(whole=True, stop_reason="max_tokens"), say("three.")])
    outcome = await any_stage.run(any_stage.agent(max_tokens=128_000))

    assert outcome == Ended(text="One, two, three.")


async def test_a_full_window_is_a_typed_end_and_not_an_answer(any_stage: Stage) -> None:
    await any_stage.plays([say("As far as I", stop_reason="model_context_window_exceeded")])
    outcome = await any_stage.run(any_stage.agent())

    assert outcome == ContextFull(text="As far as I")


async def test_a_refusal_is_a_typed_end_and_the_session_goes_on(any_stage: Stage) -> None:
    await any_stage.plays([refuse("cyber", "No."), say("Gladly.")])
    session = await any_stage.begin(any_stage.agent())

    assert await session.run("Hack.") == Refused(category="cyber", explanation="No.")
    assert await session.run("Then bake.") == Ended(text="Gladly.")
    assert {message["role"] for message in any_stage.sent[1]["messages"]} == {"user"}


async def test_a_tool_that_raises_is_an_error_result(any_stage: Stage) -> None:
    @tool
    async def charge() -> str:
        raise RuntimeError("password=hunter2")

    await any_stage.plays([call("charge"), say("It failed.")])
    outcome = await any_stage.run(any_stage.agent(charge))

    assert outcome == Ended(text="It failed.")
    (result,) = any_stage.results()
    assert result["is_error"] is True
    assert "RuntimeError" in result["content"]
    assert "hunter2" not in texts_sent(any_stage.sent[-1])


async def test_one_of_three_raises_and_its_siblings_are_kept(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look(place: str) -> str:
        if place == "b":
            raise KeyError(place)
        return f"seen {place}"

    three = call("look", {"place": "a"}) + call("look", {"place": "b"}) + call("look", {"place": "c"})
    await any_stage.plays([three, say("Two of three.")])
    outcome = await any_stage.run(any_stage.agent(look))

    assert outcome == Ended(text="Two of three.")
    results = any_stage.results()
    assert [result.get("is_error", False) for result in results] == [False, True, False]
    assert [results[0]["content"], results[2]["content"]] == ["seen a", "seen c"]
    assert [result["tool_use_id"] for result in results] == [
        block["id"] for block in any_stage.sent[-1]["messages"][1]["content"]
    ]


async def test_b157_an_unknown_tool_is_answered_with_the_known_ones(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "seen"

    await any_stage.plays([call("foobar", {"x": 1}) + call("look"), say("ok")])
    outcome = await any_stage.run(any_stage.agent(look))

    assert outcome == Ended(text="ok")
    unknown, known = any_stage.results()
    assert unknown["is_error"] is True
    assert "look" in unknown["content"]
    assert known["content"] == "seen"


async def test_a_wrong_argument_is_never_run_and_named(any_stage: Stage) -> None:
    charged: list[float] = []

    @tool
    async def charge(amount: float) -> str:
        charged.append(amount)
        return "charged"

    await any_stage.plays([call("charge", {"amount": "not-a-number"}), say("Sorry.")])
    outcome = await any_stage.run(any_stage.agent(charge))

    assert outcome == Ended(text="Sorry.")
    assert charged == []
    (result,) = any_stage.results()
    assert result["is_error"] is True
    assert "amount" in result["content"]


async def test_three_overloads_are_ridden_out(any_stage: Stage) -> None:
    await any_stage.plays([say("Here.")], faults="529@1+2+3")
    outcome = await any_stage.run(any_stage.agent())

    assert outcome == Ended(text="Here.")
    assert [body.attempt for body in await any_stage.bodies(RequestStarted)] == [1, 2, 3, 4]
    assert [failed["status"] for failed in await any_stage.failures()] == [529] * 3
    assert all(body.retry_in_seconds is not None for body in await any_stage.bodies(ModelFailed))
    assert len(await any_stage.bodies(UserMessage)) == 1


async def test_a_cap_is_a_typed_end_and_the_session_goes_on(any_stage: Stage) -> None:
    looked: list[int] = []

    @tool(effect="read")
    async def look(n: int) -> str:
        looked.append(n)
        return str(n)

    steps = [say(f"Looking {n}. ") + call("look", {"n": n}) for n in range(3)]
    await any_stage.plays([*steps, say("Fine.")])
    session = await any_stage.begin(any_stage.agent(look, limits={"turns": 3}))

    assert await session.run("Go.") == LimitReached(limit="turns", text="Looking 2. ")
    assert looked == [0, 1]
    assert len(await any_stage.bodies(ModelAnswered)) == 3
    assert (await any_stage.state()).open == {}

    assert await session.run("Enough?") == Ended(text="Fine.")
    assert any_stage.results()[0]["is_error"] is True
