"""
What each model allows.

Read 2026-12-01 from the model ids of the `anthropic` SDK 2.14/2.15, platform.claude.com/docs (models, thinking,
effort, prompt caching, tool choice; pages of August to November 2026) and recordings of the API.  Where no source
spoke (all of Mythos, Haiku 5.5 beyond price and cache) the row follows its nearest relative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Model:
    """One model.  `thinking` lists the accepted `thinking.type`s; `efforts` empty means effort is not supported."""

    id: str
    name: str
    created: str = "1970-01-01"
    """The day it came out; the epoch when unknown, as the API does."""
    window_tokens: int = 1_000_000
    output_tokens: int = 128_000
    thinking: tuple[str, ...] = ("adaptive", "disabled")
    thinks_unasked: bool = True
    """Whether a request without `thinking` may be answered with a thinking block."""
    efforts: tuple[str, ...] = ALL_EFFORTS
    forced_tools: bool = True
    prefill: bool = False
    system_turns: bool = True
    """Whether `role: system` messages are accepted in a conversation."""
    omits_thinking: bool = False
    """Whether the text of thinking is hidden unless `display` asks for it."""
    binds_thinking: bool = False
    """Whether a thinking block is refused behind another prefix."""
    min_cache_tokens: int = 512
    fast: bool = False
    task_budgets: bool = True
    counts_output_in_window: bool = False
    """Old models: prompt and `max_tokens` together must fit the window."""
    lifecycle: str = "active"
    deprecated: str | None = None
    retires: str | None = None
    resolves_to: str | None = None
    """The dated id that answers under this one; None is itself."""

    @property
    def line(self) -> str:
        """`opus`, `sonnet`, ..."""
        return self.id.split("-")[1]


def _always_on(id: str, name: str, created: str = "1970-01-01", **more: Any) -> Model:  # noqa: A002
    given: dict[str, Any] = {
        "thinking": ("adaptive",),
        "forced_tools": False,
        "omits_thinking": True,
        "binds_thinking": True,
        **more,
    }
    return Model(id, name, created, **given)


def _old(id: str, name: str, created: str = "1970-01-01", **more: Any) -> Model:  # noqa: A002
    given: dict[str, Any] = {
        "window_tokens": 200_000,
        "output_tokens": 64_000,
        "thinking": ("enabled", "disabled"),
        "thinks_unasked": False,
        "efforts": (),
        "prefill": True,
        "system_turns": False,
        "task_budgets": False,
        "min_cache_tokens": 4096,
        **more,
    }
    return Model(id, name, created, **given)


_FIVE: dict[str, Any] = {"thinking": ("adaptive",), "min_cache_tokens": 512}
_SIX: dict[str, Any] = {
    "thinking": ("adaptive", "enabled", "disabled"),
    "thinks_unasked": False,
    "efforts": ("low", "medium", "high", "max"),
    "system_turns": False,
    "task_budgets": False,
}
_SONNET_4_5: dict[str, Any] = {
    "min_cache_tokens": 1024,
    "lifecycle": "deprecated",
    "deprecated": "2026-06-01",
    "retires": "2026-11-30",
}
_OPUS_4_5: dict[str, Any] = {
    "efforts": ("low", "medium", "high"),
    "lifecycle": "deprecated",
    "deprecated": "2026-07-22",
    "retires": "2027-01-22",
}

MODELS: tuple[Model, ...] = (
    _always_on("claude-fable-5-2", "Claude Fable 5.2", "2026-11-09"),
    _always_on("claude-mythos-5-2", "Claude Mythos 5.2", "2026-11-09"),
    Model("claude-haiku-5-5", "Claude Haiku 5.5", "2026-10-07"),
    _always_on("claude-sonnet-5-5", "Claude Sonnet 5.5", "2026-09-22", thinking=("adaptive", "between_tools")),
    _always_on("claude-fable-5-1", "Claude Fable 5.1", "2026-09-01"),
    _always_on("claude-opus-5-5", "Claude Opus 5.5", "2026-09-22", fast=True),
    _always_on("claude-mythos-5-1", "Claude Mythos 5.1", "2026-09-01"),
    Model("claude-sonnet-5", "Claude Sonnet 5", min_cache_tokens=1024, system_turns=False, task_budgets=False),
    Model("claude-fable-5", "Claude Fable 5", **_FIVE),
    Model("claude-mythos-5", "Claude Mythos 5", **_FIVE),
    Model("claude-opus-5", "Claude Opus 5", "2026-07-24", fast=True),
    Model("claude-opus-4-8", "Claude Opus 4.8", thinks_unasked=False, min_cache_tokens=1024, fast=True),
    Model(
        "claude-opus-4-7",
        "Claude Opus 4.7",
        thinks_unasked=False,
        min_cache_tokens=2048,
        fast=True,
        system_turns=False,
    ),
    Model(
        "claude-mythos-preview",
        "Claude Mythos Preview",
        thinking=("adaptive",),
        min_cache_tokens=2048,
        system_turns=False,
        lifecycle="deprecated",
        deprecated="2026-05-01",
        retires="2026-06-30",
    ),
    Model("claude-opus-4-6", "Claude Opus 4.6", min_cache_tokens=4096, fast=True, **_SIX),
    Model("claude-sonnet-4-6", "Claude Sonnet 4.6", output_tokens=64_000, min_cache_tokens=1024, **_SIX),
    _old("claude-haiku-4-5", "Claude Haiku 4.5", "2025-10-01", resolves_to="claude-haiku-4-5-20251001"),
    _old("claude-haiku-4-5-20251001", "Claude Haiku 4.5", "2025-10-01"),
    _old("claude-opus-4-5", "Claude Opus 4.5", "2025-11-01", resolves_to="claude-opus-4-5-20251101", **_OPUS_4_5),
    _old("claude-opus-4-5-20251101", "Claude Opus 4.5", "2025-11-01", **_OPUS_4_5),
    _old(
        "claude-sonnet-4-5", "Claude Sonnet 4.5", "2025-09-29", resolves_to="claude-sonnet-4-5-20250929", **_SONNET_4_5
    ),
    _old("claude-sonnet-4-5-20250929", "Claude Sonnet 4.5", "2025-09-29", **_SONNET_4_5),
)


def info(model: Model) -> dict[str, Any]:
    """The model as `GET /v1/models` gives it."""
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.name,
        "created_at": _time(model.created),
        "lifecycle": model.lifecycle,
        "line": model.line,
        "deprecated_at": _time(model.deprecated),
        "retires_at": _time(model.retires),
        "max_input_tokens": model.window_tokens,
        "max_tokens": model.output_tokens,
        "capabilities": _capabilities(model),
    }


def page(models: Sequence[Model], query: Mapping[str, str]) -> dict[str, Any]:
    """One page of `GET /v1/models`: 20 unless `limit` says else, after `after_id` or before `before_id`."""
    ids = [model.id for model in models]
    start = ids.index(query["after_id"]) + 1 if query.get("after_id") in ids else 0
    stop = ids.index(query["before_id"]) if query.get("before_id") in ids else len(ids)
    limit = int(query["limit"]) if query.get("limit", "").isdigit() else 20
    data = [info(model) for model in models[start:stop][:limit]]
    return {
        "data": data,
        "has_more": stop - start > limit,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
    }


def _capabilities(model: Model) -> dict[str, Any]:
    yes, no = {"supported": True}, {"supported": False}
    levels = {level: yes if level in model.efforts else no for level in ALL_EFFORTS}
    kinds = ("adaptive", "enabled", "disabled", "between_tools")
    return {
        "batch": yes,
        "citations": yes,
        "code_execution": yes,
        "context_management": {
            "supported": True,
            "clear_thinking_20251015": yes,
            "clear_tool_uses_20250919": yes,
            "compact_20260112": no if model.prefill else yes,
        },
        "effort": {"supported": bool(model.efforts), **levels},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": True, "code_execution": yes, "web_search": yes},
        "structured_outputs": yes,
        "thinking": {"supported": True, "types": {kind: yes if kind in model.thinking else no for kind in kinds}},
    }


def _time(day: str | None) -> str | None:
    return None if day is None else f"{day}T00:00:00Z"
