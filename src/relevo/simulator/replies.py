"""What a brain answers, and the words to write it with: `think("...") + say("...") + call("tool", {...})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from relevo.simulator.faults import Fault

Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """
    One assistant turn.  The simulator adds ids, usage and signatures, and obeys `max_tokens` and `stop_sequences`.

    `a + b` joins the content; of everything else the right side wins where it says something.
    """

    content: tuple[Block, ...] = ()
    stop_reason: str | None = None
    """None: `tool_use` when a client tool is called, else `end_turn`.  Any other text is sent as it is."""
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Fields that replace or join the computed usage."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields beside `content` in the message: `container`, `context_management`, a field of the future."""
    fault: Fault | None = None
    whole: bool = False
    """Whether `max_tokens` and `stop_sequences` have had their say already, as in a recording."""
    stream_text: str | None = None
    """A recorded stream, sent as it is to a request that streams."""

    def __add__(self, other: Reply) -> Reply:
        return Reply(
            content=self.content + other.content,
            stop_reason=other.stop_reason or self.stop_reason,
            stop_sequence=other.stop_sequence or self.stop_sequence,
            stop_details=other.stop_details or self.stop_details,
            usage={**self.usage, **other.usage},
            extra={**self.extra, **other.extra},
            fault=other.fault or self.fault,
            whole=other.whole or self.whole,
        )

    def but(self, **changes: Any) -> Reply:
        """The same reply with some fields changed: `say("hi").but(fault=CleanEnd())`."""
        return replace(self, **changes)


def say(text: str, *, stop_reason: str | None = None, citations: list[Any] | None = None) -> Reply:
    """Answer with text."""
    block: dict[str, Any] = {"type": "text", "text": text}
    if citations:
        block["citations"] = citations
    return Reply((block,), stop_reason)


def call(
    name: str,
    input: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
    *,
    id: str | None = None,  # noqa: A002
    **more: Any,
) -> Reply:
    """Call a tool of the client.  `id` None: the simulator invents one.  `more` joins the block (`caller`)."""
    block: dict[str, Any] = {"type": "tool_use", "name": name, "input": dict(input or {}), **more}
    if id is not None:
        block["id"] = id
    return Reply((block,))


def think(text: str = "", *, signature: str | None = None) -> Reply:
    """
    Think before what follows.  Signed by the simulator unless `signature` is given.

    Left out when the request turned thinking off; its text is hidden when the request's `display` is `omitted`.
    """
    block: dict[str, Any] = {"type": "thinking", "thinking": text}
    if signature is not None:
        block["signature"] = signature
    return Reply((block,))


def redacted(data: str = "cmVkYWN0ZWQ=") -> Reply:
    """Thinking that only the API can read."""
    return Reply(({"type": "redacted_thinking", "data": data},))


def raw(*blocks: Block, stop_reason: str | None = None) -> Reply:
    """Blocks of any kind, server tools and kinds of the future included, sent as they are."""
    return Reply(tuple(blocks), stop_reason)


def refuse(category: str | None = None, explanation: str | None = None) -> Reply:
    """Refuse: empty content, `stop_reason` refusal."""
    details = {"type": "refusal", "category": category, "explanation": explanation}
    return Reply(stop_reason="refusal", stop_details=details)


def compact(summary: str | None) -> Reply:
    """Answer a `compaction` request with a summary; None is a compaction that failed."""
    block = {"type": "compaction", "content": summary, "encrypted_content": None}
    return Reply((block,), stop_reason="compaction")


def fail(fault: Fault) -> Reply:
    """No answer at all, or (with a late fault) a spoiled empty one."""
    return Reply(fault=fault)
