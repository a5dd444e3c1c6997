"""
The rules a request must keep, checked before anything is sent.

Messages are read once, when they are added, with a small memory of what came before; nothing walks the history per
turn. The simulator has rules of its own and shares no code with these: a mistake here does not hide a mistake there.

Rules from the API's documentation and error texts, read 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relevo.content import Block, Json

TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use"})
USER_ONLY = frozenset({"tool_result", "image", "document"})
_IN_RESULT = frozenset({"text", "image", "document", "search_result", "tool_reference", "browser_state"})


@dataclass(slots=True)
class Validator:
    """Reads messages in order and names every rule that the next one would break."""

    seen: set[str] = field(default_factory=set)
    """Ids of calls."""
    owed: list[str] = field(default_factory=list)
    """Calls of the newest assistant turn that have no result yet."""
    last_role: str = ""
    tool_blocks: bool = False
    """Whether any message holds a call or a result; then the request must define tools."""
    server_open: bool = False
    """Whether the newest assistant message is a paused turn, which may stand last."""

    def admit(self, message: Mapping[str, Json]) -> list[str]:
        """Take the next message in; return what is wrong with it, nothing when it is fine."""
        role = message.get("role")
        content: Any = message.get("content")
        wrong: list[str] = []
        if role not in ("user", "assistant"):
            return [f"role {role!r} is neither user nor assistant"]
        if not self.last_role and role != "user":
            wrong.append("the first message must be the user's")
        blocks: Sequence[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if not blocks:
            wrong.append(f"a {role} message has no content")
        if role == "assistant":
            wrong += self._assistant(blocks)
        else:
            wrong += self._user(blocks)
        for block in blocks:
            wrong += _text(block)
        self.last_role = role
        return wrong

    def ready(self) -> list[str]:
        """What is wrong with sending now what was admitted."""
        if not self.last_role:
            return ["there is no message"]
        if self.owed:
            return [f"calls without a result: {', '.join(self.owed)}"]
        if self.last_role == "assistant" and not self.server_open:
            return ["the last message must be the user's"]
        return []

    def _assistant(self, blocks: Sequence[Block]) -> list[str]:
        wrong = [f"calls without a result: {', '.join(self.owed)}"] if self.owed else []
        if self.last_role != "assistant":
            self.owed = []
        self.server_open = False
        for block in blocks:
            kind = block.get("type")
            if kind in USER_ONLY:
                wrong.append(f"a {kind} block in an assistant message")
            if kind != "tool_use":
                continue
            self.tool_blocks = True
            call_id, name = block.get("id"), block.get("name")
            if not isinstance(call_id, str) or not TOOL_USE_ID.fullmatch(call_id):
                wrong.append(f"tool_use id {call_id!r} is not of the allowed form")
            elif call_id in self.seen:
                wrong.append(f"tool_use id {call_id!r} stands twice")
            else:
                self.seen.add(call_id)
                self.owed.append(call_id)
            if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
                wrong.append(f"tool_use name {name!r} is not of the allowed form")
            if not isinstance(block.get("input"), dict):
                wrong.append(f"tool_use {call_id!r} has an input that is not an object")
        return wrong

    def _user(self, blocks: Sequence[Block]) -> list[str]:
        wrong: list[str] = []
        for block in blocks:
            kind = block.get("type")
            if kind in _ASSISTANT_ONLY:
                wrong.append(f"a {kind} block in a user message")
            if kind != "tool_result":
                if self.owed:
                    wrong.append(f"a {kind} block before the results of {', '.join(self.owed)}")
                continue
            self.tool_blocks = True
            call_id = block.get("tool_use_id")
            if call_id in self.owed:
                self.owed.remove(call_id)
            else:
                wrong.append(f"a result for {call_id!r}, which nobody asked for here")
            content: Any = block.get("content")
            for part in content if isinstance(content, list) else []:
                if part.get("type") not in _IN_RESULT:
                    wrong.append(f"a {part.get('type')} block in a tool result")
                wrong += _text(part)
        if self.owed:
            wrong.append(f"calls without a result: {', '.join(self.owed)}")
        self.server_open = False
        return wrong


def _text(block: Block) -> list[str]:
    if block.get("type") != "text":
        return []
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        return ["a text block is blank"]
    return []
