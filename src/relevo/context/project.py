"""
What the model sees: the log as messages, each encoded once.

`Projection` reads events in order and only ever adds messages, so what was sent before is a byte prefix of what is
sent later; prompt caching and preserved thinking live from that. Three rules make every prefix of every log a valid
conversation:

- An answer is held back until something follows it. An answer with calls follows when all its results are there: one
  user message, results first, in the model's order.
- A message that arrives while a request is under way, or while calls are open, comes after what it could not
  influence.
- Of a cut answer, only whole text (with its thinking) is kept, and only when it is built upon. A refused answer is not
  kept at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import UnionType
from typing import Any

from relevo.content import Block, Call, Json, calls_of, decode, encode, text_block, text_of
from relevo.context.validate import TOOL_NAME, TOOL_USE_ID, USER_ONLY, Validator
from relevo.errors import InvalidRequest
from relevo.events import (
    Event,
    LoopNudged,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionUpdated,
    ToolEnded,
    ToolEndedLate,
    UserMessage,
)
from relevo.stops import Reading, blocks_of, holds_back, read

PROJECTION_VERSION = 1
"""Changes whenever the same events give other messages; older snapshots are then thrown away."""

_LIST_OR_NONE: Any = list | None  # pyright: ignore[reportMissingTypeArgument]  for isinstance

SENT: Mapping[str, Mapping[str, type | UnionType]] = {
    "text": {"type": str, "text": str, "citations": _LIST_OR_NONE},
    "tool_use": {"type": str, "id": str, "name": str, "input": dict, "caller": dict, "toolset_name": str},
}
"""The fields that requests take of a block, and as what. The kinds that are not here go back with every field."""

MAX_INPUT_BYTES = 1_000_000
"""A call's input larger than this is shown to the model as a marker; the log keeps it whole."""


class Held(Enum):
    """What kind of answer waits for something to follow it."""

    WHOLE = "whole"
    PAUSED = "paused"
    CUT = "cut"


@dataclass(slots=True)
class Memory:
    """What a projection must remember besides its messages."""

    validator: Validator = field(default_factory=Validator)
    ids: set[str] = field(default_factory=set)
    """Every id of a call that stands in a message."""
    held: list[Block] = field(default_factory=list)
    """The newest answer, until something follows it."""
    held_as: Held = Held.WHOLE
    calls: tuple[Call, ...] = ()
    """The open round."""
    wire_ids: dict[str, str] = field(default_factory=dict)
    """Of the open round: our id of a call -> the id in the messages."""
    results: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    """Of the open round, by our id."""
    unheard: list[list[Block]] = field(default_factory=list)
    """Messages that wait for the round, or the request under way, to end."""
    in_flight: bool = False
    holds_back: bool = False
    model: str | None = None
    has_tools: bool = True
    """A request that defines no tool may hold no call: what a model asks for all the same is told in words."""


class Projection:
    """The messages of a session, grown event by event."""

    def __init__(self, memory: Memory | None = None, messages: Iterable[bytes] = ()) -> None:
        self.messages = list(messages)
        """Encoded, ready to be joined. Only ever appended to, except by a reset (a change of model)."""
        self.memory = memory or Memory()

    def apply(self, event: Event) -> None:
        """Take the next event in."""
        match event.body:
            case ModelAnswered(message=message):
                self._answered(event, message)
            case ToolEnded() as body:
                self._ended(body)
            case RequestStarted():
                self._asked()
            case UserMessage(content=content):
                self._hear(_sayable(content))
            case ToolEndedLate() as body:
                self._hear([text_block(_late(body))])
            case ModelFailed():
                self.memory.in_flight = False
                if not self.memory.holds_back:
                    self._say_unheard()
            case LoopNudged(text=text):
                self._let_go()
                self._add("user", [text_block(text)])
                self.memory.holds_back = False
                self._say_unheard()
            case SessionCreated(agent=agent):
                self.memory.model = agent.get("model")
                self.memory.has_tools = agent.get("tools") != []
            case SessionUpdated(agent=agent) if agent is not None:
                self.memory.has_tools = agent.get("tools") != []
                if agent.get("model") != self.memory.model:
                    self.memory.model = agent.get("model")
                    self._forget_thinking()
            case _:
                pass

    def check(self, *, has_tools: bool) -> None:
        """Raise InvalidRequest unless the messages may be sent now."""
        wrong = self.memory.validator.ready()
        if self.memory.validator.tool_blocks and not has_tools:
            wrong.append("calls stand in the messages but no tool is defined")
        if wrong:
            raise InvalidRequest(tuple(wrong))

    def _hear(self, blocks: list[Block]) -> None:
        self.memory.unheard.append(blocks)
        if not self.memory.in_flight and not self.memory.calls and not self.memory.holds_back:
            self._let_go()
            self._say_unheard()

    def _answered(self, event: Event, message: Mapping[str, Json]) -> None:
        self.memory.in_flight = False
        reading = read(message)
        content = blocks_of(message)
        self.memory.holds_back = holds_back(message)
        match reading:
            case Reading.EMPTY | Reading.REFUSED:
                pass
            case Reading.CUT | Reading.CONTEXT_FULL | Reading.UNSUPPORTED:
                self._hold(_whole_text(content), Held.CUT)
            case Reading.PAUSED:
                self._hold(self._wire(event, content, last=True), Held.PAUSED)
            case Reading.CALLS | Reading.STRAY_CALLS:
                self._hold(self._wire(event, content), Held.WHOLE)
                self.memory.calls = calls_of(content, event.id)
                return
            case Reading.DONE:
                self._hold(self._wire(event, content), Held.WHOLE)
        if self.memory.unheard and not self.memory.holds_back and self.memory.held_as is not Held.PAUSED:
            self._let_go()
            self._say_unheard()

    def _asked(self) -> None:
        self.memory.in_flight = True
        if self.memory.held_as is Held.CUT:
            self.memory.held = []  # asked again with a larger limit: as if it had never been said
        paused = bool(self.memory.held) and self.memory.held_as is Held.PAUSED
        self._let_go()
        if paused:
            self.memory.validator.server_open = True
        if not self.memory.holds_back:
            self._say_unheard()

    def _ended(self, body: ToolEnded) -> None:
        wire_id = self.memory.wire_ids.get(body.tool_use_id)
        if wire_id is None or body.tool_use_id in self.memory.results:
            return
        told = _result(wire_id, body)
        self.memory.results[body.tool_use_id] = told if self.memory.has_tools else text_block(_in_words(told))
        if len(self.memory.results) < len(self.memory.wire_ids):
            return
        results = [self.memory.results[call_id] for call_id in self.memory.wire_ids]
        self.memory.calls, self.memory.results, self.memory.wire_ids = (), {}, {}
        self._let_go()
        spoken = [] if self.memory.holds_back else [block for blocks in self.memory.unheard for block in blocks]
        if not self.memory.holds_back:
            self.memory.unheard = []
        self._add("user", [*results, *spoken])

    def _hold(self, content: list[Block], held_as: Held) -> None:
        self.memory.held, self.memory.held_as = content, held_as

    def _let_go(self) -> None:
        """The held answer becomes a message."""
        if self.memory.held:
            self._add("assistant", self.memory.held)
        self.memory.held, self.memory.held_as = [], Held.WHOLE

    def _say_unheard(self) -> None:
        for blocks in self.memory.unheard:
            self._add("user", blocks)
        self.memory.unheard = []

    def _add(self, role: str, content: list[Any]) -> None:
        if not content:
            return
        message = {"role": role, "content": content}
        wrong = self.memory.validator.admit(message)
        if wrong:
            raise InvalidRequest(tuple(wrong))
        self.messages.append(encode(message))

    def _wire(self, event: Event, content: Sequence[Block], *, last: bool = False) -> list[Block]:
        """
        An answer as it may be sent back: verbatim, but for what responses allow and requests forbid.

        Nothing in it can make `admit` refuse the message, whatever the log holds.

        `last` is an answer that will stand last in a request; its text may not end in white space.
        """
        blocks: list[Block] = []
        for index, block in enumerate(content):
            if _is_taken_back(block):
                blocks.append(_as_sent(self._call(event, index, block) if block["type"] == "tool_use" else block))
        if last and blocks and blocks[-1].get("type") == "text":
            blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
        return blocks

    def _call(self, event: Event, index: int, block: Block) -> Block:
        """A call with an id, a name and an input that a request may hold; the same object when it already has."""
        wire_id, name, given = block.get("id"), block.get("name"), block.get("input")
        changes: dict[str, Json] = {}
        if not isinstance(wire_id, str) or not TOOL_USE_ID.fullmatch(wire_id) or wire_id in self.memory.ids:
            wire_id = changes["id"] = self._new_id(f"toolu_{event.position}_{index}")
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            changes["name"] = "".join(c if TOOL_NAME.fullmatch(c) else "_" for c in str(name)[:128]) or "_"
        if not isinstance(given, dict):
            changes["input"] = {"_raw": given}
        elif len(size := encode(given)) > MAX_INPUT_BYTES:
            changes["input"] = {"_elided": f"an input of {len(size)} bytes; the log keeps it"}
        self.memory.ids.add(wire_id)
        self.memory.wire_ids[f"{event.id}.{index}"] = wire_id
        if not self.memory.has_tools:
            return text_block(f"(I asked for a tool, {changes.get('name', name)}, and there is none.)")
        return {**block, **changes} if changes else block

    def _new_id(self, wanted: str) -> str:
        while wanted in self.memory.ids:
            wanted += "_"  # the model may have thought of the same
        return wanted

    def _forget_thinking(self) -> None:
        """
        Remove whole thinking blocks from what was said before: their signatures bind them to the model that made them.

        A reset: the bytes of earlier messages change. Source: preserved-thinking guide, read 2026-12-01.
        """
        kept: list[bytes] = []
        for message in map(decode, self.messages):
            content = [block for block in message["content"] if not _is_thinking(block)]
            if content:
                kept.append(encode({**message, "content": content}))
        self.messages[:] = kept
        self.memory.held = [block for block in self.memory.held if not _is_thinking(block)]


def _is_thinking(block: Block) -> bool:
    return block.get("type") in ("thinking", "redacted_thinking")


def _sayable(content: Sequence[Block]) -> list[Block]:
    return [block for block in content if block.get("type") != "text" or (block.get("text") or "").strip()]


def _is_taken_back(block: Block) -> bool:
    """Whether a request may hold this block of an answer."""
    match block.get("type"):
        case None:
            return False
        case "text":
            return bool((block.get("text") or "").strip())
        case "thinking":
            return isinstance(block.get("thinking"), str) and _is_sealed(block.get("signature"))
        case "redacted_thinking":
            return _is_sealed(block.get("data"))
        case kind:
            return kind not in USER_ONLY


def _is_sealed(seal: Json) -> bool:
    return isinstance(seal, str) and bool(seal)


def _as_sent(block: Block) -> Block:
    """The block without the fields that requests refuse; the same object when it has none."""
    fields = SENT.get(block["type"])
    if fields is None:
        return block
    kept = {name: value for name, value in block.items() if name in fields and isinstance(value, fields[name])}
    return block if len(kept) == len(block) else kept


def _whole_text(content: Sequence[Block]) -> list[Block]:
    """Of a cut answer, what may be kept: finished thinking and text, when there is any text."""
    kept = [
        _as_sent(block)
        for block in content
        if (block.get("type") == "text" or _is_thinking(block)) and _is_taken_back(block)
    ]
    return kept if any(block.get("type") == "text" for block in kept) else []


def _result(wire_id: str, body: ToolEnded) -> Mapping[str, Json]:
    content: Any = body.content if isinstance(body.content, str) else _sayable(body.content)
    if isinstance(content, str) and not content.strip():
        content = ""
    if body.note:
        content = f"{content}\n\n{body.note}" if isinstance(content, str) else [*content, text_block(body.note)]
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": wire_id}
    if content:
        block["content"] = content
    if body.is_error:
        block["is_error"] = True
        block.setdefault("content", "(no message)")  # an error without content is refused
    return block


def _late(body: ToolEndedLate) -> str:
    how = "failed" if body.is_error else "did come to its end"
    return f"(News of an earlier call: {body.name}, which was given up, {how} after all. It said: {body.content})"


def _in_words(result: Mapping[str, Json]) -> str:
    content = result.get("content") or "(no output)"
    return content if isinstance(content, str) else text_of(content) or "(no text)"
