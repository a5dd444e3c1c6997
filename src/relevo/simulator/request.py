"""What a brain reads: the request, with the questions a brain asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model made earlier in this conversation."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The client's answer to a call; `text` joins its text blocks."""

    call: Call
    text: str
    is_error: bool
    content: Any
    """As it came: text, a list of blocks, or None."""

    @property
    def name(self) -> str:
        """The tool that was called."""
        return self.call.name


@dataclass(frozen=True)
class Request:
    """A valid request for a message.  `number` counts requests of this server from 1."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    betas: tuple[str, ...] = ()
    number: int = 1

    @property
    def model(self) -> str:
        """The model id asked for."""
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as it came."""
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    @property
    def streams(self) -> bool:
        """Whether the answer goes out as events."""
        return self.body.get("stream") is True

    @property
    def system(self) -> str:
        """The system prompt as one text."""
        return _text(self.body.get("system"))

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools offered, in order; server tools included."""
        return tuple(str(tool["name"]) for tool in self.body.get("tools") or () if "name" in tool)

    @property
    def turn(self) -> int:
        """Which answer of the conversation this will be, from 1."""
        return 1 + sum(1 for message in self.messages if message.get("role") == "assistant")

    @cached_property
    def user_texts(self) -> tuple[str, ...]:
        """What the person said, one text a message; messages that hold only tool results are not among them."""
        texts = (_text(message.get("content")) for message in self.messages if message.get("role") == "user")
        return tuple(text for text in texts if text)

    @property
    def first_user_text(self) -> str:
        """What opened the conversation; empty when nothing was said."""
        return self.user_texts[0] if self.user_texts else ""

    @property
    def last_user_text(self) -> str:
        """What the person said last; empty when nothing was said."""
        return self.user_texts[-1] if self.user_texts else ""

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every call of a client tool so far, in order."""
        return tuple(
            Call(str(block.get("id")), str(block.get("name")), block.get("input") or {})
            for block in self._blocks("assistant", "tool_use")
        )

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """Every result so far, in order."""
        calls = {call.id: call for call in self.calls}
        return tuple(
            Result(
                calls.get(block.get("tool_use_id", ""), Call(str(block.get("tool_use_id")), "", {})),
                _text(block.get("content")),
                block.get("is_error") is True,
                block.get("content"),
            )
            for block in self._blocks("user", "tool_result")
        )

    @cached_property
    def new_results(self) -> tuple[Result, ...]:
        """The results since the model spoke last; empty when the person spoke instead."""
        count = 0
        for message in reversed(self.messages):
            if message.get("role") == "assistant":
                break
            content = message.get("content")
            if isinstance(content, list):
                count += sum(1 for block in content if block.get("type") == "tool_result")
        return self.results[len(self.results) - count :] if count else ()

    def results_of(self, name: str) -> tuple[Result, ...]:
        """Results of the tool `name`, oldest first."""
        return tuple(result for result in self.results if result.name == name)

    def _blocks(self, role: str, kind: str) -> Iterator[Mapping[str, Any]]:
        for message in self.messages:
            content = message.get("content")
            if message.get("role") == role and isinstance(content, list):
                yield from (block for block in content if isinstance(block, dict) and block.get("type") == kind)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(block.get("text", "")) for block in content if isinstance(block, dict) and block.get("type") == "text"
    )
