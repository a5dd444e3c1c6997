"""
What each model can do.

A dated table, since a decision about a request must not wait for the network. A model that is not in it gets
cautious values and `known=False`: 200,000 tokens of window, 8,192 of output, and nothing optional is sent to it.
Sources, read 2026-12-01: platform.claude.com docs (models overview, effort, thinking, prompt caching), the model
literals of anthropic 2.15.0, genai-prices 0.2.3 (windows).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

AS_OF = "2026-12-01"

EFFORTS = ("low", "medium", "high", "xhigh", "max")
THINKING_MODES = ("adaptive", "between_tools", "enabled", "disabled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a request to one model may ask for."""

    window_tokens: int = 200_000
    max_output_tokens: int = 8_192
    thinking: tuple[str, ...] = ()
    """Accepted values of `thinking.type`; empty when we do not know any."""
    efforts: tuple[str, ...] = ()
    """Accepted values of `output_config.effort`; empty when it is not accepted."""
    default_effort: str | None = None
    """What the API does when effort is not sent."""
    min_cacheable_tokens: int = 4096
    """A shorter prefix is not cached, and nothing says so."""
    prefill: bool = False
    """Whether `messages` may end with an assistant message."""
    forced_tool_choice: bool = True
    """Whether `tool_choice` may be `any` or `tool`."""
    known: bool = True


UNKNOWN = Capabilities(known=False)

_NO_XHIGH = ("low", "medium", "high", "max")

_FABLE = Capabilities(
    window_tokens=1_000_000,
    max_output_tokens=128_000,
    thinking=("adaptive",),
    efforts=EFFORTS,
    default_effort="high",
    min_cacheable_tokens=512,
    forced_tool_choice=False,
)
_OPUS_5 = replace(_FABLE, thinking=("adaptive", "disabled"), forced_tool_choice=True)
_OPUS_4_6 = Capabilities(
    window_tokens=1_000_000,
    max_output_tokens=128_000,
    thinking=("adaptive", "enabled", "disabled"),
    efforts=_NO_XHIGH,
    default_effort="high",
)
_HAIKU_4_5 = Capabilities(max_output_tokens=64_000, thinking=("enabled", "disabled"), prefill=True)

MODELS = {
    "claude-fable-5-2": _FABLE,
    "claude-mythos-5-2": _FABLE,
    "claude-fable-5-1": _FABLE,
    "claude-mythos-5-1": _FABLE,
    "claude-fable-5": replace(_FABLE, forced_tool_choice=True),
    "claude-mythos-5": replace(_FABLE, forced_tool_choice=True),
    "claude-mythos-preview": replace(_FABLE, efforts=_NO_XHIGH, min_cacheable_tokens=4096, forced_tool_choice=True),
    "claude-opus-5-5": replace(_FABLE, default_effort="medium"),
    "claude-sonnet-5-5": replace(_FABLE, thinking=("adaptive", "between_tools")),
    "claude-haiku-5-5": replace(_OPUS_5, default_effort="medium"),
    "claude-opus-5": _OPUS_5,
    "claude-sonnet-5": replace(_OPUS_5, min_cacheable_tokens=1024),
    "claude-opus-4-8": replace(_OPUS_5, min_cacheable_tokens=1024),
    "claude-opus-4-7": replace(_OPUS_5, min_cacheable_tokens=2048),
    "claude-opus-4-6": _OPUS_4_6,
    "claude-sonnet-4-6": replace(_OPUS_4_6, max_output_tokens=64_000, min_cacheable_tokens=1024),
    "claude-opus-4-5": replace(_HAIKU_4_5, efforts=("low", "medium", "high"), default_effort="high"),
    "claude-sonnet-4-5": replace(_HAIKU_4_5, min_cacheable_tokens=1024),
    "claude-haiku-4-5": _HAIKU_4_5,
}

# Finds the plain id in `us.anthropic.claude-opus-4-5-20251101-v1:0`, `claude-opus-4-5@20251101`, `anthropic/claude-...`
_ID = re.compile(r"claude-(?:mythos-preview|[a-z]+-\d{1,2}(?:-\d{1,2})?)(?!\d)")


def plain_id(model: str) -> str:
    """The id without date and provider's wrapping; as given when no id is found in it."""
    found = _ID.search(model)
    return found.group() if found else model


def capabilities(model: str) -> Capabilities:
    """What `model` can do; `UNKNOWN` when the table does not say."""
    return MODELS.get(plain_id(model), UNKNOWN)


def max_output(model: str) -> int:
    """The largest `max_tokens` this model takes."""
    return capabilities(model).max_output_tokens


def default_max_tokens(model: str, effort: str | None = None) -> int:
    """
    Room for an answer and its thinking.

    Source: the effort page of the docs asks for 64k at `xhigh` and `max`. An unused allowance costs nothing.
    """
    can = capabilities(model)
    wanted = {"xhigh": 64_000, "max": 64_000, "low": 16_000}.get(effort or can.default_effort or "", 32_000)
    return min(wanted, can.max_output_tokens)


def default_thinking(model: str) -> str | None:
    """`adaptive` where that is the modern way, None where sending anything may be refused."""
    return "adaptive" if "adaptive" in capabilities(model).thinking else None
