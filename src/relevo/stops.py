"""
What an answer means for the loop. `stop_reason` is the truth; text is never read for control.

The table covers every value the API documents (a test compares it with the SDK's own list). A value that is not in
it is not an error of the program but a newer API: it ends the turn in a typed way and nothing of the answer is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from relevo.content import Block, Json, says_something


class Reading(Enum):
    """What the loop makes of one whole answer."""

    DONE = "done"
    CALLS = "calls"
    """Tools to run, every one of them answered in the next user message."""
    STRAY_CALLS = "stray_calls"
    """Calls in a turn that says it is over: answered as not executed."""
    PAUSED = "paused"
    """A server-side loop hit its own limit, or the server compacted: send the answer back as it is."""
    CUT = "cut"
    """The output limit was hit: nothing in it may run."""
    EMPTY = "empty"
    """Over, and nothing said."""
    REFUSED = "refused"
    CONTEXT_FULL = "context_full"
    UNSUPPORTED = "unsupported"


STOP_REASONS: Mapping[str, Reading] = {
    "end_turn": Reading.DONE,
    "stop_sequence": Reading.DONE,
    "tool_use": Reading.CALLS,
    "pause_turn": Reading.PAUSED,
    "compaction": Reading.PAUSED,
    "max_tokens": Reading.CUT,
    "refusal": Reading.REFUSED,
    "model_context_window_exceeded": Reading.CONTEXT_FULL,
}
"""Source: `BetaStopReason` of anthropic 2.14, and the stop-reason guide, both read 2026-12-01."""


def blocks_of(message: Mapping[str, Json]) -> Sequence[Block]:
    """
    The blocks of an answer, each in its place; an empty one stands for what is no block.

    Odd answers are refused at the door. One that a log holds all the same must not stop whoever reads it.
    """
    content = message.get("content")
    return [block if _is_block(block) else {} for block in content] if isinstance(content, list | tuple) else []


def _is_block(block: Json) -> bool:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        return False
    return block["type"] != "text" or isinstance(block.get("text"), str | None)


def read(message: Mapping[str, Json]) -> Reading:
    """What a whole answer means. An answer without a stop reason is a cut stream and never gets here."""
    content = blocks_of(message)
    reading = STOP_REASONS.get(str(message.get("stop_reason")), Reading.UNSUPPORTED)
    has_calls = any(block.get("type") == "tool_use" for block in content)
    match reading:
        case Reading.DONE if has_calls:
            return Reading.STRAY_CALLS
        case Reading.DONE if not says_something(content):
            return Reading.EMPTY
        case Reading.CALLS if not has_calls:
            return Reading.DONE if says_something(content) else Reading.EMPTY
        case Reading.PAUSED if has_calls:
            return Reading.CALLS
        case _:
            return reading


def holds_back(message: Mapping[str, Json]) -> bool:
    """
    Whether text must wait until the answer after this one.

    While a server tool of a turn that goes on has no result yet, the next user message may hold tool results only.
    """
    if read(message) not in (Reading.PAUSED, Reading.CALLS, Reading.STRAY_CALLS):
        return False
    content = blocks_of(message)
    done = [block["tool_use_id"] for block in content if block.get("tool_use_id")]
    return any(block.get("type") in _ON_SERVER and block.get("id") not in done for block in content)


_ON_SERVER = ("server_tool_use", "mcp_tool_use")
