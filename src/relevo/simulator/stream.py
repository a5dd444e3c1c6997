"""A finished message as the frames of an event stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from relevo.simulator import wire
from relevo.simulator.fit import CALLS

Json = dict[str, Any]

DELTA_CHARS = 24
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class Frame(NamedTuple):
    """One event as it goes over the wire."""

    name: str
    data: bytes

    @property
    def is_delta(self) -> bool:
        """Whether it carries a piece of a block."""
        return self.name == "content_block_delta"


def frame(event: Json) -> Frame:
    """Write one event, its `event:` line named by its type."""
    name = event["type"]
    return Frame(name, b"event: %b\ndata: %b\n\n" % (name.encode(), wire.dump(event)))


def frames(message: Json, *, partial_json: str | None = None, delta_chars: int = DELTA_CHARS) -> list[Frame]:
    """
    Cut `message` into events.

    `partial_json` replaces the streamed input of the last block, which `max_tokens` left unfinished.
    """
    usage = message.get("usage")
    opening = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
    if usage is not None:
        opening["usage"] = {**usage, "output_tokens": min(1, usage.get("output_tokens", 1))}
    # The stream names what the whole turn did at its end.
    closing: Json = {key: opening.pop(key) for key in ("context_management", "input_transformations") if key in opening}
    out = [frame({"type": "message_start", "message": opening}), Frame("ping", PING)]
    content = message["content"]
    for index, block in enumerate(content):
        last_json = partial_json if index == len(content) - 1 else None
        out.extend(_block(index, block, last_json, delta_chars))
    delta = {key: message.get(key) for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
    event: Json = {"type": "message_delta", "delta": delta, **closing}
    if "usage" in message:
        event["usage"] = None if usage is None else _closing_usage(usage)
    out.extend((frame(event), frame({"type": "message_stop"})))
    return out


def _closing_usage(usage: Json) -> Json:
    left_out = ("service_tier", "speed", "inference_geo", "cache_creation")
    return {key: value for key, value in usage.items() if key not in left_out}


def _block(index: int, block: Json, partial_json: str | None, size: int) -> Iterator[Frame]:
    kind = block.get("type")
    start, deltas = dict(block), list[Json]()
    if kind == "text":
        start["text"] = ""
        citations = start.pop("citations", None)
        if citations is not None:
            start["citations"] = []
        deltas += [{"type": "citations_delta", "citation": citation} for citation in citations or ()]
        deltas += [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], size)]
    elif kind == "thinking":
        start["thinking"] = start["signature"] = ""
        deltas += [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"], size)]
        # Thinking that max_tokens cut short was never signed.
        deltas += [{"type": "signature_delta", "signature": block["signature"]}] if block.get("signature") else []
    elif kind in CALLS:
        start["input"] = {}
        given = block.get("input", {})
        written = partial_json if partial_json is not None else wire.dump(given).decode("utf-8") if given else ""
        pieces = ("", *_pieces(written, size))
        deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    elif kind == "compaction":
        start["content"] = None
        start.pop("encrypted_content", None)
        delta = {"type": "compaction_delta", "content": block.get("content")}
        if "encrypted_content" in block:
            delta["encrypted_content"] = block["encrypted_content"]
        deltas.append(delta)
    yield frame({"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        yield frame({"type": "content_block_delta", "index": index, "delta": delta})
    yield frame({"type": "content_block_stop", "index": index})


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
