"""
Prompt-cache accounting by the rules of the real thing.

A prefix is written only at a breakpoint (a `cache_control` mark, or the last block when the request carries a top-
level one).  Each breakpoint looks back over 20 blocks, itself included, for a prefix that is stored and alive; the
longest found is read.  Prefixes shorter than the model's minimum are silently not cached.  A life counts from the
start of the request that wrote or read it. Source: platform.claude.com/docs prompt-caching, read 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from relevo.simulator.prefix import THINKING, Link, chain, weigh
from relevo.simulator.tokens import tokens

LOOK_BACK_BLOCKS = 20
LIFE_SECONDS = {"5m": 300.0, "1h": 3600.0}
MAX_ENTRIES = 50_000


@dataclass(frozen=True, slots=True)
class PromptUsage:
    """Tokens of one prompt.  The whole prompt is `fresh + written + read`."""

    fresh: int
    """Neither read nor written: `input_tokens`."""
    written_5m: int = 0
    written_1h: int = 0
    read: int = 0

    @property
    def written(self) -> int:
        """`cache_creation_input_tokens`."""
        return self.written_5m + self.written_1h

    @property
    def total(self) -> int:
        """The whole prompt."""
        return self.fresh + self.written + self.read


class Cache:
    """The prefixes that are stored.  `clock` gives seconds; move it to let them expire."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends: dict[bytes, float] = {}

    def spend(self, body: Mapping[str, Any], *, min_tokens: int, weight: int | None = None) -> PromptUsage:
        """Account for a valid request, and store what it writes; `weight` is `weigh(body)` where that is known."""
        if not _marked(body):
            return PromptUsage(tokens(weigh(body) if weight is None else weight))
        links = list(chain(body))
        if not links:
            return PromptUsage(0)
        marks = [
            (index, life) for index, life in _breakpoints(body, links) if tokens(links[index].weight) >= min_tokens
        ]
        now = self._clock()
        read_at, read_life = self._longest(links, marks, now)
        total = tokens(links[-1].weight)
        done = read = tokens(links[read_at].weight) if read_at >= 0 else 0
        written = {"5m": 0, "1h": 0}
        if read_at >= 0:
            self._store(links[read_at].digest, now + LIFE_SECONDS[read_life])
        for index, life in marks:
            if index > read_at:
                reach = tokens(links[index].weight)
                written[life] += reach - done
                done = reach
            self._store(links[index].digest, now + LIFE_SECONDS[life])
        return PromptUsage(total - done, written["5m"], written["1h"], read)

    def _longest(self, links: list[Link], marks: list[tuple[int, str]], now: float) -> tuple[int, str]:
        best, best_life = -1, "5m"
        for index, life in marks:
            for place in range(index, max(-1, index - LOOK_BACK_BLOCKS), -1):
                if place <= best:
                    break
                if self._ends.get(links[place].digest, 0.0) > now:
                    best, best_life = place, life
                    break
        return best, best_life

    def _store(self, digest: bytes, ends: float) -> None:
        self._ends[digest] = max(ends, self._ends.get(digest, 0.0))
        if len(self._ends) > MAX_ENTRIES:
            now = self._clock()
            self._ends = {key: end for key, end in self._ends.items() if end > now}
            while len(self._ends) > MAX_ENTRIES:
                del self._ends[next(iter(self._ends))]


def _marked(body: Mapping[str, Any]) -> bool:
    if body.get("cache_control"):
        return True
    if any("cache_control" in tool for tool in body.get("tools") or ()):
        return True
    contents = (body.get("system"), *(message.get("content") for message in body.get("messages") or ()))
    return any(marks(block) for content in contents if isinstance(content, list) for block in content)


def _breakpoints(body: Mapping[str, Any], links: list[Link]) -> list[tuple[int, str]]:
    found = [(index, _life(found[-1])) for index, link in enumerate(links) if (found := marks(link.block))]
    automatic = body.get("cache_control")
    if automatic:
        last = next((index for index in range(len(links) - 1, -1, -1) if cacheable(links[index].block)), None)
        if last is not None and all(index != last for index, _ in found):
            found.append((last, _life(automatic)))
    return sorted(found)


def marks(block: Mapping[str, Any]) -> list[Any]:
    """The cache marks of a block: its own, and those on blocks inside a tool result."""
    own = block.get("cache_control")
    found = [own] if own else []
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        found = [mark for inner in block["content"] if (mark := inner.get("cache_control"))] + found
    return found


def cacheable(block: Mapping[str, Any]) -> bool:
    """Whether a block may carry a breakpoint; thinking and empty text may not."""
    return block.get("type") not in THINKING and not (block.get("type") == "text" and not block.get("text"))


def _life(mark: Mapping[str, Any]) -> str:
    return "1h" if mark.get("ttl") == "1h" else "5m"
