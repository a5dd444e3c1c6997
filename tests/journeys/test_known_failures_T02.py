"""T02, order and places: what is not covered closer to its room. See KNOWN_FAILURES.md for where each id is."""

from __future__ import annotations

import asyncio
import base64
import struct
import zlib
from typing import Any

from relevo import Ended, tool
from relevo.events import ToolEnded
from relevo.simulator import call, say

from .stage import Stage


def png(width: int = 1, height: int = 1) -> bytes:
    """A picture of nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress(b"".join(b"\0" + b"\0\0\0" * width for _ in range(height)))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


async def test_b018_results_stand_in_the_models_order_and_the_log_has_the_true_one(any_stage: Stage) -> None:
    fast_ended = asyncio.Event()

    @tool(effect="read")
    async def slow() -> str:
        await fast_ended.wait()
        return "slow"

    @tool(effect="read")
    async def fast() -> str:
        fast_ended.set()
        return "fast"

    await any_stage.plays([call("slow") + call("fast"), say("ok")])

    assert await any_stage.run(any_stage.agent(slow, fast)) == Ended(text="ok")
    assert [result["content"] for result in any_stage.results()] == ["slow", "fast"]
    assert [body.name for body in await any_stage.bodies(ToolEnded)] == ["fast", "slow"]


async def test_b022_every_result_names_its_own_call(any_stage: Stage) -> None:
    @tool(effect="read")
    async def look(n: int) -> str:
        return f"seen {n}"

    three = call("look", {"n": 1}) + say("and") + call("look", {"n": 2}) + call("look", {"n": 3})
    await any_stage.plays([three, say("ok")])
    await any_stage.run(any_stage.agent(look))

    ended = {body.tool_use_id: body for body in await any_stage.bodies(ToolEnded)}
    assert len(ended) == 3
    for call_id, body in ended.items():
        index = int(call_id.rpartition(".")[2])
        asked = any_stage.sent[-1]["messages"][1]["content"][index]
        assert asked["input"] == body.input
        assert body.content == f"seen {asked['input']['n']}"


async def test_b023_b129_images_stay_inside_their_results_and_results_come_first(any_stage: Stage) -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png()).decode()},
    }

    @tool(effect="read")
    async def shoot(n: int) -> Any:
        return ["a picture:", picture] if n == 1 else png()

    await any_stage.plays([call("shoot", {"n": 1}) + say("fetching") + call("shoot", {"n": 2}), say("Nice.")])
    session = await any_stage.begin(any_stage.agent(shoot))

    assert await session.run("Two pictures.") == Ended(text="Nice.")
    content = any_stage.sent[-1]["messages"][-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result"]
    assert [[part["type"] for part in block["content"]] for block in content] == [["text", "image"], ["image"]]
    assert content[1]["content"][0]["source"]["media_type"] == "image/png"
