"""T1 to T15: tools and the choice among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from relevo.simulator import fields, schemas
from relevo.simulator.models import Model
from relevo.simulator.verdict import Verdict

Json = dict[str, Any]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
# Source: platform.claude.com/docs strict-tool-use, read 2026-12-01.
MAX_STRICT_TOOLS = 20
MAX_OPTIONAL_PARAMETERS = 24
_TOOLSET_MEMBERS = {
    "browser_toolset_20260801": ("navigate", "screenshot", "left_click", "type", "key", "scroll", "find", "read_page"),
    "computer_toolset_20260801": ("screenshot", "left_click", "type", "key", "scroll", "mouse_move", "zoom", "wait"),
}


def check(verdict: Verdict, model: Model) -> None:
    """Judge tools and `tool_choice`; their shape is good."""
    tools: list[Json] = verdict.body.get("tools") or []
    for index, tool in enumerate(tools):
        kind = tool.get("type") or "custom"
        if kind == "custom":
            _custom(verdict, f"tools.{index}.custom", tool)
        else:
            _known(verdict, f"tools.{index}", kind, tool, model)
        if tool.get("defer_loading") and tool.get("cache_control"):
            verdict.add("T11", f"tools.{index}: defer_loading tools cannot carry cache_control")
    names = [name for tool in tools for name in _names(tool)]
    if doubled := [name for name, count in Counter(names).items() if count > 1]:
        verdict.add("T2", f"tools: Tool names must be unique. Found more than once: {', '.join(doubled)}")
    if tools and all(tool.get("defer_loading") for tool in tools):
        verdict.add("T10", "At least one tool must have defer_loading=false.")
    _strict(verdict, tools)
    _choice(verdict, names, model)
    _references(verdict, frozenset(names))
    _servers(verdict, tools)


def _custom(verdict: Verdict, at: str, tool: Json) -> None:
    if not _NAME.match(tool["name"]):
        verdict.add("T1", f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    schema = tool["input_schema"]
    if schema.get("type") != "object":
        found = "Input should be 'object'" if "type" in schema else "Field required"
        verdict.add("T3", f"{at}.input_schema.type: {found}")
    faults = next(schemas.faults_of(schema), None)
    union = next((word for word in ("oneOf", "anyOf", "allOf") if word in schema), None)
    if faults:
        verdict.add(
            "T4", f"{at}.input_schema{faults}: JSON schema is invalid. It must match JSON Schema draft 2020-12."
        )
    elif union:
        verdict.add("T4", f"{at}.input_schema: does not support oneOf, allOf, or anyOf at the top level")
    elif tool.get("strict"):
        for reason in schemas.unenforceable(schema):
            verdict.add("T5", f"{at}.input_schema{reason}")
    for index, example in enumerate(tool.get("input_examples") or ()):
        if not faults and not schemas.fits(example, schema):
            verdict.add("T15", f"{at}.input_examples.{index}: does not match the input_schema")


def _known(verdict: Verdict, at: str, kind: str, tool: Json, model: Model) -> None:
    retired = kind in fields.RETIRED_TOOLS and not model.prefill
    if kind not in fields.TOOLS or retired:
        verdict.add("T12", f"{at}: '{model.id}' does not support tool types: {kind}.")
    if kind == "advisor_20260301" and "advisor-tool-2026-03-01" not in verdict.betas:
        verdict.add("T12", f"{at}: tool type {kind} needs the beta advisor-tool-2026-03-01.")
    if kind == "mcp_toolset" and not verdict.has_beta(fields.MCP_BETAS):
        verdict.add("T12", f"{at}: tool type {kind} needs an mcp-client beta.")
    if "name" in tool and not _NAME.match(tool["name"]):
        verdict.add("T1", f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")


def _names(tool: Json) -> tuple[str, ...]:
    members = _TOOLSET_MEMBERS.get(tool.get("type") or "")
    return members or ((tool["name"],) if "name" in tool else ())


def _strict(verdict: Verdict, tools: list[Json]) -> None:
    strict = [tool for tool in tools if tool.get("strict") and "input_schema" in tool]
    if len(strict) > MAX_STRICT_TOOLS:
        verdict.add("T5", f"tools: at most {MAX_STRICT_TOOLS} tools may be strict, found {len(strict)}")
    optional = sum(schemas.optional_count(tool["input_schema"]) for tool in strict)
    if optional > MAX_OPTIONAL_PARAMETERS:
        verdict.add("T5", f"tools: at most {MAX_OPTIONAL_PARAMETERS} optional parameters, found {optional}")


def _choice(verdict: Verdict, names: list[str], model: Model) -> None:
    choice = verdict.body.get("tool_choice")
    if not choice:
        return
    kind = choice["type"]
    if not verdict.body.get("tools"):
        verdict.add("T7", "tool_choice may only be specified while providing tools.")
    elif kind == "tool" and choice["name"] not in names:
        verdict.add("T6", f"Tool '{choice['name']}' not found in provided tools")
    if kind in ("any", "tool"):
        if not model.forced_tools:
            verdict.add("T9", 'tool_choice: type "tool" and "any" are not supported for this model.')
        # Adaptive thinking accepts a forced tool: a recording of the API on claude-opus-4-6 shows it.
        if (verdict.body.get("thinking") or {}).get("type") == "enabled":
            verdict.add("T8", "Thinking may not be enabled when tool_choice forces tool use.")


def _references(verdict: Verdict, names: frozenset[str]) -> None:
    if verdict.kinds.isdisjoint(("tool_result", "tool_search_tool_result", "tool_addition", "tool_removal")):
        return
    for place, _, block in verdict.placed:
        for name in _referred(block) if place[0] >= 0 else ():
            if name not in names:
                verdict.add(
                    "T13",
                    f"messages.{place[0]}: tool_reference to unknown tool '{name}'",
                    error_code="tool_reference_unresolved",
                )


def _referred(block: Json) -> Iterable[str]:
    content = block.get("content")
    kind = block["type"]
    if kind == "tool_result" and type(content) is list:
        return [str(inner.get("tool_name")) for inner in content if inner["type"] == "tool_reference"]
    if kind == "tool_search_tool_result" and isinstance(content, dict):
        found = content.get("tool_references")
        inside = found if isinstance(found, list) else ()
        return [str(inner.get("tool_name")) for inner in inside if isinstance(inner, dict)]
    tool = block.get("tool") if kind in ("tool_addition", "tool_removal") else None
    if isinstance(tool, dict) and tool.get("type") == "tool_reference":
        return (str(tool.get("name") or tool.get("tool_name")),)
    return ()


def _servers(verdict: Verdict, tools: list[Json]) -> None:
    servers = Counter(
        server.get("name") for server in verdict.body.get("mcp_servers") or () if isinstance(server, dict)
    )
    sets = Counter(tool.get("mcp_server_name") for tool in tools if tool.get("type") == "mcp_toolset")
    for name in servers.keys() | sets.keys():
        if servers[name] != 1 or sets[name] != 1:
            verdict.add("T14", f"mcp_servers: server {name!r} must be used by exactly one mcp_toolset")
