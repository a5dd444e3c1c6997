"""
The fields that each part of a request may have, and the headers that some need.

Read from the TypedDicts of the `anthropic` SDK 2.15 (`types/beta/*_param.py`), 2026-12-01.
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """Fields of one kind of object; `required` of them must be there."""

    required: frozenset[str]
    allowed: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _shape(required: str, optional: str = "") -> Shape:
    must = _words(required)
    return Shape(must, must | _words(optional))


MCP_BETAS = frozenset({"mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"})
COMPACT_BETAS = frozenset({"compact-2026-01-12", "compact-2026-09-04"})
TOOL_CHANGE_BETAS = frozenset({"mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15"})
FALLBACK_BETAS = frozenset({"server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"})
CREDIT_BETAS = frozenset({"fallback-credit-2026-06-01", "fallback-credit-2026-07-01"})

COUNTED = _words(
    "messages model system tools tool_choice thinking output_config cache_control context_management compaction"
    " mcp_servers speed billing_policy"
)
"""What `count_tokens` takes."""
CREATED = COUNTED | _words(
    "max_tokens stop_sequences stream service_tier inference_geo metadata container diagnostics thread fallbacks"
    " fallback_credit_token"
)
"""What `messages` takes."""
SAMPLING = frozenset({"temperature", "top_p", "top_k"})
"""Fields of the old API version only."""
FIELD_BETAS = {
    "context_management": frozenset({"context-management-2025-06-27"}) | COMPACT_BETAS,
    "compaction": frozenset({"compact-2026-09-04"}),
    "thread": frozenset({"message-threads-2026-08-12"}),
    "mcp_servers": MCP_BETAS,
    "fallbacks": FALLBACK_BETAS,
    "fallback_credit_token": CREDIT_BETAS,
    "billing_policy": frozenset({"user-profiles-billing-2026-10-01"}),
}
"""Fields that need one of these betas."""

OBJECTS = {
    "metadata": _shape("", "user_id"),
    "cache_control": _shape("type", "ttl"),
    "output_config": _shape("", "effort format task_budget"),
    "diagnostics": _shape("", "previous_message_id"),
}
THINKING = {
    "adaptive": _shape("type", "display block_binding"),
    "enabled": _shape("type budget_tokens", "display block_binding"),
    "disabled": _shape("type"),
    "between_tools": _shape("type"),
}
TOOL_CHOICE = {
    "auto": _shape("type", "disable_parallel_tool_use"),
    "any": _shape("type", "disable_parallel_tool_use"),
    "tool": _shape("type name", "disable_parallel_tool_use"),
    "none": _shape("type"),
}
MESSAGE = {
    "user": _shape("role content"),
    "assistant": _shape("role content"),
    "system": _shape("role", "content clear_at output_config"),
}
SYSTEM_FIELD_BETAS = {
    "clear_at": frozenset({"mid-conversation-system-clear-at-2026-08-21"}),
    "output_config": frozenset({"mid-conversation-output-config-2026-07-01"}),
}

_RESULT = _shape("type tool_use_id content", "cache_control caller")
BLOCKS = {
    "text": _shape("type text", "cache_control citations"),
    "image": _shape("type source", "cache_control transformations"),
    "document": _shape("type source", "cache_control citations context title"),
    "search_result": _shape("type source title content", "cache_control citations"),
    "thinking": _shape("type thinking signature"),
    "redacted_thinking": _shape("type data"),
    "tool_use": _shape("type id name input", "cache_control caller toolset_name"),
    "tool_result": _shape("type tool_use_id", "cache_control content is_error toolset_name"),
    "server_tool_use": _shape("type id name input", "cache_control caller"),
    "web_search_tool_result": _RESULT,
    "web_fetch_tool_result": _RESULT,
    "code_execution_tool_result": _RESULT,
    "bash_code_execution_tool_result": _RESULT,
    "text_editor_code_execution_tool_result": _RESULT,
    "tool_search_tool_result": _RESULT,
    "container_upload": _shape("type file_id", "cache_control"),
    "mcp_tool_use": _shape("type id name input server_name", "cache_control"),
    "mcp_tool_result": _shape("type tool_use_id", "cache_control content is_error"),
    "mcp_tool_listing": _shape("type mcp_server_name tools"),
    "advisor_tool_result": _RESULT,
    "compaction": _shape("type content", "cache_control encrypted_content signature tool_changes"),
    "fallback": _shape("type from to", "trigger"),
    "tool_addition": _shape("type tool", "cache_control"),
    "tool_removal": _shape("type tool", "cache_control"),
}
BLOCK_BETAS = {
    "mcp_tool_use": MCP_BETAS,
    "mcp_tool_result": MCP_BETAS,
    "mcp_tool_listing": MCP_BETAS,
    "advisor_tool_result": frozenset({"advisor-tool-2026-03-01"}),
    "compaction": COMPACT_BETAS,
    "fallback": FALLBACK_BETAS | CREDIT_BETAS,
    "tool_addition": TOOL_CHANGE_BETAS,
    "tool_removal": TOOL_CHANGE_BETAS,
}
IN_RESULT = {
    "text": BLOCKS["text"],
    "image": BLOCKS["image"],
    "document": BLOCKS["document"],
    "search_result": BLOCKS["search_result"],
    "tool_reference": _shape("type tool_name", "cache_control"),
    "browser_state": _shape("type", "cache_control state_changes tabs"),
}
"""Blocks inside a `tool_result`."""

ROLES = {
    "user": frozenset({"text", "image", "document", "search_result", "tool_result", "container_upload", "compaction"}),
    "assistant": frozenset(BLOCKS) - {"image", "search_result", "tool_result", "tool_addition", "tool_removal"},
    "system": frozenset({"text", "tool_addition", "tool_removal"}),
}
"""Blocks that each role may say."""

CUSTOM_TOOL = _shape(
    "name input_schema",
    "type description strict defer_loading allowed_callers input_examples eager_input_streaming cache_control",
)
_TOOL = "cache_control allowed_callers defer_loading strict"
_WEB = f"{_TOOL} allowed_domains blocked_domains max_uses"
_SCREEN = f"{_TOOL} display_number input_examples"
TOOLS = {
    "bash_20241022": _shape("type name", f"{_TOOL} input_examples"),
    "bash_20250124": _shape("type name", f"{_TOOL} input_examples"),
    "text_editor_20241022": _shape("type name", f"{_TOOL} input_examples"),
    "text_editor_20250124": _shape("type name", f"{_TOOL} input_examples"),
    "text_editor_20250429": _shape("type name", f"{_TOOL} input_examples"),
    "text_editor_20250728": _shape("type name", f"{_TOOL} input_examples max_characters"),
    "memory_20250818": _shape("type name", f"{_TOOL} input_examples"),
    "web_search_20250305": _shape("type name", f"{_WEB} user_location"),
    "web_search_20260209": _shape("type name", f"{_WEB} user_location"),
    "web_search_20260318": _shape("type name", f"{_WEB} user_location response_inclusion"),
    "web_fetch_20250910": _shape("type name", f"{_WEB} citations max_content_tokens url_sources"),
    "web_fetch_20260209": _shape("type name", f"{_WEB} citations max_content_tokens url_sources"),
    "web_fetch_20260309": _shape("type name", f"{_WEB} citations max_content_tokens url_sources use_cache"),
    "web_fetch_20260318": _shape(
        "type name", f"{_WEB} citations max_content_tokens url_sources use_cache response_inclusion"
    ),
    "code_execution_20250522": _shape("type name", _TOOL),
    "code_execution_20250825": _shape("type name", _TOOL),
    "code_execution_20260120": _shape("type name", _TOOL),
    "code_execution_20260521": _shape("type name", _TOOL),
    "tool_search_tool_bm25_20251119": _shape("type name", _TOOL),
    "tool_search_tool_regex_20251119": _shape("type name", _TOOL),
    "tool_search_tool_bm25": _shape("type name", _TOOL),
    "tool_search_tool_regex": _shape("type name", _TOOL),
    "browser_toolset_20260801": _shape("type", "cache_control configs"),
    "computer_toolset_20260801": _shape("type", "cache_control configs"),
    "computer_20241022": _shape("type name display_width_px display_height_px", _SCREEN),
    "computer_20250124": _shape("type name display_width_px display_height_px", _SCREEN),
    "computer_20251124": _shape("type name display_width_px display_height_px", f"{_SCREEN} enable_zoom"),
    "mcp_toolset": _shape("type mcp_server_name", "cache_control configs default_config tools"),
    "advisor_20260301": _shape("type name model", f"{_TOOL} caching max_tokens max_uses"),
}
"""Tools whose schema is Anthropic's, by `type`."""
RETIRED_TOOLS = frozenset(
    {"bash_20241022", "text_editor_20241022", "text_editor_20250124", "computer_20241022", "computer_20250124"}
)
"""Tool versions that models after 4.5 refuse."""
EDITS = {
    "clear_tool_uses_20250919": _shape("type", "trigger keep clear_at_least exclude_tools clear_tool_inputs"),
    "clear_thinking_20251015": _shape("type", "keep"),
    "compact_20260112": _shape("type", "trigger pause_after_compaction instructions"),
}
