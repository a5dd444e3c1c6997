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

from relevo.errors import InvalidMessage, InvalidValue, NotJson

Json = Any
"""A JSON value: None, bool, int, finite float, str without lone surrogates, list, dict with str keys."""

Block = Mapping[str, Any]
"""A content block as the API sends it."""

Message = str | Sequence[Block]
"""What a person says: text, or content blocks as the API takes them in a user message."""

SAYABLE = ("text", "image", "document", "search_result")
"""Kinds of block that a person may send, and a tool may return."""

MAX_IMAGES = 100
"""In one message or result. The API takes no more in a request (docs, "Vision"), and whatever is said is sent again."""

_SOURCES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "image": {"base64": ("media_type", "data"), "url": ("url",), "file": ("file_id",)},
    "document": {
        "base64": ("media_type", "data"),
        "url": ("url",),
        "file": ("file_id",),
        "text": ("media_type", "data"),
        "content": ("content",),
    },
}
"""Where the bytes of a block may come from, and what each must say."""

MAX_DEPTH = 200
"""Deeper values are refused: encoders recurse, and nothing honest is that deep."""

MAX_INT_BITS = 14_000
"""Larger integers are refused: Python prints none of more than 4,300 digits."""


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
        ValueError: not JSON, or NaN and Infinity, which are not JSON either; nor is a number too large to be held.
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text} is too large a number")
    return number


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
        return clean(str.__str__(value))  # of an enum's member the text, not its name
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        if value.bit_length() > MAX_INT_BITS:
            raise NotJson(path, f"an integer of {value.bit_length()} bits")
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
            copy[clean(str.__str__(key))] = _checked(item, f"{path}.{key}", depth + 1)
        if len(copy) < len(value):
            raise NotJson(path, "two keys are the same once they are clean")
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


def sayable(block: Any) -> dict[str, Json]:
    """
    The block (JSON already) with what the API takes of its kind from a person or a tool, and nothing else.

    One field it does not know, or misses, makes it refuse every later request of the session. So fields are chosen,
    not passed on; an optional one that is not as it must be is left out. Where to cache is for the request to say.

    Raises:
        InvalidValue: another kind, or something it must have is missing or wrong; the text begins with the kind.
    """
    kind = block.get("type") if isinstance(block, Mapping) else None
    match kind:
        case "text":
            return text_block(_required(block, "text"))
        case "image":
            return {"type": kind, "source": _source(block)}
        case "document":
            words = {name: block[name] for name in ("title", "context") if _is_word(block.get(name))}
            return {"type": kind, "source": _source(block), **words, **_citations(block)}
        case "search_result":
            source, title = _required(block, "source"), _required(block, "title")
            content = _parts(block, block, ("text",))
            return {"type": kind, "source": source, "title": title, "content": content, **_citations(block)}
        case _:
            raise InvalidValue(f"{_short(kind)}; it may be {', '.join(SAYABLE)}")


def count_images(blocks: Iterable[Block]) -> int:
    """How many images there are, those inside documents too. Blocks as `sayable` gives them."""
    return sum(
        block["type"] == "image"
        or (
            block["type"] == "document"
            and isinstance(inner := block["source"].get("content"), list)
            and count_images(inner)
        )
        for block in blocks
    )


def _source(block: Block) -> dict[str, Json]:
    kind, source = block["type"], block.get("source")
    if not isinstance(source, Mapping):
        raise InvalidValue(f"{kind} without source")
    form = source.get("type")
    names = _SOURCES[kind].get(form) if isinstance(form, str) else None
    if names is None:
        raise InvalidValue(f"{kind} with a source of type {_short(form)}; it may be {', '.join(_SOURCES[kind])}")
    if form == "content":
        inner = source.get("content")
        return {"type": form, "content": inner if _is_word(inner) else _parts(block, source, ("text", "image"))}
    for name in names:
        if not _is_word(source.get(name)):
            raise InvalidValue(f"{kind} without {name} in its source")
    if form == "text" and source["media_type"] != "text/plain":
        raise InvalidValue(f"{kind} with text of media_type {_short(source['media_type'])}; it may be text/plain")
    return {"type": form, **{name: source[name] for name in names}}


def _parts(block: Block, holder: Mapping[str, Any], kinds: tuple[str, ...]) -> list[dict[str, Json]]:
    """The blocks inside `holder`, which is `block` or in it."""
    content = holder.get("content")
    parts = [sayable(part) for part in content] if isinstance(content, list) else []
    if any(part["type"] not in kinds for part in parts):
        raise InvalidValue(f"{block['type']} with content that is not {' or '.join(kinds)}")
    if not (spoken := [part for part in parts if part["type"] != "text" or part["text"].strip()]):
        raise InvalidValue(f"{block['type']} without content")
    return spoken


def _required(block: Block, name: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise InvalidValue(f"{block['type']} without {name}")
    return value


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _citations(block: Block) -> dict[str, Json]:
    wish = block.get("citations")
    enabled = wish.get("enabled") if isinstance(wish, Mapping) else None
    return {"citations": {"enabled": enabled}} if isinstance(enabled, bool) else {}


def _short(value: object) -> str:
    return repr(value[:40] if isinstance(value, str) else type(value).__name__ if value is not None else None)


def user_content(message: Message) -> list[Block]:
    """
    What a person says, as blocks that may be sent.

    Blank text beside something else is dropped, and so is every field that the API does not know: see `sayable`.

    Raises InvalidMessage when nothing is left, or a block is not one that a user message may hold.
    """
    if isinstance(message, str):
        message = [text_block(message)]
    elif not isinstance(message, list | tuple):
        raise InvalidMessage(f"a message is text or a list of content blocks, not {type(message).__name__}")
    try:
        blocks = checked(list(message))
    except NotJson as error:
        raise InvalidMessage(f"the message cannot be sent: {error}") from error
    kept: list[Block] = []
    for place, block in enumerate(blocks):
        try:
            said = sayable(block)
        except InvalidValue as error:
            raise InvalidMessage(f"block {place} of the message is {error}") from error
        if said["type"] != "text" or said["text"].strip():
            kept.append(said)
    if not kept:
        raise InvalidMessage("the message is empty")
    if (images := count_images(kept)) > MAX_IMAGES:
        raise InvalidMessage(f"the message has {images} images; at most {MAX_IMAGES} are taken")
    return kept
