"""T03, blank text and last words: what is not covered closer to its room. See KNOWN_FAILURES.md."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from relevo import Ended, InvalidMessage, tool
from relevo.events import ModelAnswered
from relevo.simulator import call, say

from .stage import Stage
from .test_known_failures_T02 import png


async def test_b024_a_blank_text_beside_a_call_stays_in_the_log_and_is_not_sent(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "seen"

    await any_stage.plays([(say("") + call("look")).but(whole=True), say("ok")])

    assert await any_stage.run(any_stage.agent(look)) == Ended(text="ok")
    answered = (await any_stage.bodies(ModelAnswered))[0]
    assert [block["type"] for block in answered.message["content"]] == ["text", "tool_use"]
    assert [block["type"] for block in any_stage.sent[-1]["messages"][1]["content"]] == ["tool_use"]


async def test_b026_white_space_at_the_end_of_an_answer_hurts_nobody(any_stage: Stage) -> None:
    await any_stage.plays([say("Here is the list:\n") + say(" \n"), say("ok")])
    session = await any_stage.begin(any_stage.agent())
    await session.run("List?")

    assert await session.run("And?") == Ended(text="ok")
    assert [block["text"] for block in any_stage.sent[-1]["messages"][1]["content"]] == ["Here is the list:\n"]


BAD_IMAGES: dict[str, Any] = {
    "not base64": {"type": "base64", "media_type": "image/png", "data": "nöt base64"},
    "another type": {"type": "base64", "media_type": "image/jpeg", "data": None},
    "a data url": {"type": "base64", "media_type": "image/png", "data": "data:image/png;base64,AAAA"},
    "empty": {"type": "base64", "media_type": "image/png", "data": ""},
    "no source": None,
    "a text for a source": "https://example.com/a.png",
    "an unknown source": {"type": "carrier pigeon"},
    "too large": {"type": "base64", "media_type": "image/png", "data": "A" * 6_000_000},
    "too wide": {"type": "base64", "media_type": "image/png", "data": "wide"},
}


@pytest.mark.parametrize("what", BAD_IMAGES)
async def test_b030_b130_a_picture_that_would_poison_the_session_is_refused_at_the_door(
    stage: Stage, what: str
) -> None:
    source = BAD_IMAGES[what]
    if what == "another type":
        source = {**source, "data": base64.b64encode(png()).decode()}
    if what == "too wide":
        source = {**source, "data": base64.b64encode(png(9_000, 1)).decode()}
    block = {"type": "image"} if source is None else {"type": "image", "source": source}
    await stage.plays([say("ok")])
    session = await stage.begin(stage.agent())

    with pytest.raises(InvalidMessage, match="image"):
        await session.say([{"type": "text", "text": "Look:"}, block])
    assert await session.run("Words then.") == Ended(text="ok")


@pytest.mark.parametrize("what", [what for what, source in BAD_IMAGES.items() if isinstance(source, dict)])
async def test_b130_a_picture_of_a_tools_that_would_poison_the_session_is_an_error_result(
    stage: Stage, what: str
) -> None:
    source = BAD_IMAGES[what]
    if what == "another type":
        source = {**source, "data": base64.b64encode(png()).decode()}
    if what == "too wide":
        source = {**source, "data": base64.b64encode(png(9_000, 1)).decode()}

    async def shoot() -> Any:
        return [{"type": "image", "source": source}]

    await stage.plays([call("shoot"), say("ok"), say("still here")])
    session = await stage.begin(stage.agent(tool(shoot)))

    assert await session.run("Go.") == Ended(text="ok")
    assert stage.results()[0]["is_error"] is True
    assert await session.run("Still there?") == Ended(text="still here")
