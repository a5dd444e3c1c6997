"""
A brain that plays a list.

```yaml
steps:
  - think: The customer must be known first.     # optional, comes first
    say: I will look you up.                     # optional
    calls:                                       # optional
      - tool: get_customer
        input: {email: ana@example.com}
        id: toolu_one                            # optional
  - say: Done.
    stop_reason: end_turn                        # optional: any text
    usage: {output_tokens: 9}                    # optional
  - content:                                     # instead of think/say/calls: any order, any kind
      - say: One
      - call: get_order
        input: {id: 7}
      - type: block_of_the_future
        anything: 1
    fault: {end: {at: message_delta}}            # optional: a name of faults.FAULTS and its fields
  - fault: {http: {status: 529}}                 # only a fault
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from relevo.simulator.brains.brain import Answers, BrainMistake
from relevo.simulator.plans import fault_of
from relevo.simulator.replies import Reply, call, raw, say, think
from relevo.simulator.request import Request

Step = Reply | str | Mapping[str, Any] | Answers
"""A reply, a text to say, a step as in YAML, or a function of the request."""


class Script:
    """
    Play `steps` in the order in which valid requests come, whoever sends them.

    With `per_conversation` each conversation (told apart by its first user text, or by `key`) plays the whole list for
    itself.  A request beyond the end is a `BrainMistake` that names it.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        per_conversation: bool = False,
        key: Callable[[Request], str] | None = None,
    ) -> None:
        self.steps: tuple[Reply | str | Answers, ...] = tuple(
            step_of(step) if isinstance(step, Mapping) else step for step in steps
        )
        self._key = key or ((lambda request: request.first_user_text) if per_conversation else (lambda _: ""))
        self._played: dict[str, int] = defaultdict(int)

    @classmethod
    def read(cls, path: str | Path, **options: Any) -> Script:
        """Read a YAML (or JSON) file: a list of steps, or a mapping with `steps`."""
        found = yaml.safe_load(Path(path).read_text("utf-8"))
        steps = found.get("steps") if isinstance(found, dict) else found
        if not isinstance(steps, list):
            raise ValueError(f"{str(path)!r} holds no list of steps")  # noqa: TRY004 - a file, not an argument
        if isinstance(found, dict) and "per_conversation" in found:
            options.setdefault("per_conversation", bool(found["per_conversation"]))
        return cls(steps, **options)

    def answer(self, request: Request) -> Reply | str | Awaitable[Reply | str]:
        """Play the next step."""
        key = self._key(request)
        index = self._played[key]
        if index >= len(self.steps):
            raise BrainMistake(
                f"the script has {len(self.steps)} steps; unexpected request {request.number}"
                f" (turn {request.turn}, last said {request.last_user_text[:80]!r})"
            )
        self._played[key] = index + 1
        step = self.steps[index]
        return step(request) if callable(step) else step

    @property
    def unused(self) -> int:
        """Steps that nobody has asked for; with several conversations, of the one that is furthest behind."""
        return len(self.steps) - (min(self._played.values()) if self._played else 0)

    def finish(self) -> None:
        """
        Say that the script should have been played to its end.

        Raises:
            AssertionError: steps are left; the message counts them.
        """
        if self.unused:
            raise AssertionError(f"{self.unused} of {len(self.steps)} steps of the script were not asked for")


def step_of(entry: Mapping[str, Any]) -> Reply:
    """Read one step of a YAML script; raises ValueError with the unknown word in it."""
    known = {
        "think", "say", "calls", "content", "stop_reason", "stop_sequence", "stop_details", "usage", "extra", "fault",
    }  # fmt: skip
    if unknown := set(entry) - known:
        raise ValueError(f"a step has no {sorted(unknown)!r}; it may have {sorted(known)!r}")
    reply = Reply()
    if "think" in entry:
        reply += think(str(entry["think"]))
    if "say" in entry:
        reply += say(str(entry["say"]))
    for made in entry.get("calls") or ():
        reply += call(made["tool"], made.get("input"), id=made.get("id"))
    for block in entry.get("content") or ():
        reply += _block_of(block)
    return reply.but(
        stop_reason=entry.get("stop_reason"),
        stop_sequence=entry.get("stop_sequence"),
        stop_details=entry.get("stop_details"),
        usage=entry.get("usage") or {},
        extra=entry.get("extra") or {},
        fault=fault_of(entry["fault"]) if entry.get("fault") else None,
    )


def _block_of(entry: Mapping[str, Any]) -> Reply:
    if "type" in entry:
        return raw(entry)
    if "think" in entry:
        return think(str(entry["think"]), signature=entry.get("signature"))
    if "say" in entry:
        return say(str(entry["say"]))
    if "call" in entry:
        return call(entry["call"], entry.get("input"), id=entry.get("id"))
    raise ValueError(f"a block needs one of type, think, say, call; this has {sorted(entry)!r}")
