"""What shapes every request of a session besides its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from relevo.content import Block, checked, text_block
from relevo.errors import InvalidValue
from relevo.model.capabilities import EFFORTS, THINKING_MODES, capabilities, default_thinking

# Refused in `extra`: what has a name here, what the API no longer takes, what would break the loop.
# Source for the sampling knobs: API version 2026-10-21, a 400 even at their defaults.
NOT_EXTRA = {
    **dict.fromkeys(
        ("model", "system", "tools", "tool_choice", "thinking", "stop_sequences", "betas", "metadata"),
        "has a setting of its own",
    ),
    **dict.fromkeys(("temperature", "top_p", "top_k"), "is refused by the API since version 2026-10-21"),
    "messages": "comes from the log",
    "stream": "is always on",
    "max_tokens": "is given with each request",
    "cache_control": "is set by `cache`",
    "thread": "would keep the conversation where the log cannot see it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    Model, instructions, tools and knobs. There are no sampling knobs: the API has none.

    Checked when made: a value that the model is known to refuse raises `InvalidValue` here, not a 400 at midnight.
    A model that we do not know is given what the caller asks for and nothing of our own accord.
    """

    model: str
    system: str | Sequence[Block] | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    """Definitions as the API takes them, in the order given: the order is part of the cached prefix."""
    effort: str | None = None
    """low, medium, high, xhigh or max; None is the model's default."""
    thinking: str | Mapping[str, Any] | None = "default"
    """`default` is adaptive where that is modern; a mode, a whole object, or None to send nothing."""
    tool_choice: Mapping[str, Any] | None = None
    stop_sequences: Sequence[str] = ()
    betas: tuple[str, ...] = ()
    """Kept unique and sorted."""
    cache: bool | Literal["1h"] = True
    """Prompt caching: True for five minutes, "1h" for an hour (dearer to write), False for none."""
    user_id: str | None = None
    """`metadata.user_id`: an opaque id, never a name or an address."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the API that have no name here, sent as they are; `output_config` is merged with `effort`."""

    head_marks: tuple[str | None, ...] = field(init=False, repr=False, compare=False, default=())
    """Lifetime of the cache mark of each block of the head, tools first; None is no mark."""
    markable: int = field(init=False, repr=False, compare=False, default=-1)
    """Place of the last block of system, or else of tools, that a cache mark may stand on."""
    heads: dict[Any, bytes] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Encoded heads, filled by `request.build`."""

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("betas", tuple(sorted(set(self.betas))))
        put("system", _system(self.system))
        put("tools", tuple(checked(list(self.tools))))
        put("extra", checked(dict(self.extra)))
        self._check()
        system: tuple[Block, ...] = _system(self.system)
        blocks = system or tuple(self.tools)
        # A deferred tool is not in the prompt, so it cannot end a cached prefix.
        places = [i for i, block in enumerate(blocks) if not block.get("defer_loading")]
        if places:
            put("markable", places[-1])
            marks = [_lifetime(block) for block in (*self.tools, *system)]
            put("head_marks", tuple(marks[: len(marks) - len(blocks) + places[-1] + 1]))

    def _check(self) -> None:
        if not self.model:
            raise InvalidValue("a request needs a model")
        can = capabilities(self.model)
        if self.effort is not None:
            levels = can.efforts if can.known else EFFORTS
            if self.effort not in levels:
                allowed = ", ".join(levels) or "none"
                raise InvalidValue(f"effort {self.effort!r} is not for {self.model}; it takes: {allowed}")
        mode = self.thinking.get("type") if isinstance(self.thinking, Mapping) else self.thinking
        if mode not in (None, "default") and mode not in (can.thinking if can.known else THINKING_MODES):
            raise InvalidValue(f"thinking {mode!r} is not for {self.model}; it takes: {', '.join(can.thinking)}")
        forced = (self.tool_choice or {}).get("type") in ("any", "tool")
        if forced and not can.forced_tool_choice:
            raise InvalidValue(f"{self.model} refuses a forced tool_choice; say in the instructions what you want")
        for name in self.extra:
            if name in NOT_EXTRA:
                raise InvalidValue(f"extra {name!r}: {NOT_EXTRA[name]}")
        if "output_config" in self.extra and "effort" in (self.extra["output_config"] or {}):
            raise InvalidValue("extra 'output_config.effort': has a setting of its own")

    def parameters(self) -> dict[str, Any]:
        """The body of a request without messages, `max_tokens`, `stream` and our cache marks."""
        body: dict[str, Any] = {"model": self.model}
        if self.system:
            body["system"] = self.system
        if self.tools:
            body["tools"] = self.tools
        if self.tool_choice:
            body["tool_choice"] = self.tool_choice
        thinking = default_thinking(self.model) if self.thinking == "default" else self.thinking
        if thinking is not None:
            body["thinking"] = {"type": thinking} if isinstance(thinking, str) else thinking
        if self.stop_sequences:
            body["stop_sequences"] = list(self.stop_sequences)
        if self.user_id is not None:
            body["metadata"] = {"user_id": self.user_id}
        body |= self.extra
        if self.effort is not None:
            body["output_config"] = {"effort": self.effort, **(self.extra.get("output_config") or {})}
        return checked(body)  # type: ignore[no-any-return]  # a dict stays one


def _system(system: str | Sequence[Block] | None) -> tuple[Block, ...]:
    """Always blocks, and none that says nothing: an empty one is refused, and cannot carry a mark (B104)."""
    blocks = [text_block(system)] if isinstance(system, str) else checked(list(system or ()))
    return tuple(block for block in blocks if block.get("type") != "text" or str(block.get("text") or "").strip())


def _lifetime(block: Block) -> str | None:
    mark = block.get("cache_control")
    return None if not mark else str(mark.get("ttl") or "5m")
