"""Streams as they may come, written by hand, for what no well-behaved brain would say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from relevo.simulator import Reply

from .stage import MODEL


def stream(*events: dict[str, Any]) -> Reply:
    """A reply whose stream is exactly these events."""
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Reply(({"type": "text", "text": "said by hand"},), stream_text=text)


def start() -> dict[str, Any]:
    """How every message begins."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_hand",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return {"type": "message_start", "message": message}


def end(stop_reason: str | None) -> list[dict[str, Any]]:
    """How every message ends."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]


def block(index: int, opening: dict[str, Any], deltas: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One content block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": opening},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def call_of(pieces: Sequence[str], *, name: str = "look", index: int = 0, stop: str | None = "tool_use") -> Reply:
    """A call whose input is streamed in these pieces."""
    opening = {"type": "tool_use", "id": f"toolu_hand_{index}", "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return stream(start(), *block(index, opening, deltas), *end(stop))


def text_of(pieces: Sequence[str], *, stop: str | None = "end_turn") -> Reply:
    """A text streamed in these pieces."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return stream(start(), *block(0, {"type": "text", "text": ""}, deltas), *end(stop))
