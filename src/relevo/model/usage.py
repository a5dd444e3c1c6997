"""
Tokens, counted from the `usage` object of an answer.

An answer may be several iterations of sampling (compaction, fallback, advisor). The bill is the sum over
`usage.iterations`; the fill of the context window is the last one of type `message`. The top level leaves some out.
Source: SDK docstrings of `BetaUsage` (anthropic 2.15), read 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A sum of tokens. Adding never changes a summand, and the order does not matter."""

    answers: int = 0
    uncounted: int = 0
    """Answers whose usage nobody told us: the other numbers are then lower bounds."""
    input_tokens: int = 0
    """Neither read from nor written to the cache."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    thinking_tokens: int = 0
    """Part of `output_tokens`."""
    web_searches: int = 0
    web_fetches: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in _NAMES})

    @property
    def prompt_tokens(self) -> int:
        """Everything the model read, each token once."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens


_NAMES = tuple(field.name for field in fields(Usage))


def read_usage(raw: Mapping[str, Any] | None) -> Usage:
    """
    The sum over all iterations of one answer; missing, null or strange usage counts as uncounted.

    Of an answer that broke off the prompt may be known and the output not: uncounted too, but no less than that.
    """
    total = Usage(answers=1)
    shares = read_shares(raw)
    if shares is None:
        prompt = _share({**(raw if isinstance(raw, Mapping) else {}), "output_tokens": 0}) or Usage()
        return Usage(answers=1, uncounted=1) + prompt
    for _, share in shares:
        total += share
    return total


def read_shares(raw: Mapping[str, Any] | None, model: str = "") -> list[tuple[str, Usage]] | None:
    """
    What each model involved has read and written, in order; None when that is not known.

    `model` is who sampled where an iteration does not say. Server tools are in the first share.
    """
    if not isinstance(raw, Mapping):
        return None
    iterations = raw.get("iterations")
    parts = iterations if isinstance(iterations, list) and iterations else [raw]
    shares: list[tuple[str, Usage]] = []
    for part in parts:
        share = _share(part)
        if share is None:
            return None
        shares.append((str(part.get("model") or model), share))
    tools = raw.get("server_tool_use")
    details = raw.get("output_tokens_details")
    beside = Usage(
        web_searches=_count(tools, "web_search_requests") or 0,
        web_fetches=_count(tools, "web_fetch_requests") or 0,
        thinking_tokens=_count(details, "thinking_tokens") or 0,
    )
    shares[0] = (shares[0][0], shares[0][1] + beside)
    return shares


def context_tokens(raw: Mapping[str, Any] | None) -> int | None:
    """How full the window was after this answer: prompt and output of the last message; None when unknown."""
    if not isinstance(raw, Mapping):
        return None
    iterations = raw.get("iterations")
    last: Any = raw
    for part in iterations if isinstance(iterations, list) else ():
        if isinstance(part, Mapping) and part.get("type") in ("message", "fallback_message"):
            last = part
    share = _share(last)
    return None if share is None else share.total_tokens


def _share(raw: Any) -> Usage | None:
    entered, left = _count(raw, "input_tokens"), _count(raw, "output_tokens")
    if entered is None or left is None:
        return None
    split = raw.get("cache_creation")
    one_hour = _count(split, "ephemeral_1h_input_tokens") or 0
    five_minutes = _count(split, "ephemeral_5m_input_tokens") or 0
    written = _count(raw, "cache_creation_input_tokens") or 0
    return Usage(
        input_tokens=entered,
        output_tokens=left,
        cache_read_tokens=_count(raw, "cache_read_input_tokens") or 0,
        # A server that does not split its writes means those of five minutes, the default.
        cache_write_5m_tokens=max(five_minutes, written - one_hour),
        cache_write_1h_tokens=one_hour,
    )


def _count(raw: Any, key: str) -> int | None:
    value = raw.get(key) if isinstance(raw, Mapping) else None
    return value if type(value) is int and value >= 0 else None
