"""
Events to a message: what the SDK's accumulator does, on plain JSON, and stricter.

A message is a list of blocks, each opened, filled by deltas and closed, then a `message_delta` that says why it ended
and a `message_stop` that says that it did. Three rules keep what comes out honest:

- a closed block takes no more deltas, and a tool input that came twice is a broken stream, not an input;
- what we do not know we keep (blocks, fields) or pass over (events, deltas), and never guess; what we do know has the
  shape that everything behind this door relies on, or there is no answer;
- without `message_stop` there is no answer.

Deltas go into lists and are joined once, so the cost is linear in the bytes.
Source: API streaming page, read 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relevo.content import checked, clean, encode
from relevo.errors import NotJson
from relevo.model.failure import cut_stream, from_event, protocol
from relevo.model.sse import parse_json, raw_decode

# What a block of a kind we know can grow. A field of another kind is passed over, as the SDK does: a text block with
# `thinking` in it would be refused when it is sent back. A kind we do not know may grow anything.
TAKES = {
    "text": "text",
    "thinking": "thinking",
    "tool_use": "input",
    "server_tool_use": "input",
    "mcp_tool_use": "input",
    "redacted_thinking": "",
}

TEXTS = {"text": ("text",), "thinking": ("thinking", "signature")}
IDENTITY = ("id", "tool_use_id", "name")
"""What is text in a block of a kind we know, when it is there at all; the identity in every block about a tool."""

RAW = "_raw"
"""Where the text of a tool input that is no JSON object is kept, so that the request can be built again."""

FOR_USERS = frozenset({"image", "document", "tool_result"})
"""Kinds that only a user message may hold: an answer with one could never be sent back."""

_FRAME = frozenset({"type", "delta", "usage", "content", "id", "role"})


class _Block:
    __slots__ = ("block", "kind", "open", "parts", "takes")

    def __init__(self, block: Mapping[str, Any]) -> None:
        self.block = dict(block)
        self.kind = str(block.get("type"))
        self.takes = TAKES.get(self.kind)
        if isinstance(block.get("citations"), list):
            self.block["citations"] = list(block["citations"])
        self.parts: dict[str, list[str]] = {}
        """Per field, what arrived of it."""
        self.open = True

    def grow(self, field: str, piece: Any) -> None:
        if self.takes in (None, field) and isinstance(piece, str):
            parts = self.parts.get(field)
            if parts is None:
                parts = self.parts[field] = []
            parts.append(piece)


class Accumulator:
    """Builds one message out of one stream's events."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._usage: dict[str, Any] = {}
        self._counted = False
        """Whether the output was counted after it began."""
        self._blocks: dict[int, _Block] = {}
        self._malformed: set[int] = set()
        self.done = False
        """Whether `message_stop` was seen."""

    @property
    def usage(self) -> dict[str, Any] | None:
        """
        What was counted so far, for the record of a stream that breaks; None before anything was.

        The count of a stream's start says nothing about the output that came after it: then `output_tokens` is
        absent, and so the price unknown.
        """
        known = dict(self._usage)
        if self._blocks and not self._counted:
            known.pop("output_tokens", None)
        return known or None

    @property
    def begun(self) -> bool:
        """Whether any content has begun."""
        return bool(self._blocks)

    def add(self, event: Mapping[str, Any]) -> bool:
        """
        Take one event; return whether the answer came closer by it (a ping or an unknown event is no progress).

        Raises:
            ModelError: an `error` event, or events in an impossible order.
        """
        kind = event.get("type")
        if kind == "content_block_delta":
            self._delta(event)
        elif kind == "content_block_start":
            self._start(event)
        elif kind == "content_block_stop":
            self._stop(event)
        elif kind == "message_delta":
            self._end(event)
        elif kind == "message_start":
            self._begin(event)
        elif kind == "message_stop":
            self._started()
            self.done = True
        elif kind == "error":
            raise from_event(event, self.usage)
        else:
            return False
        return True

    def finish(self) -> tuple[dict[str, Any], frozenset[int]]:
        """
        The whole message, safe in the log, and the indexes of blocks with a malformed tool input.

        Raises:
            ModelError: of type `cut_stream` when the message did not end.
        """
        if not self.done or self._message is None:
            raise cut_stream(self.usage)
        for index, block in self._blocks.items():
            if block.open:
                self._close(index, block)
        places = sorted(self._blocks)
        before = len(self._message["content"])
        message = dict(self._message)
        message["content"] = [*message["content"], *(self._blocks[index].block for index in places)]
        if self._usage:
            message["usage"] = self._usage
        return _safe(message), frozenset(before + place for place, i in enumerate(places) if i in self._malformed)

    def _started(self) -> dict[str, Any]:
        if self._message is None:
            raise protocol("the stream does not begin with message_start")
        return self._message

    def _begin(self, event: Mapping[str, Any]) -> None:
        message = event.get("message")
        if self._message is not None or not isinstance(message, Mapping):
            raise protocol("message_start twice, or without a message", self.usage)
        content = message.get("content") or []
        _check_content(content)
        self._message = {**message, "content": list(content)}
        self._count(message.get("usage"))

    def _start(self, event: Mapping[str, Any]) -> None:
        message = self._started()
        index, block = event.get("index"), event.get("content_block")
        if not isinstance(index, int) or index in self._blocks or not isinstance(block, Mapping):
            raise protocol(f"block {index!r} starts twice, or without content", self.usage)
        _check_block(index, block)
        self._blocks[index] = _Block(block)
        to = block.get("to")
        if block.get("type") == "fallback" and isinstance(to, Mapping) and to.get("model"):
            # From here another model speaks; the whole message is labelled with the last one.
            message["model"] = to["model"]

    def _opened(self, event: Mapping[str, Any]) -> _Block:
        index = event.get("index")
        found = self._blocks.get(index) if isinstance(index, int) else None
        if found is None or not found.open:
            raise protocol(f"{event.get('type')} for block {index!r}, which is not open", self.usage)
        return found

    def _delta(self, event: Mapping[str, Any]) -> None:
        found = self._opened(event)
        delta = event.get("delta")
        if not isinstance(delta, dict):
            raise protocol(f"a delta without a delta for block {event.get('index')!r}", self.usage)
        kind = delta.get("type")
        if kind == "text_delta":
            found.grow("text", delta.get("text"))
        elif kind == "input_json_delta":
            found.grow("input", delta.get("partial_json"))
        elif kind == "thinking_delta":
            found.grow("thinking", delta.get("thinking"))
        elif kind == "signature_delta" and found.kind == "thinking":
            found.block["signature"] = delta.get("signature")
        elif kind == "citations_delta" and found.kind == "text":
            if not isinstance(found.block.get("citations"), list):
                found.block["citations"] = []
            found.block["citations"].append(delta.get("citation"))
        elif kind == "compaction_delta" and found.kind == "compaction":
            found.block.update({key: delta[key] for key in ("content", "encrypted_content") if key in delta})

    def _stop(self, event: Mapping[str, Any]) -> None:
        found = self._opened(event)
        self._close(event["index"], found)

    def _close(self, index: int, found: _Block) -> None:
        found.open = False
        block, parts = found.block, found.parts
        found.parts = {}
        for field in ("text", "thinking"):
            if field in parts:
                block[field] = (block.get(field) or "") + "".join(parts[field])
        if found.kind == "thinking" and not block.get("signature"):
            # The empty signature of a block's start is a place kept free. Sent back, it is refused.
            block.pop("signature", None)
        if found.takes == "input" or "input" in parts:
            well, block["input"] = self._input(block.get("input"), "".join(parts.get("input", ())))
            if not well:
                self._malformed.add(index)

    def _input(self, given: Any, raw: str) -> tuple[bool, dict[str, Any]]:
        if not raw.strip():
            return tool_input({} if given is None else given)
        try:
            return tool_input(parse_json(raw), raw)
        except (ValueError, RecursionError):
            if _is_doubled(raw):
                raise protocol("a tool input was sent twice in one block", self.usage) from None
            return tool_input(None, raw)

    def _end(self, event: Mapping[str, Any]) -> None:
        message = self._started()
        delta = event.get("delta")
        for source in (delta if isinstance(delta, dict) else {}, event):
            for key, value in source.items():
                # A null says nothing against what is known; the frame's own words are not the message's.
                if key not in _FRAME and (value is not None or key not in message):
                    message[key] = value
        self._count(event.get("usage"))
        self._counted = self._counted or _has_output(event.get("usage"))

    def _count(self, usage: Any) -> None:
        # Later counts are totals: they replace. A null says nothing about what was known before.
        if isinstance(usage, Mapping):
            for key, value in usage.items():
                if value is not None or key not in self._usage:
                    self._usage[key] = value


def _has_output(usage: Any) -> bool:
    return isinstance(usage, Mapping) and usage.get("output_tokens") is not None


def whole(message: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[int]]:
    """The same as `Accumulator.finish` for a message that came in one piece."""
    _check_content(message.get("content"))
    malformed: set[int] = set()
    content: list[Any] = []
    for index, block in enumerate(message["content"]):
        kept = block
        if block.get("type") == "tool_use":
            well, value = tool_input(block.get("input", {}))
            kept = {**block, "input": value}
            if not well:
                malformed.add(index)
        content.append(kept)
    return _safe({**message, "content": content}), frozenset(malformed)


def tool_input(value: Any, raw: str | None = None) -> tuple[bool, dict[str, Any]]:
    """Whether `value` is a tool input that the log can hold, and it, or `{"_raw": text}` in its place."""
    if isinstance(value, dict):
        try:
            return True, checked(value)
        except NotJson:
            pass
    if raw is None:
        try:
            raw = encode(value).decode("utf-8", "replace")
        except (ValueError, RecursionError):
            raw = "unreadable"
    return False, {RAW: clean(raw)}


def _is_doubled(raw: str) -> bool:
    """Whether a text is one JSON value, written twice (B035)."""
    try:
        first, end = raw_decode(raw.lstrip())
        second, _ = raw_decode(raw.lstrip()[end:].lstrip())
    except (ValueError, RecursionError):
        return False
    return bool(first == second)


def _safe(message: dict[str, Any]) -> dict[str, Any]:
    """The one door of every answer: JSON, and of the shape that loop, log and projection rely on."""
    try:
        safe: dict[str, Any] = checked(message)
    except NotJson as error:
        raise protocol(f"the answer holds what JSON cannot say: {error}") from None
    _check_content(safe["content"])
    for name, kind in (("stop_reason", str), ("usage", dict), ("stop_details", dict)):
        if not isinstance(safe.get(name), kind | None):
            raise protocol(f"{name} of the answer is {type(safe[name]).__name__}")
    return safe


def _check_content(content: Any) -> None:
    if not isinstance(content, list):
        raise protocol("a message without a list of content")
    for index, block in enumerate(content):
        _check_block(index, block)


def _check_block(index: int, block: Any) -> None:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str) or kind in FOR_USERS:
        raise protocol(f"content block {index} is {kind!r}, which no answer holds")
    for name in TEXTS.get(kind, IDENTITY if kind.endswith(("tool_use", "tool_result")) else ()):
        if not isinstance(block.get(name), str | None):
            raise protocol(f"{name} of content block {index} ({kind}) is {type(block[name]).__name__}")
