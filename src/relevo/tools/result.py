"""
What a tool returned, as the model reads it and as programs read it.

    text                       itself, unquoted; no data
    nothing, blank, []         "(no output)"
    content blocks             themselves, checked; no data
    bytes that are an image    an image block
    Returned(content, data)    each by this table
    Failed(...), Waiting(...)  that ending
    all else                   compact JSON (encoding.py); data is the value as JSON

A list is content blocks only if every item is one (texts may stand between images and documents). An object that
merely has a `type` is data. Of blocks only the fields that the API knows are kept (`content.sayable`). A reference to
a tool becomes its name: no tool is deferred, so there is nothing to refer to.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from relevo.content import MAX_IMAGES, Block, Json, clean, count_images, encode, sayable, text_block
from relevo.errors import InvalidValue
from relevo.tools.encoding import to_json
from relevo.tools.endings import NO_OUTPUT, Ending, Failed, Returned, Waiting
from relevo.tools.images import check_media, image_block, media_type_of
from relevo.tools.truncation import cut, note, shortened

MAX_DATA_CHARS = 1_000_000
"""Longer data is not kept, so a gate that needs it stays shut. The log is no place for a table dump."""

_MEDIA = ("image", "document")
_OURS = ("approval", "order")
"""What only the gate may let a call wait for."""

_log = logging.getLogger("relevo.tools")


def ending_of(value: Any, *, tool: str, max_chars: int) -> Ending:
    """
    The ending of a call that returned `value`; an ending stays what it is.

    What cannot be shown is a failure *after* the effect, and says so.
    """
    try:
        if isinstance(value, Waiting):
            return _waiting(value)
        if isinstance(value, Failed):
            return replace(value, partial=to_json(value.partial))
        if isinstance(value, Returned):
            return Returned(_content(value.content, max_chars), _kept(to_json(value.data), tool))
        if isinstance(value, str) or _blocks(value) is not None:
            return Returned(_content(value, max_chars))
        data = to_json(value)
        return Returned(_text(data, max_chars), _kept(data, tool))
    except InvalidValue as error:
        return _not_encodable(tool, str(error))
    except Exception as error:  # noqa: BLE001  a value with code of its own, or a number too long to print
        return _not_encodable(tool, type(error).__name__)


def _not_encodable(tool: str, reason: str) -> Failed:
    return Failed(
        message=f"{tool} ran to its end, but its result could not be encoded ({reason}).",
        category="internal",
        code="result_not_encodable",
        outcome="executed",
    )


def _waiting(value: Waiting) -> Waiting:
    until = to_json(value.until)
    if not isinstance(until, dict) or not isinstance(until.get("type"), str):
        raise InvalidValue("Waiting needs a mapping with a 'type'")
    if until["type"] in _OURS:
        raise InvalidValue(f"waiting for {until['type']!r} is the harness's own word; a tool needs another")
    return Waiting(until)


def _kept(data: Json, tool: str) -> Json:
    size = len(encode(data))
    if size > MAX_DATA_CHARS:
        _log.warning("action=result.data_dropped tool=%s bytes=%d limit=%d", tool, size, MAX_DATA_CHARS)
        return None
    return data


def _content(value: Any, max_chars: int) -> str | Sequence[Block]:
    blocks = _blocks(value)
    if blocks is None:
        return _text(clean(str.__str__(value)) if isinstance(value, str) else to_json(value), max_chars)
    sound = [_checked(block, place) for place, block in enumerate(blocks)]
    if (images := count_images(sound)) > MAX_IMAGES:
        raise InvalidValue(f"{images} images, at most {MAX_IMAGES} are taken")
    return _fitted(sound, max_chars)


def _text(data: Json, max_chars: int) -> str:
    if data is None or data == []:
        return NO_OUTPUT
    text = data if isinstance(data, str) else encode(data).decode()
    return shortened(text, max_chars) if text.strip() else NO_OUTPUT


def _blocks(value: Any) -> list[Mapping[str, Any]] | None:
    """The content blocks a value consists of; None if it is something else."""
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return [image_block(data)] if (media_type_of(data) or "").startswith("image/") else None
    if _is_block(value) and value["type"] != "text":
        return [value]
    if not isinstance(value, list | tuple) or not any(_is_block(item) for item in value):
        return None
    blocks: list[Mapping[str, Any]] = []
    for item in value:
        if isinstance(item, str):
            blocks.append(text_block(item))
        elif _is_block(item):
            blocks.append(item)
        else:
            return None
    return blocks


def _is_block(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    match value.get("type"):
        case "text":
            return isinstance(value.get("text"), str)
        case "image" | "document":
            return isinstance(value.get("source"), Mapping)
        case "search_result":
            return isinstance(value.get("source"), str) and isinstance(value.get("content"), list | tuple)
        case "tool_reference":
            return isinstance(value.get("tool_name"), str)
        case _:
            return False


def _checked(block: Mapping[str, Any], place: int) -> dict[str, Any]:
    plain = to_json(block)
    if plain["type"] == "tool_reference":
        return text_block(plain["tool_name"])
    try:
        sound = sayable(plain)
        if sound["type"] in _MEDIA:
            check_media(sound)
    except InvalidValue as error:
        raise InvalidValue(f"block {place}, {error}") from None
    return sound


def _cost(block: Mapping[str, Any]) -> int:
    """Characters the model reads. Media in base64 has its own limit."""
    if block["type"] == "text":
        return len(block["text"])
    if block["type"] in _MEDIA and block["source"].get("type") == "base64":
        return 0
    return len(encode(block).decode())


def _fitted(blocks: list[dict[str, Any]], max_chars: int) -> str | list[dict[str, Any]]:
    """The blocks that say something, within the limit; what follows a cut is left out, except media."""
    blocks = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
    if not blocks:
        return NO_OUTPUT
    total = sum(map(_cost, blocks))
    if total <= max_chars:
        return blocks
    room = max_chars - len(note(max_chars, total))
    shown, kept = 0, []
    for block in blocks:
        cost = _cost(block)
        if cost <= room:
            kept.append(block)
        elif block["type"] == "text" and (text := cut(block["text"], room)).strip():
            kept.append({**block, "text": text})
            cost, room = len(text), len(text)
        else:
            cost, room = 0, 0
        shown, room = shown + cost, room - cost
    return [*kept, text_block(note(shown, total).strip())]
