"""Stream events and their bytes, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from relevo.model.request import Request, build
from relevo.model.settings import Settings
from relevo.model.sse import SseReader
from relevo.model.stream import Accumulator

Event = dict[str, Any]


def started(**more: Any) -> Event:
    message: Event = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 25, "output_tokens": 1},
    }
    return {"type": "message_start", "message": {**message, **more}}


def opened(index: int, **block: Any) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, kind: str, **fields: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def text(index: int, *pieces: str) -> list[Event]:
    deltas = [grown(index, "text_delta", text=piece) for piece in pieces]
    return [opened(index, type="text", text=""), *deltas, closed(index)]


def tool(index: int, *pieces: str, **more: Any) -> list[Event]:
    deltas = [grown(index, "input_json_delta", partial_json=piece) for piece in pieces]
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {}, **more}
    return [opened(index, **block), *deltas, closed(index)]


def ended(reason: str | None = "end_turn", **more: Any) -> list[Event]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 15}, **more},
        {"type": "message_stop"},
    ]


def frames(events: Iterable[Event]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), json.dumps(event, ensure_ascii=False).encode())
        for event in events
    )


def build_from(events: Iterable[Event]) -> tuple[Event, frozenset[int]]:
    built = Accumulator()
    for event in events:
        built.add(event)
    return built.finish()


def read_all(data: bytes, cuts: Sequence[int] = ()) -> list[Event]:
    """The events of `data`, fed in pieces that end at `cuts`."""
    reader, found, last = SseReader(), [], 0
    for cut in [*cuts, len(data)]:
        found += reader.feed(data[last:cut])
        last = cut
    return found + reader.end()


def request(**settings: Any) -> Request:
    return build(Settings(**{"model": "claude-opus-5-5", **settings}), [b'{"role":"user","content":"Hi"}'])
