"""M1 to M23: what a conversation must look like."""

from __future__ import annotations

import re
from typing import Any

from relevo.simulator import fields
from relevo.simulator.betas import NEWEST_VERSION
from relevo.simulator.models import Model
from relevo.simulator.turns import Turn
from relevo.simulator.verdict import Verdict

Json = dict[str, Any]

MAX_MESSAGES = 100_000
_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")


def check(verdict: Verdict, model: Model) -> None:
    """Judge the conversation; its shape is good."""
    body = verdict.body
    messages = body["messages"]
    if not messages:
        verdict.add("M1", "messages: at least one message is required")
        return
    merged = verdict.turns
    if merged[0].role == "system":
        verdict.add("M21", "messages.0: use the top-level 'system' parameter for the initial system prompt")
    elif merged[0].role != "user" and not any(merged[0].of("compaction")):
        verdict.add("M2", 'messages: first message must use the "user" role')
    _system_text(verdict, body.get("system"))
    _emptiness(verdict, messages)
    _system_turns(verdict, merged, model)
    for turn in merged:
        _turn(verdict, turn)
    _calls(verdict, merged)
    _ending(verdict, merged, model)


def _system_text(verdict: Verdict, system: Any) -> None:
    texts = [system] if isinstance(system, str) and system else []
    texts += [block["text"] for block in system] if isinstance(system, list) else []
    for text in texts:
        if not text.strip():
            verdict.add("M12", f"system: {_blank(text)}")


def _emptiness(verdict: Verdict, messages: list[Json]) -> None:
    last = len(messages) - 1
    for index, message in enumerate(messages):
        content = message.get("content")
        if not content and message["role"] != "system" and not (index == last and message["role"] == "assistant"):
            verdict.add(
                "M13",
                f"messages.{index}: all messages must have non-empty content except for the optional final"
                " assistant message",
            )


def _system_turns(verdict: Verdict, merged: list[Turn], model: Model) -> None:
    for number, turn in enumerate(merged):
        if turn.role != "system":
            continue
        at = f"messages.{turn.first}"
        if not model.system_turns:
            verdict.add("M21", f"{at}: role 'system' is not supported on this model")
        if number == 0:
            continue
        before = merged[number - 1]
        after_server_tool = before.role == "assistant" and before.blocks[-1:] and _is_server(before.blocks[-1][2])
        if before.role != "user" and not after_server_tool:
            verdict.add("M21", f"{at}: a system message must follow a user message")
        if number + 1 < len(merged) and merged[number + 1].role != "assistant":
            verdict.add("M21", f"{at}: a system message must be last or be followed by an assistant message")


def _is_server(block: Json) -> bool:
    kind = str(block["type"])
    return kind == "server_tool_use" or kind.endswith("_tool_result")


def _turn(verdict: Verdict, turn: Turn) -> None:
    allowed = fields.ROLES[turn.role]
    newest = verdict.version == NEWEST_VERSION
    for index, inner, block in turn.blocks:
        kind = block["type"]
        at = f"messages.{index}.content.{inner}"
        if kind == "text":
            text = block["text"]
            # Blank text beside calls in an assistant turn is accepted: recordings of the API hold such requests.
            if not text or (text.isspace() and (turn.role != "assistant" or len(turn.blocks) == 1)):
                verdict.add("M12", f"messages: {_blank(text)}")
            if turn.role == "user" and newest and block.get("citations"):
                verdict.add("M17", f"{at}.text.citations: not permitted in user messages")
        elif kind == "document" and turn.role == "assistant":
            if newest:
                verdict.add("M17", f"{at}: `document` blocks can only be in `user` messages")
        elif kind not in allowed and kind in fields.BLOCKS:
            rule = "M21" if turn.role == "system" else "M16"
            verdict.add(rule, f"{at}: `{kind}` blocks can not be in `{turn.role}` messages")
        if kind == "tool_use" and turn.role == "assistant":
            if not _ID.match(block["id"]):
                verdict.add("M10", f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if not isinstance(block["input"], dict):
                verdict.add("M11", f"{at}.tool_use.input: Input should be a valid dictionary")
        elif kind == "tool_result" and isinstance(block.get("content"), list):
            for each in block["content"]:
                if each["type"] == "text" and not each["text"]:
                    verdict.add("M12", f"{at}: {_blank(each['text'])}")


def _blank(text: str) -> str:
    return f"text content blocks must {'contain non-whitespace text' if text else 'be non-empty'}"


def _calls(verdict: Verdict, merged: list[Turn]) -> None:
    seen: set[str] = set()
    any_call = False
    for number, turn in enumerate(merged):
        if turn.role == "assistant":
            calls = turn.of("tool_use")
            any_call = any_call or bool(calls)
            for index, inner, block in calls:
                if block["id"] in seen:
                    verdict.add("M8", f"messages.{index}.content.{inner}: `tool_use` ids must be unique")
                seen.add(block["id"])
            if calls:
                then = merged[number + 1] if number + 1 < len(merged) else None
                _answers(verdict, turn, calls, then, open_round=number + 2 >= len(merged))
        elif turn.role == "user":
            any_call = _results(verdict, turn, merged[number - 1] if number else None) or any_call
    if any_call and not verdict.body.get("tools"):
        verdict.add("M20", "Requests which include tool_use or tool_result blocks must define tools")


def _answers(
    verdict: Verdict, turn: Turn, calls: list[tuple[int, int, Json]], then: Turn | None, *, open_round: bool
) -> None:
    answered = {block["tool_use_id"] for _, _, block in then.of("tool_result")} if then and then.role == "user" else ()
    missing = [block["id"] for _, _, block in calls if block["id"] not in answered]
    if missing:
        verdict.add(
            "M5",
            f"messages.{turn.blocks[-1][0]}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next"
            " message.",
        )
    by_code = any(str((block.get("caller") or {}).get("type", "")).startswith("code_") for _, _, block in calls)
    if by_code and then is not None and any(block["type"] != "tool_result" for _, _, block in then.blocks):
        verdict.add("M23", f"messages.{then.first}: calls made by code must be answered with tool_result blocks only")
    if by_code and then is not None and open_round and not verdict.body.get("container"):
        verdict.add("M23", "container: is required to answer calls made by code")


def _results(verdict: Verdict, turn: Turn, before: Turn | None) -> bool:
    known = {block["id"] for _, _, block in before.of("tool_use")} if before and before.role == "assistant" else set()
    answered: set[str] = set()
    other = False
    found = False
    for index, inner, block in turn.blocks:
        if block["type"] != "tool_result":
            other = True
            continue
        found = True
        id_ = block["tool_use_id"]
        at = f"messages.{index}.content.{inner}"
        if id_ not in known:
            verdict.add("M6", f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}.")
        elif id_ in answered:
            verdict.add("M9", f"{at}: each tool_use must have a single result. Found multiple with id: {id_}")
        elif other:
            verdict.add("M7", f"{at}: `tool_result` blocks must come first in their message: {id_}")
        answered.add(id_)
    return found


def _ending(verdict: Verdict, merged: list[Turn], model: Model) -> None:
    last = merged[-1]
    if last.role != "assistant" or not last.blocks:
        return
    final = last.blocks[-1][2]
    # A turn that a server tool paused is sent back as it is (M22).
    if _is_server(final) or final["type"] in ("mcp_tool_use", "mcp_tool_result", "compaction"):
        return
    if final["type"] == "text" and final["text"] != final["text"].rstrip():
        verdict.add("M14", "messages: final assistant content cannot end with trailing whitespace")
    if not model.prefill and final["type"] != "tool_use":
        verdict.add(
            "M15",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
