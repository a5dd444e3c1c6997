"""Cut a reply to what the request allows: stop sequences first, then `max_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relevo.simulator import wire
from relevo.simulator.tokens import BYTES_PER_TOKEN, size_bytes, tokens, weight_bytes

Json = dict[str, Any]

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


@dataclass(frozen=True, slots=True)
class Fitted:
    """Content that fits, why it ended early (None: it did not), and what it cost."""

    content: list[Json]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    partial_json: str | None = None
    """The input of the last block as far as it was written, when that block is an unfinished call."""
    output_tokens: int = 0
    thinking_tokens: int = 0


def fit(content: list[Json], *, max_tokens: int, stop_sequences: Sequence[str] = ()) -> Fitted:
    """Apply the limits of a request; the blocks given are not changed."""
    reason = found = None
    if stop_sequences:
        content, found = _stop(content, stop_sequences)
        reason = "stop_sequence" if found is not None else None
    spent = thinking = 0
    for index, block in enumerate(content):
        size = _size(block)
        if tokens(spent + size) > max_tokens:
            kept = [*content[:index]]
            part, partial_json = _cut(block, max_tokens * BYTES_PER_TOKEN - spent)
            if part is not None:
                kept.append(part)
            thinking += _size(part) if part is not None and part["type"] == "thinking" else 0
            return Fitted(kept, "max_tokens", None, partial_json, max_tokens, tokens(thinking))
        spent += size
        thinking += size if block.get("type") in ("thinking", "redacted_thinking") else 0
    return Fitted(content, reason, found, None, max(1, tokens(spent)), tokens(thinking))


def _size(block: Json) -> int:
    match block.get("type"):
        case "text":
            return size_bytes(block["text"])
        case "thinking":
            return size_bytes(block["thinking"])
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return len(wire.dump(block.get("input", {}))) + len(str(block.get("name")))
        case _:
            return weight_bytes(block)


def _cut(block: Json, room: int) -> tuple[Json | None, str | None]:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        field = str(kind)
        text = block[field].encode("utf-8", "surrogatepass")[: max(0, room)].decode("utf-8", "ignore")
        return ({**block, field: text}, None) if text else (None, None)
    if kind in CALLS:
        written = wire.dump(block.get("input", {})).decode("utf-8")
        partial = written[: max(1, min(room - len(str(block.get("name"))), len(written) - 1))]
        return {**block, "input": _complete_fields(block.get("input", {}), len(partial))}, partial
    return None, None


def _complete_fields(given: Json, limit: int) -> Json:
    # The API gives what can be read of an unfinished input: a call that looks whole and is not.
    kept: Json = {}
    for key, value in given.items():
        if len(wire.dump({**kept, key: value}).decode("utf-8")) > limit:
            break
        kept[key] = value
    return kept


def _stop(content: list[Json], sequences: Sequence[str]) -> tuple[list[Json], str | None]:
    for index, block in enumerate(content):
        if block.get("type") != "text":
            continue
        places = [(place, word) for word in sequences if word and (place := block["text"].find(word)) >= 0]
        if places:
            place, word = min(places)
            last = [{**block, "text": block["text"][:place]}] if place else []
            return [*content[:index], *last], word
    return content, None
