"""
E7, E8, M18, M19: every field known, the required ones there, every block of a known type.

Rules that come later, and everything that reads a body, rely on what E8 promises: lists are lists, blocks are objects
with a `type`, text is text.
"""

from __future__ import annotations

from typing import Any

from relevo.simulator import fields
from relevo.simulator.betas import NEWEST_VERSION
from relevo.simulator.fields import Shape
from relevo.simulator.verdict import Verdict

Json = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "messages": (list,),
    "model": (str,),
    "max_tokens": (int,),
    "system": (str, list),
    "tools": (list,),
    "stop_sequences": (list,),
    "stream": (bool,),
    "metadata": (dict,),
    "thinking": (dict,),
    "tool_choice": (dict,),
    "output_config": (dict,),
    "cache_control": (dict,),
    "context_management": (dict,),
    "compaction": (dict,),
    "mcp_servers": (list,),
    "diagnostics": (dict,),
    "thread": (dict,),
    "container": (str, dict),
}
_PARTS: dict[str, tuple[type, ...]] = {
    "type": (str,),
    "name": (str,),
    "ttl": (str,),
    "display": (str,),
    "effort": (str,),
    "tool_name": (str,),
    "mcp_server_name": (str,),
    "budget_tokens": (int,),
    "cache_control": (dict,),
    "caller": (dict,),
    "source": (dict, str),
    "citations": (dict, list),
    "block_binding": (dict,),
    "format": (dict,),
    "task_budget": (dict,),
    "trigger": (dict, str),
    "keep": (dict, str),
    "tool": (dict,),
    "input_schema": (dict,),
    "input_examples": (list,),
    "allowed_callers": (list,),
}
"""What the fields of inner objects are, by name; null says that an optional one is absent."""
_STRINGS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name"),
    "server_tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
}
_REQUIRED = ("model", "max_tokens", "messages")


def check(verdict: Verdict, *, counting: bool = False) -> bool:
    """Judge the shape; false when E8 is broken, and no other rule can be trusted with the body."""
    body = verdict.body
    before = len(verdict.violations)
    allowed = fields.COUNTED if counting else fields.CREATED
    if verdict.version != NEWEST_VERSION:
        allowed |= fields.SAMPLING
    for name in body:
        needed = fields.FIELD_BETAS.get(name)
        if name not in allowed or (needed and body[name] is not None and not verdict.has_beta(needed)):
            _extra(verdict, name)
    for name in _REQUIRED[::2] if counting else _REQUIRED:
        if name not in body:
            verdict.add("E8", f"{name}: Field required")
    for name, kinds in _TYPES.items():
        value = body.get(name)
        if value is None and name not in _REQUIRED:
            continue
        if name in body and (not isinstance(value, kinds) or (kinds == (int,) and isinstance(value, bool))):
            verdict.add("E8", f"{name}: Input should be a valid {kinds[0].__name__}")
    if any(violation.rule == "E8" for violation in verdict.violations[before:]):
        return False
    _objects(verdict, body)
    _texts(verdict, "system", body.get("system"))
    for index, word in enumerate(body.get("stop_sequences") or []):
        if not isinstance(word, str):
            verdict.add("E8", f"stop_sequences.{index}: Input should be a valid string")
    _tools(verdict, body.get("tools") or [])
    for index, message in enumerate(body["messages"]):
        _message(verdict, index, message)
    return all(violation.rule != "E8" for violation in verdict.violations[before:])


def _objects(verdict: Verdict, body: Json) -> None:
    for name, shape in fields.OBJECTS.items():
        if body.get(name):
            _shape(verdict, name, body[name], shape)
    thinking = body.get("thinking")
    if thinking is not None:
        shape_ = fields.THINKING.get(_kind(thinking))
        if shape_ is None:
            verdict.add("L10", f'"thinking.type.{thinking.get("type")}" is not known')
        else:
            _shape(verdict, f"thinking.{thinking['type']}", thinking, shape_)
            if thinking.get("block_binding") and "thinking-binding-controls-2026-08-01" not in verdict.betas:
                _extra(verdict, f"thinking.{thinking['type']}.block_binding")
    choice = body.get("tool_choice")
    if choice is not None:
        shape_ = fields.TOOL_CHOICE.get(_kind(choice))
        if shape_ is None:
            verdict.add("E8", "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
        else:
            _shape(verdict, f"tool_choice.{choice['type']}", choice, shape_)
    config = body.get("output_config")
    if config and config.get("task_budget") and "task-budgets-2026-03-13" not in verdict.betas:
        _extra(verdict, "output_config.task_budget")
    servers = body.get("mcp_servers") or []
    if not all(isinstance(server, dict) and isinstance(server.get("name"), str) for server in servers):
        verdict.add("E8", "mcp_servers: each needs a name")
    edits = (body.get("context_management") or {}).get("edits") or []
    if not isinstance(edits, list):
        verdict.add("E8", "context_management.edits: Input should be a valid list")
        return
    for index, edit in enumerate(edits):
        shape_ = fields.EDITS.get(_kind(edit))
        if shape_ is None:
            verdict.add("E8", f"context_management.edits.{index}: unknown edit")
        else:
            _shape(verdict, f"context_management.edits.{index}", edit, shape_)
            if isinstance(edit.get("trigger"), dict) and not isinstance(edit["trigger"].get("value", 0), int):
                verdict.add("E8", f"context_management.edits.{index}.trigger.value: Input should be a valid integer")


def _texts(verdict: Verdict, path: str, content: Any) -> None:
    for index, block in enumerate(content if isinstance(content, list) else []):
        at = f"{path}.{index}"
        if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
            verdict.add("E8", f"{at}: Input should be a text block")
        else:
            _shape(verdict, at, block, fields.BLOCKS["text"])


def _tools(verdict: Verdict, tools: Any) -> None:
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            verdict.add("E8", f"tools.{index}: Input should be a valid dictionary")
            continue
        kind = "custom" if tool.get("type") is None else _kind(tool)
        shape = fields.CUSTOM_TOOL if kind == "custom" else fields.TOOLS.get(kind)
        at = f"tools.{index}.{kind}"
        if shape is None:  # T12 speaks of it
            if not kind or not isinstance(tool.get("name", ""), str):
                verdict.add("E8", f"{at}: Input should be a tool")
            continue
        _shape(verdict, at, tool, shape)
        for name in {"name", "input_schema"} & shape.required:
            if tool.get(name, name) is None:
                verdict.add("E8", f"{at}.{name}: Field required")


def _message(verdict: Verdict, index: int, message: Any) -> None:
    role = message.get("role") if isinstance(message, dict) else None
    shape = fields.MESSAGE.get(role) if isinstance(role, str) else None
    if shape is None:
        verdict.add("E8", f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")
        return
    if message.keys() != shape.required:
        _shape(verdict, f"messages.{index}", message, shape)
        for name, needed in fields.SYSTEM_FIELD_BETAS.items():
            if role == "system" and message.get(name) is not None and not verdict.has_beta(needed):
                _extra(verdict, f"messages.{index}.{name}")
    content = message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        verdict.add("E8", f"messages.{index}.content: Input should be a valid list")
        return
    for inner, block in enumerate(content):
        _block(verdict, f"messages.{index}.content.{inner}", block)


def _block(verdict: Verdict, at: str, block: Any) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        verdict.add("E8", f"{at}.type: Field required")
        return
    shape = fields.BLOCKS.get(kind)
    needed = fields.BLOCK_BETAS.get(kind)
    if shape is None or (needed is not None and not verdict.has_beta(needed)):
        verdict.add("M18", f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
        return
    if block.keys() != shape.required:
        _shape(verdict, f"{at}.{kind}", block, shape)
    for name in _STRINGS.get(kind, ()):
        if not isinstance(block.get(name, ""), str):
            verdict.add("E8", f"{at}.{kind}.{name}: Input should be a valid string")
    if kind == "tool_result":
        _result_content(verdict, at, block.get("content"))


def _result_content(verdict: Verdict, at: str, content: Any) -> None:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        verdict.add("E8", f"{at}.tool_result.content: Input should be a valid string or list")
        return
    for inner, block in enumerate(content):
        kind = block.get("type") if isinstance(block, dict) else None
        shape = fields.IN_RESULT.get(kind) if isinstance(kind, str) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            verdict.add("E8", f"{at}.tool_result.content.{inner}.type: Field required")
        elif shape is None:
            verdict.add("M19", f"{at}.tool_result.content.{inner}: Input tag '{kind}' is not expected")
        else:
            _shape(verdict, f"{at}.tool_result.content.{inner}", block, shape)
            if kind == "text" and not isinstance(block.get("text"), str):
                verdict.add("E8", f"{at}.tool_result.content.{inner}.text: Input should be a valid string")


def _shape(verdict: Verdict, at: str, value: Any, shape: Shape) -> None:
    for name in value:
        if name not in shape.allowed:
            _extra(verdict, f"{at}.{name}")
    for name in shape.required:
        if name not in value:
            verdict.add("E8", f"{at}.{name}: Field required")
    for name, part in value.items():
        kinds = _PARTS.get(name)
        if kinds is not None and part is not None and not isinstance(part, kinds):
            verdict.add("E8", f"{at}.{name}: Input should be a valid {kinds[0].__name__}")


def _kind(value: Any) -> str:
    found = value.get("type") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _extra(verdict: Verdict, at: str) -> None:
    verdict.add("E7", f"{at}: Extra inputs are not permitted")
