"""
The reproduced defects of the tutorial, sections 1, 2 and 10, as what our loop does instead.

Section 3 (and the rows of 2, 9 and 13 that need a business) are in tests/support_desk/test_tutorial_defects.py.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from relevo import Ended, LimitReached, Truncated, tool
from relevo.events import LoopNudged
from relevo.simulator import Reply, call, redacted, say, think

from .stage import Stage, texts_sent


async def test_1_2_a_cut_turn_leaves_no_dangling_call_and_loses_no_work(any_stage: Stage) -> None:
    done: list[int] = []

    @tool
    async def work(n: int) -> str:
        done.append(n)
        return f"did {n}"

    cut = (say("next ") + call("work", {"n": 2})).but(whole=True, stop_reason="max_tokens")
    await any_stage.plays([call("work", {"n": 1}), cut, cut, cut, cut, say("ok")])
    session = await any_stage.begin(any_stage.agent(work))

    assert isinstance(await session.run("Go."), Truncated)
    assert await session.run("Go on.") == Ended(text="ok")
    assert done == [1]


async def test_1_4_a_result_that_is_no_json_is_an_error_result_and_the_loop_lives(any_stage: Stage) -> None:
    cyclic: dict[str, Any] = {}
    cyclic["self"] = cyclic
    values = iter([2**4000, cyclic, object()])

    @tool
    async def give() -> Any:
        return next(values)

    await any_stage.plays([call("give") + call("give") + call("give"), say("ok")])

    assert await any_stage.run(any_stage.agent(give)) == Ended(text="ok")
    assert [result.get("is_error", False) for result in any_stage.results()] == [False, True, True]


@pytest.mark.parametrize(("value", "shown"), [("texto", "texto"), (None, "(no output)"), ("", "(no output)")])
async def test_1_5_texts_are_not_quoted_twice_and_nothing_is_something(
    any_stage: Stage, value: Any, shown: str
) -> None:
    @tool
    async def give() -> Any:
        return value

    await any_stage.plays([call("give"), say("ok")])
    await any_stage.run(any_stage.agent(give))

    assert any_stage.results()[0]["content"] == shown


async def test_1_6_all_text_of_the_last_answer_is_returned_also_after_thinking(any_stage: Stage) -> None:
    await any_stage.plays([think("hm") + say("One, ") + redacted() + say("two, ") + say("three.")])

    assert await any_stage.run(any_stage.agent()) == Ended(text="One, two, three.")


async def test_1_7_a_turn_has_a_time_limit_that_ends_it_typed(any_stage: Stage) -> None:
    @tool(effect="read", timeout_seconds=None)
    async def look(n: int) -> str:
        await any_stage.clock.sleep(40)
        return str(n)

    await any_stage.plays(lambda request: call("look", {"n": len(request.results)}))
    outcome = await any_stage.run(any_stage.agent(look, limits={"seconds": 100}))

    assert isinstance(outcome, LimitReached)
    assert outcome.limit == "seconds"
    assert len(any_stage.sent) == 3


async def test_1_8_a_cut_answer_is_never_simply_asked_again(any_stage: Stage) -> None:
    cut = say("half ").but(whole=True, stop_reason="max_tokens")
    await any_stage.plays([cut, cut, cut, cut])
    await any_stage.run(any_stage.agent())

    asked = [(body["max_tokens"], len(body["messages"])) for body in any_stage.sent]
    assert len(set(asked)) == len(asked), "every request differs from the one before"
    assert len(await any_stage.bodies(LoopNudged)) == 1


async def test_1_12_the_text_of_an_exception_reaches_neither_model_nor_log(any_stage: Stage) -> None:
    @tool
    async def connect() -> str:
        raise RuntimeError("postgres://admin:hunter2@db/prod")

    await any_stage.plays([call("connect"), say("ok")])
    await any_stage.run(any_stage.agent(connect))

    assert "hunter2" not in texts_sent(any_stage.sent[-1])
    assert "hunter2" not in str(await any_stage.events())


@pytest.mark.parametrize("name", ["constructor", "toString", "__class__", "__init__", "hasOwnProperty", "validate"])
async def test_2_3_a_name_that_every_object_has_is_no_tool(any_stage: Stage, name: str) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "seen"

    await any_stage.plays([call(name, {"a": 1}), say("ok")])
    await any_stage.run(any_stage.agent(look))

    (result,) = any_stage.results()
    assert result["is_error"] is True
    assert "look" in result["content"], "2.5: the error lists what there is"


async def test_2_2_reads_run_together_and_effects_one_by_one_in_the_models_order(any_stage: Stage) -> None:
    running: set[str] = set()
    story: list[str] = []
    both = asyncio.Barrier(2)

    @tool(effect="read")
    async def look(n: int) -> str:
        async with asyncio.timeout(20):
            await both.wait()
        story.append("look")
        return "seen"

    @tool
    async def refund(n: int) -> str:
        assert not running
        running.add("refund")
        for _ in range(5):
            await asyncio.sleep(0)
        running.clear()
        story.append(f"refund {n}")
        return "paid"

    asked = call("look", {"n": 1}) + call("look", {"n": 2}) + call("refund", {"n": 1}) + call("refund", {"n": 2})
    await any_stage.plays([asked, say("ok")])

    assert await any_stage.run(any_stage.agent(look, refund)) == Ended(text="ok")
    assert story == ["look", "look", "refund 1", "refund 2"]


async def test_10_1_a_turn_that_ends_exactly_at_the_cap_has_ended(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look(n: int) -> str:
        return str(n)

    await any_stage.plays([call("look", {"n": 1}), call("look", {"n": 2}), say("Done in three.")])

    assert await any_stage.run(any_stage.agent(look, limits={"turns": 3})) == Ended(text="Done in three.")


async def test_10_1_a_turn_that_the_cap_stops_has_a_result_and_no_unanswered_call(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look(n: int) -> str:
        return str(n)

    await any_stage.plays(lambda request: say("so far ") + call("look", {"n": request.turn}))
    outcome = await any_stage.run(any_stage.agent(look, limits={"turns": 3}))

    assert outcome == LimitReached(limit="turns", text="so far ")
    assert (await any_stage.state()).open == {}


async def test_10_3_a_tool_that_throws_leaves_no_dangling_call(any_stage: Stage) -> None:
    @tool
    async def throws() -> str:
        raise ValueError

    @tool
    async def exits() -> str:
        raise SystemExit(1)

    await any_stage.plays([call("throws") + call("exits"), say("ok")])

    assert await any_stage.run(any_stage.agent(throws, exits)) == Ended(text="ok")
    assert [result["is_error"] for result in any_stage.results()] == [True, True]


async def test_1_14_what_an_answer_says_never_decides_whether_it_is_over(any_stage: Stage) -> None:
    done: list[int] = []

    @tool
    async def work() -> str:
        done.append(1)
        return "did it"

    await any_stage.plays([Reply() + say("I am done. FINAL ANSWER. stop_reason: end_turn") + call("work"), say("ok")])

    assert await any_stage.run(any_stage.agent(work)) == Ended(text="ok")
    assert done == [1]
