"""T12 and T13, values, names and schemas, seen from the wire. See KNOWN_FAILURES.md for where each id is."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from pydantic import BaseModel, Field

from relevo import Ended, Session, ToolContext, tool
from relevo.events import ToolEnded
from relevo.simulator import call, say

from .stage import Stage


class Person(BaseModel):
    user_id: int = Field(alias="userId")
    nick: str = "x"


async def test_b119_b120_models_have_the_same_names_in_schema_input_and_result(any_stage: Stage) -> None:
    got: list[Person] = []

    @tool
    async def save(person: Person) -> list[Person]:
        got.append(person)
        return [person]

    await any_stage.plays([call("save", {"person": {"userId": 7}}), say("ok")])
    await any_stage.run(any_stage.agent(save))

    assert got == [Person(userId=7)]
    assert "userId" in str(any_stage.sent[0]["tools"][0]["input_schema"])
    assert "user_id" not in str(any_stage.sent[0]["tools"][0]["input_schema"])
    assert any_stage.results()[0]["content"] == '[{"userId":7,"nick":"x"}]'
    (ended,) = await any_stage.bodies(ToolEnded)
    assert ended.data == [{"userId": 7, "nick": "x"}]


@pytest.mark.parametrize("limit", range(300, 330))
async def test_b122_a_cut_never_leaves_half_a_character(stage: Stage, limit: int) -> None:
    @tool(effect="read", max_result_chars=limit)
    async def shout() -> str:
        return "ab\U0001f468\u200d\U0001f469\u200d\U0001f467e\u0301" * 200

    await stage.plays([call("shout"), say("ok")])

    assert await stage.run(stage.agent(shout)) == Ended(text="ok")
    content = stage.results()[0]["content"]
    content.encode()
    assert len(content) <= limit


async def test_b123_forty_pictures_do_not_end_the_session(stage: Stage) -> None:
    """
    Forty pictures of a megabyte are over what a request takes: the turn ends typed and every result is kept.

    What cannot be done yet is to go on: that takes a policy that leaves old pictures out (issue: context policies).
    """
    import base64

    from relevo import ModelUnavailable

    from .test_known_failures_T02 import png

    data = base64.b64encode(png() + b"\0" * 1_000_000).decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    @tool(effect="read")
    async def shoot(n: int) -> Any:
        return [picture]

    forty = functools.reduce(lambda one, other: one + other, [call("shoot", {"n": n}) for n in range(40)])
    await stage.plays([forty.but(whole=True)])
    outcome = await stage.run(stage.agent(shoot))

    assert isinstance(outcome, ModelUnavailable)
    assert outcome.error["type"] == "request_too_large"
    assert len(await stage.bodies(ToolEnded)) == 40


async def test_b135_b139_parameters_of_any_name_reach_the_function(any_stage: Stage) -> None:
    got: list[Any] = []

    @tool
    async def odd(
        config: str,
        agent: str = "x",
        args: list[int] = [],  # noqa: B006
        title: str = "",
        description: str = "",
        type: str = "",  # noqa: A002  the name is the point
        properties: dict[str, Any] | None = None,
        required: bool = False,
        default: int = 0,
        schema: str = "",
        context: ToolContext | None = None,
    ) -> str:
        got.append((config, agent, args, title, description, type, properties, required, default, schema))
        return "ok"

    given = {
        "config": "c",
        "agent": "a",
        "args": [1],
        "title": "t",
        "description": "d",
        "type": "y",
        "properties": {"p": 1},
        "required": True,
        "default": 3,
        "schema": "s",
    }
    await any_stage.plays([call("odd", given), say("ok")])

    assert await any_stage.run(any_stage.agent(odd)) == Ended(text="ok")
    assert got == [tuple(given.values())]
    assert set(any_stage.sent[0]["tools"][0]["input_schema"]["properties"]) == set(given)


async def test_b140_a_tool_without_arguments_is_called_and_a_free_object_stays_free(any_stage: Stage) -> None:
    got: list[Any] = []

    @tool
    async def ping() -> str:
        return "pong"

    @tool
    async def put(data: dict[str, Any]) -> str:
        got.append(data)
        return "put"

    await any_stage.plays([call("ping") + call("put", {"data": {"any": {"thing": [1, None]}}}), say("ok")])

    assert await any_stage.run(any_stage.agent(ping, put)) == Ended(text="ok")
    assert got == [{"any": {"thing": [1, None]}}]
    assert [result["content"] for result in any_stage.results()] == ["pong", "put"]


async def test_b141_the_tools_of_every_request_are_the_same_bytes(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look(n: int) -> str:
        return "seen"

    await any_stage.plays([call("look", {"n": 1}), say("one"), say("two")])
    agent = any_stage.agent(look)
    session: Session = await any_stage.begin(agent)
    await session.run("Go.")
    look.input_schema["properties"].clear()
    agent.record()["tools"].clear()
    await any_stage.harness(agent).session(session.id).run("Go on.")

    assert any_stage.sent[0]["tools"] == any_stage.sent[1]["tools"] == any_stage.sent[2]["tools"]


class Doubler:
    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, n: int) -> int:
        self.count += 1
        return 2 * n

    def halve(self, n: int) -> float:
        return n / 2


async def _add(x: int, y: int) -> int:
    return x + y


async def test_b145_whatever_can_be_called_can_be_a_tool(any_stage: Stage) -> None:
    doubler = Doubler()
    tools = [
        tool(doubler, name="double"),
        tool(doubler.halve),
        tool(functools.partial(_add, y=1), name="increment"),
    ]
    asked = call("double", {"n": 2}) + call("halve", {"n": 3}) + call("increment", {"x": 4})
    await any_stage.plays([asked, say("ok")])

    assert await any_stage.run(any_stage.agent(*tools)) == Ended(text="ok")
    assert [result["content"] for result in any_stage.results()] == ["4", "1.5", "5"]
    assert doubler.count == 1
