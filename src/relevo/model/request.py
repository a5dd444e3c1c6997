"""
One request, as bytes.

The messages come encoded and are never encoded again: the bytes in the log's projection are the bytes on the wire, and
a longer session does not cost more to send than to copy. What stands before them (the head) is encoded once for
every settings and `max_tokens`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relevo.content import encode
from relevo.errors import InvalidValue
from relevo.model.capabilities import default_max_tokens
from relevo.model.settings import Settings

MAX_CACHE_MARKS = 4
"""The API accepts no more in one request, the automatic one included. Source: prompt caching page, read 2026-12-01."""

# Inside a JSON text a quote is escaped, so this finds keys only; a tool input that has such a key counts as a mark
# too, which costs us one of our own marks and nothing else.
_MARK = re.compile(rb'"cache_control":\{[^{}]*\}')


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, ready to be sent again: it holds no key and no clock."""

    model: str
    max_tokens: int
    betas: tuple[str, ...]
    head: bytes
    """`{"model":...,"messages":[`"""
    messages: Sequence[bytes]

    @property
    def body(self) -> bytes:
        """The whole JSON, joined anew at each call."""
        # One join, not two: the copy of a long conversation is what a request costs.
        pieces = list(self.messages)
        pieces[0] = self.head + pieces[0]
        pieces[-1] += b"]}"
        return b",".join(pieces)


def build(
    settings: Settings,
    messages: Sequence[bytes],
    *,
    max_tokens: int | None = None,
    marked: Sequence[str] | None = None,
) -> Request:
    """
    A request for these messages; `max_tokens` None is the default for model and effort.

    `marked` are the lifetimes ("5m", "1h") of cache marks inside the messages, in order. None looks for them in the
    bytes; whoever encoded the messages knows better, and `()` saves a walk over a long conversation.

    Raises:
        InvalidValue: no messages, or a `max_tokens` below 1.
    """
    if max_tokens is None:
        max_tokens = default_max_tokens(settings.model, settings.effort)
    if max_tokens < 1:
        raise InvalidValue(f"max_tokens {max_tokens} leaves no room for an answer")
    if not messages:
        raise InvalidValue("a request needs at least one message")
    marks = _choose_marks(settings, messages, marked)
    head = settings.heads.get((max_tokens, marks))
    if head is None:
        head = settings.heads[max_tokens, marks] = _head(settings, max_tokens, *marks)
    return Request(settings.model, max_tokens, settings.betas, head, messages)


def _choose_marks(settings: Settings, messages: Sequence[bytes], marked: Sequence[str] | None) -> tuple[bool, bool]:
    """
    Which of our two cache marks go in: the one at the end of the head, and the automatic one at the end of all.

    The caller's marks stay; ours yield, the head's first, when there would be more than four or a longer lifetime
    would follow a shorter one.
    """
    if settings.cache is False:
        return False, False
    ours = "1h" if settings.cache == "1h" else "5m"
    before = [mark for mark in settings.head_marks if mark is not None]
    marked_end = bool(settings.head_marks) and settings.head_marks[-1] is not None
    inside = _find_marks(messages) if marked is None else list(marked)
    ends_marked = bool(inside) and b'"cache_control":' in messages[-1]
    for head, automatic in ((True, True), (False, True), (True, False)):
        if (head and (marked_end or not settings.head_marks)) or (automatic and ends_marked):
            continue
        order = [*before, *([ours] if head else []), *inside, *([ours] if automatic else [])]
        if len(order) <= MAX_CACHE_MARKS and order == sorted(order):  # "1h" sorts before "5m"
            return head, automatic
    return False, False


def _find_marks(messages: Sequence[bytes]) -> list[str]:
    return [
        "1h" if b'"1h"' in mark else "5m"
        for message in messages
        if b'"cache_control":' in message
        for mark in _MARK.findall(message)
    ]


def _head(settings: Settings, max_tokens: int, mark_head: bool, automatic: bool) -> bytes:  # noqa: FBT001  two bits
    mark: dict[str, Any] = {"type": "ephemeral"}
    if settings.cache == "1h":
        mark["ttl"] = "1h"
    given = settings.parameters()
    body: dict[str, Any] = {"model": given.pop("model"), "max_tokens": max_tokens, "stream": True, **given}
    if automatic:
        body["cache_control"] = mark
    if mark_head:
        blocks = list(body.get("system") or body["tools"])
        place = settings.markable
        blocks[place] = {**blocks[place], "cache_control": mark}
        body["system" if "system" in body else "tools"] = blocks
    return encode(body)[:-1] + b',"messages":['
