"""Tools, hooks and models that say what their types forbid: an answer for the model, and never a session that is stuck."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from relevo import AwaitingAction, Done, Ended, ToolContext, ToolError, tool
from relevo.simulator import call, say
from relevo.tools.endings import Failed, Returned, Waiting

from .stage import Stage
from .streams import call_of, text_of
from .test_known_failures_T02 import png

ERRORS: dict[str, dict[str, Any]] = {
    "code is an object": {"code": object()},
    "code is a number": {"code": 7},
    "retryable is an object": {"retryable": object()},
    "partial is an object": {"partial": object()},
    "partial is nan": {"partial": float("nan")},
    "surrogates": {"code": "\ud83d", "partial": {"\ud83d": "\ud83d"}},
}


@pytest.mark.parametrize("effect", ["read", "irreversible"])
@pytest.mark.parametrize("what", ERRORS)
async def test_an_error_of_a_tool_with_odd_fields_is_a_result(disk_stage: Stage, what: str, effect: Any) -> None:
    async def fails() -> str:
        raise ToolError("it \ud83d broke", **ERRORS[what])

    await disk_stage.plays([call("fails"), say("ok")])

    assert await disk_stage.run(disk_stage.agent(tool(fails, effect=effect))) == Ended(text="ok")
    assert disk_stage.results()[0]["is_error"] is True


ENDINGS: dict[str, Any] = {
    "content is a number": Returned(5),  # type: ignore[arg-type]
    "content is an object": Returned(object()),  # type: ignore[arg-type]
    "content is a call": Returned([{"type": "tool_use", "id": "t", "name": "n", "input": {}}]),
    "content is thinking": Returned([{"type": "thinking", "thinking": "x", "signature": "y"}]),
    "content is nothing": Returned([]),
    "content has a cache mark": Returned([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]),
    "data is an object": Returned("x", data=object()),
    "data is huge": Returned("x", data="y" * 2_000_000),
    "message is blank": Failed(message=" ", category="business"),
    "category is unknown": Failed(message="x", category="odd"),  # type: ignore[arg-type]
    "code is an object": Failed(message="x", category="business", code=object()),  # type: ignore[arg-type]
    "a class": ToolError,
    "an error that was returned": ToolError("x"),
    "waits without a type": Waiting({}),
    "waits for an object": Waiting({"type": "job", "what": object()}),
}


@pytest.mark.parametrize("effect", ["read", "irreversible"])
@pytest.mark.parametrize("what", ENDINGS)
async def test_an_ending_with_odd_fields_is_a_result(disk_stage: Stage, what: str, effect: Any) -> None:
    async def ends() -> Any:
        return ENDINGS[what]

    await disk_stage.plays([call("ends"), say("ok")])

    assert await disk_stage.run(disk_stage.agent(tool(ends, effect=effect))) == Ended(text="ok")


async def test_a_time_in_what_a_call_waits_for_is_written_as_text(disk_stage: Stage) -> None:
    async def waits() -> Any:
        return Waiting({"type": "job", "at": datetime(2026, 1, 1, tzinfo=UTC)})

    await disk_stage.plays([call("waits")])

    assert isinstance(await disk_stage.run(disk_stage.agent(tool(waits))), AwaitingAction)


@pytest.mark.parametrize("reason", ["half \ud83d", "x" * 100_000, "null \x00", 7, object(), None, 0, [], Done])
async def test_b184_an_approval_rule_that_answers_oddly_asks_a_person(disk_stage: Stage, reason: Any) -> None:
    async def pay() -> str:
        return "paid"

    def rule(arguments: Any, context: ToolContext) -> Any:
        return reason

    await disk_stage.plays([call("pay"), say("ok")])
    session = await disk_stage.begin(disk_stage.agent(tool(pay, approve=rule)))
    outcome = await session.run("Go.")

    assert isinstance(outcome, AwaitingAction)
    (question,) = await session.questions()
    assert question.reason.strip()
    await session.deny(question.call_id, approver="ana \ud83d", reason="no \ud83d")
    assert await session.run() == Ended(text="ok")
    assert "no \ufffd" in disk_stage.results()[0]["content"]


async def test_b122_half_characters_of_the_model_are_mended_at_once_and_for_ever(any_stage: Stage) -> None:
    """What this process sends next, and what another sends after a wake, are the same bytes."""
    await any_stage.plays([text_of(["half \ud83d", " and a whole \ud83d", "\ude00"]), say("two"), say("three")])
    session = await any_stage.begin(agent := any_stage.agent())
    await session.run("One.")
    await session.run("Two.")

    assert await any_stage.harness(agent).session(session.id).run("Three.") == Ended(text="three")
    said = any_stage.sent[-1]["messages"][1]["content"][0]["text"]
    said.encode()
    assert said.startswith("half \ufffd and a whole ")


async def test_b122_half_characters_in_a_call_reach_the_tool_mended(any_stage: Stage) -> None:
    got: list[str] = []

    @tool(effect="read")
    async def look(q: str) -> str:
        got.append(q)
        return q

    await any_stage.plays([call_of(['{"q":"half \\ud83d"}']), say("ok"), say("two")])
    session = await any_stage.begin(agent := any_stage.agent(look))

    assert await session.run("One.") == Ended(text="ok")
    assert got == ["half \ufffd"]
    assert await any_stage.harness(agent).session(session.id).run("Two.") == Ended(text="two")


@pytest.mark.parametrize("number", ["1e999", "NaN", "Infinity", "9" * 5_000, "-0", "0.1e-400"])
async def test_odd_numbers_of_the_model_are_no_end_of_the_session(any_stage: Stage, number: str) -> None:
    @tool(effect="read")
    async def look(n: float) -> str:
        return "seen"

    await any_stage.plays([call_of(['{"n":', number, "}"]), say("ok"), say("two")])
    session = await any_stage.begin(agent := any_stage.agent(look))

    assert await session.run("One.") == Ended(text="ok")
    assert await any_stage.harness(agent).session(session.id).run("Two.") == Ended(text="two")


async def test_a_call_nested_a_thousand_deep_is_no_end_of_the_session(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look(n: Any) -> str:
        return "seen"

    await any_stage.plays([call_of(['{"n":', "[" * 5_000, "]" * 5_000, "}"]), say("ok"), say("two")])
    session = await any_stage.begin(agent := any_stage.agent(look))

    assert await session.run("One.") == Ended(text="ok")
    assert await any_stage.harness(agent).session(session.id).run("Two.") == Ended(text="two")


@pytest.mark.parametrize("effect", ["read", "irreversible", "transactional"])
async def test_a_result_too_large_for_the_log_is_an_error_result(disk_stage: Stage, effect: Any) -> None:
    """Fourteen pictures, each as large as a picture may be, are more than one event holds."""
    data = base64.b64encode(png() + bytes(3_900_000)).decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    async def shoot() -> Any:
        return [picture] * 14

    await disk_stage.plays([call("shoot"), say("ok")])

    assert await disk_stage.run(disk_stage.agent(tool(shoot, effect=effect))) == Ended(text="ok")
    (result,) = disk_stage.results()
    assert result["is_error"] is True
    assert ("Nothing was executed" if effect == "transactional" else "It did take effect") in result["content"]
