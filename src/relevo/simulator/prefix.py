"""
The prompt as a chain of hashes, one for each block: equal hash, equal prefix.

Order: tools, system, messages.  Cache marks are not part of the prompt.  Consecutive messages of one role, and text
given as a string or as a block, are the same prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from relevo.simulator import wire
from relevo.simulator.tokens import MESSAGE_BYTES, weight_bytes

Json = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")
# Changing one of these changes how the messages, but not how tools and system, are read.
# Source: platform.claude.com/docs prompt-caching, read 2026-12-01.
MESSAGE_SETTINGS = ("tool_choice", "thinking", "output_config", "context_management")


@dataclass(frozen=True, slots=True)
class Link:
    """The prompt up to and with one block."""

    block: Mapping[str, Any]
    place: tuple[int, int]
    """Message and block; (-2, n) is a tool, (-1, n) a system block."""
    role: str
    weight: int
    """Bytes of the prompt so far, this block included."""
    digest: bytes


Placed = tuple[tuple[int, int], str, Json]


def blocks(body: Mapping[str, Any]) -> Iterator[Placed]:
    """Every block of a well-formed request in prompt order, with its place and role."""
    for index, tool in enumerate(body.get("tools") or []):
        yield (-2, index), "tool", tool
    system = body.get("system") or []
    for index, block in enumerate((_text(system),) if isinstance(system, str) else system):
        yield (-1, index), "system", block
    for index, message in enumerate(body.get("messages") or []):
        content = message.get("content") or []
        role = message["role"]
        if isinstance(content, str):
            yield (index, 0), role, _text(content)
        else:
            for inner, block in enumerate(content):
                yield (index, inner), role, block


def chain(body: Mapping[str, Any], *, binding: bool = False) -> Iterator[Link]:
    """
    Hash each prefix.

    With `binding` the hash is what a thinking block is bound to: settings and other thinking blocks do not count,
    for thinking may be left out from the front.
    """
    digest = wire.canonical([body.get("model"), None if binding else body.get("speed")])
    weight = 0
    in_messages = False
    last: tuple[int, str] | None = None
    for place, role, block in blocks(body):
        if place[0] >= 0 and not in_messages:
            in_messages = True
            if not binding:
                digest = _hash(digest, wire.canonical([body.get(name) for name in MESSAGE_SETTINGS]))
        if place[0] >= 0 and last != (place[0], role):
            weight += MESSAGE_BYTES
        last = (place[0], role)
        weight += weight_bytes(block)
        if not (binding and block.get("type") in THINKING):
            digest = extend(digest, role, block)
        yield Link(block, place, role, weight, digest)


def extend(digest: bytes, role: str, block: Mapping[str, Any]) -> bytes:
    """The hash of a prefix with one more block; fields that are null say nothing."""
    bare = {key: value for key, value in block.items() if key != "cache_control" and value is not None}
    return _hash(digest, role.encode(), _spelled(bare))


def _spelled(bare: Json) -> bytes:
    # JSON is the slow part of a long conversation, and most blocks need none: plain text and plain results.
    kind = bare.get("type")
    if kind == "text" and len(bare) == 2 and "text" in bare:
        return f"text\0{bare['text']}".encode("utf-8", "surrogatepass")
    if kind == "tool_result" and len(bare) == 3 and type(bare.get("content")) is str:
        return f"result\0{bare['tool_use_id']}\0{bare['content']}".encode("utf-8", "surrogatepass")
    return wire.canonical(bare)


def weigh(body: Mapping[str, Any], placed: Iterable[Placed] | None = None) -> int:
    """Bytes of the whole prompt, as the last link has them, without hashing; `placed` are its `blocks`, if at hand."""
    total = 0
    for _, _, block in blocks(body) if placed is None else placed:
        total += weight_bytes(block)
    return total + MESSAGE_BYTES * sum(1 for message in body.get("messages") or [] if message.get("content"))


def _hash(digest: bytes, *parts: bytes) -> bytes:
    state = blake2b(digest, digest_size=16)
    for part in parts:
        state.update(part)
    return state.digest()


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
