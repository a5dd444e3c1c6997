"""
What is said: JSON values, content blocks, and the one way they become bytes.

Blocks stay plain JSON objects, verbatim, because the API adds kinds and fields faster than any library: what we do
not know we keep. Everything that enters the log passes `checked` once, at the door; behind it, encoding cannot fail.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relevo.errors import InvalidMessage, NotJson

Json = Any
"""A JSON value: None, bool, int, finite float, str without lone surrogates, list, dict with str keys."""

Block = Mapping[str, Any]
"""A content block as the API sends it."""

Message = str | Sequence[Block]
"""What a person says: text, or content blocks as the API takes them in a user message."""

SAYABLE = frozenset({"text", "image", "document", "search_result"})
"""Kinds of block that a person may send."""

MAX_DEPTH = 200
"""Deeper values are refused: encoders recurse, and nothing honest is that deep."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool the model asks for: one `tool_use` block of one answer."""

    id: str
    """Ours: the answer's event id and the block's index. Unique for ever, also when the model repeats an id."""
    tool_use_id: str
    """The model's own id for it."""
    name: str
    input: Any
    """As sent; an object when the model behaves."""
    index: int
    """Place of the block in the answer."""


def encode(value: Json) -> bytes:
    """Compact UTF-8 JSON, keys in their own order: the form of the wire and of the log."""
    return _encode(value).encode()


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_sorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode


def canonical(value: Json) -> bytes:
    """JSON with sorted keys: equal values give equal bytes. For hashes, never for the wire."""
    return _encode_sorted(value).encode()


def sha256(value: Json) -> str:
    """Hex digest of the canonical form."""
    return hashlib.sha256(canonical(value)).hexdigest()


def decode(data: bytes | str) -> Json:
    """
    Parse JSON strictly.

    Raises:
        ValueError: not JSON, or NaN and Infinity, which are not JSON either.
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def clean(text: str) -> str:
    """
    The same text without lone surrogates.

    Halves of a pair that arrived apart are joined; what stays alone becomes U+FFFD. Done once, at the door, so that
    log, request and database hold the same characters.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def checked(value: Any) -> Json:
    """
    A copy of `value` that is safe in the log: plain JSON types only, texts clean, numbers finite.

    Tuples become lists. Nothing is guessed: a datetime, bytes or object is the caller's to convert.

    Raises:
        NotJson: with the path of the first value that JSON cannot say, that is nested over `MAX_DEPTH`, or cyclic.
    """
    return _checked(value, "$", 0)


def _checked(value: Any, path: str, depth: int) -> Json:
    if isinstance(value, str):
        return clean(str(value))
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(path, f"{value} is not JSON")
        return float(value)
    if depth >= MAX_DEPTH:
        raise NotJson(path, f"nested more than {MAX_DEPTH} deep, or cyclic")
    if isinstance(value, Mapping):
        copy: dict[str, Json] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJson(path, f"key {key!r} is {type(key).__name__}, not str")
            copy[clean(key)] = _checked(item, f"{path}.{key}", depth + 1)
        return copy
    if isinstance(value, list | tuple):
        return [_checked(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise NotJson(path, f"{type(value).__name__} is not JSON")


def text_block(text: str) -> dict[str, Json]:
    """A text block."""
    return {"type": "text", "text": text}


def text_of(content: str | Sequence[Block]) -> str:
    """All text of a message, joined. Never the first block only: thinking may stand before it."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text") or "" for block in content if block.get("type") == "text")


def says_something(content: Iterable[Block]) -> bool:
    """Whether any block is more than thinking and blank text: the test for an empty answer."""
    return any(
        bool((block.get("text") or "").strip())
        if block.get("type") == "text"
        else block.get("type") not in ("thinking", "redacted_thinking")
        for block in content
    )


def calls_of(content: Iterable[Block], answer_id: str) -> tuple[Call, ...]:
    """The tools an answer asks us to run, in the model's order. Server tools are not ours to run."""
    return tuple(
        Call(
            id=f"{answer_id}.{index}",
            tool_use_id=str(block.get("id", "")),
            name=str(block.get("name", "")),
            input=block.get("input"),
            index=index,
        )
        for index, block in enumerate(content)
        if block.get("type") == "tool_use"
    )


def user_content(message: Message) -> list[Block]:
    """
    What a person says, as blocks that may be sent. Blank text beside something else is dropped.

    Raises InvalidMessage when nothing is left, or a block is not one that a user message may hold.
    """
    if isinstance(message, str):
        message = [text_block(message)]
    elif not isinstance(message, list | tuple):
        raise InvalidMessage(f"a message is text or a list of content blocks, not {type(message).__name__}")
    try:
        blocks: list[Block] = checked(list(message))
    except NotJson as error:
        raise InvalidMessage(f"the message cannot be sent: {error}") from error
    kept: list[Block] = []
    for place, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind not in SAYABLE:
            raise InvalidMessage(f"block {place} of the message is {kind!r}; it may be {', '.join(sorted(SAYABLE))}")
        if kind != "text":
            kept.append(block)
        elif not isinstance(block.get("text"), str):
            raise InvalidMessage(f"block {place} of the message is text without a text")
        elif block["text"].strip():
            kept.append(block)
    if not kept:
        raise InvalidMessage("the message is empty")
    return kept
