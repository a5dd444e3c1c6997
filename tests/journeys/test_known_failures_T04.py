"""T04, cut and broken inputs, as they really stream. See KNOWN_FAILURES.md for where each id is."""

from __future__ import annotations

from typing import Any

import pytest

from relevo import AwaitingAction, Ended, ToolContext, tool
from relevo.events import ModelAnswered, ModelFailed
from relevo.simulator import call, say

from .stage import Stage
from .streams import call_of


def looker() -> tuple[Any, list[Any]]:
    """A tool with one required argument, and what it was asked."""
    looked: list[Any] = []

    async def look(q: str) -> str:
        looked.append(q)
        return f"found {q}"

    return tool(look, effect="read"), looked


@pytest.mark.parametrize("raw", ["[]", "null", "1", '"s"', "true", "3.5"])
async def test_b033_an_input_that_is_no_object_is_answered_and_never_run(any_stage: Stage, raw: str) -> None:
    look, looked = looker()
    await any_stage.plays([call_of([raw]), say("ok")])

    assert await any_stage.run(any_stage.agent(look)) == Ended(text="ok")
    assert looked == []
    (result,) = any_stage.results()
    assert result["is_error"] is True
    assert "object" in result["content"]


async def test_b032_an_input_that_never_came_is_judged_as_an_empty_one(any_stage: Stage) -> None:
    look, looked = looker()
    seen: list[Any] = []

    def rule(arguments: Any, context: ToolContext) -> bool:
        seen.append(dict(arguments))
        return True

    async def pay(cents: int = 100) -> str:
        return "paid"

    await any_stage.plays([call_of([]), call_of([""], name="pay"), say("ok")])
    session = await any_stage.begin(any_stage.agent(look, tool(pay, approve=rule)))
    outcome = await session.run("Go.")

    assert isinstance(outcome, AwaitingAction), "approval sees the parsed value and never fails open"
    assert seen[-1] == {"cents": 100}
    assert looked == []
    assert "q" in any_stage.results()[0]["content"]
    await session.deny(outcome.event_ids[0], approver="ana")
    assert await session.run() == Ended(text="ok")


async def test_b035_an_input_that_is_streamed_twice_is_a_broken_stream_and_asked_again(any_stage: Stage) -> None:
    look, looked = looker()
    await any_stage.plays([call_of(['{"q":', '"x"}', '{"q":"x"}']), call("look", {"q": "x"}), say("ok")])
    outcome = await any_stage.run(any_stage.agent(look))

    assert outcome == Ended(text="ok")
    assert looked in (["x"], []), "never with a doubled input"
    failed = await any_stage.bodies(ModelFailed)
    answered = await any_stage.bodies(ModelAnswered)
    assert failed or answered[0].malformed == [0]


BROKEN = '{"q":"x","ids":[4556]</parameter>'


async def test_b036_a_malformed_input_is_kept_raw_answered_and_sent_again_as_an_object(any_stage: Stage) -> None:
    look, looked = looker()
    await any_stage.plays([call_of([BROKEN[:9], BROKEN[9:]]), call("look", {"q": "x"}), say("ok")])

    assert await any_stage.run(any_stage.agent(look)) == Ended(text="ok")
    assert looked == ["x"]
    sent = any_stage.sent[1]["messages"]
    assert isinstance(sent[1]["content"][0]["input"], dict)
    assert sent[2]["content"][0]["is_error"] is True
    assert BROKEN in str((await any_stage.bodies(ModelAnswered))[0].message)


async def test_b041_a_call_in_a_turn_that_says_it_is_over_is_answered(any_stage: Stage) -> None:
    look, looked = looker()
    await any_stage.plays([call("look", {"q": "x"}).but(stop_reason="end_turn"), say("ok")])

    assert await any_stage.run(any_stage.agent(look)) == Ended(text="ok")
    assert looked == []
    assert any_stage.results()[0]["is_error"] is True


async def test_b042_keys_that_look_like_a_wrapped_call_reach_the_tool_as_they_are(any_stage: Stage) -> None:
    got: list[Any] = []

    @tool
    async def relay(
        id: int,  # noqa: A002  what the model sends
        function: str,
        arguments: dict[str, Any],
    ) -> str:
        got.append((id, function, arguments))
        return "relayed"

    given = {"id": 7, "function": "sum", "arguments": {}}
    await any_stage.plays([call("relay", given), say("ok")])

    assert await any_stage.run(any_stage.agent(relay)) == Ended(text="ok")
    assert got == [(7, "sum", {})]


@pytest.mark.parametrize("pieces", [['{"q":"half '], ['{"q":"whole"}'], ['{"q":"x","body":"half']])
async def test_b044_a_call_at_the_limit_counts_as_cut_even_if_it_parses(any_stage: Stage, pieces: list[str]) -> None:
    look, looked = looker()
    await any_stage.plays([call_of(pieces, stop="max_tokens"), call("look", {"q": "again"}), say("ok")])

    assert await any_stage.run(any_stage.agent(look)) == Ended(text="ok")
    assert looked == ["again"]
    assert any_stage.sent[1]["max_tokens"] > any_stage.sent[0]["max_tokens"]
    word = "whole" if "whole" in pieces[0] else "half"
    assert word in str((await any_stage.bodies(ModelAnswered))[0].message), "the partial is kept to look at"


async def test_b040_a_giant_input_runs_and_is_not_sent_back_whole(stage: Stage) -> None:
    written: list[int] = []

    @tool
    async def write(code: str) -> str:
        written.append(len(code))
        return "written"

    await stage.plays([call("write", {"code": "x" * 2_000_000}).but(whole=True), say("ok")])

    assert await stage.run(stage.agent(write)) == Ended(text="ok")
    assert written == [2_000_000]
    assert len(str(stage.sent[-1])) < 10_000
    (answered, _) = await stage.bodies(ModelAnswered)
    assert len(answered.message["content"][0]["input"]["code"]) == 2_000_000
