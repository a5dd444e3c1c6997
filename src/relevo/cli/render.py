"""How things look in a terminal, and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from rich.console import Console

from relevo.content import text_of
from relevo.events import (
    Event,
    LoopNudged,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionIdle,
    ToolConfirmation,
    ToolEnded,
    ToolEndedLate,
    ToolFailed,
    ToolStarted,
    ToolWaiting,
    UserInterrupt,
    UserMessage,
)
from relevo.outcome import Outcome, to_wire
from relevo.stops import blocks_of

WIDE = 200
"""Columns where there is no terminal to ask."""


def complain(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"relevo: {printable(text)}\n")


def wide_console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; wide enough for whole ids where there is none."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=WIDE)


def say(text: str = "") -> None:
    """A line on standard output; nothing in it can paint a terminal, and what that cannot show is replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(printable(text).encode(encoding, "replace").decode(encoding) + "\n")
    sys.stdout.flush()


def say_json(value: Any) -> None:
    """One JSON document on standard output, in ASCII: a terminal obeys characters that JSON does not escape."""
    say(json.dumps(value, default=_plain).replace("\x7f", "\\u007f"))


def printable(text: object) -> str:
    """
    On one line, and without control characters.

    Text from a model, a tool or a person may hold escape sequences that would repaint the approver's terminal.
    """
    return "".join(c if c.isprintable() else "·" if c not in "\n\t" else " " for c in str(text))


def shortened(text: object, width: int = 100) -> str:
    """At most `width` characters, on one line."""
    line = printable(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def outcome_json(session_id: str, outcome: Outcome | None) -> dict[str, Any]:
    """A turn's end, for programs."""
    if outcome is None:
        return {"session_id": session_id, "stop_reason": None, "text": ""}
    return {"session_id": session_id, "stop_reason": to_wire(outcome), "text": outcome.text}


def event_json(event: Event) -> dict[str, Any]:
    """An event, for programs."""
    body = event.body
    names = [name for name in type(body).__slots__ if name != "unknown_kind"]
    return {
        "id": event.id,
        "position": event.position,
        "type": event.kind,
        "at": event.at,
        **{name: getattr(body, name) for name in names},
    }


def event_line(event: Event) -> str:
    """What happened, in one line for people; nothing in it can paint a terminal."""
    return shortened(_told(event), 160)


def _told(event: Event) -> str:
    match event.body:
        case SessionCreated(agent=agent, identity=identity):
            who = f" for {json.dumps(dict(identity), ensure_ascii=False)}" if identity else ""
            return f"agent {agent.get('name')} on {agent.get('model')}{who}"
        case UserMessage(content=content):
            return f"“{shortened(text_of(content) or f'{len(content)} blocks')}”"
        case UserInterrupt(reason=reason):
            return reason or ""
        case RequestStarted(attempt=attempt, max_tokens=max_tokens):
            return f"up to {max_tokens} tokens" + (f", attempt {attempt}" if attempt > 1 else "")
        case ModelAnswered(message=message):
            calls = [b.get("name") for b in blocks_of(message) if b.get("type") == "tool_use"]
            said = text_of(blocks_of(message))
            parts = [str(message.get("stop_reason"))]
            parts += [f"calls {', '.join(map(str, calls))}"] if calls else []
            parts += [f"“{shortened(said, 80)}”"] if said.strip() else []
            return shortened(" · ".join(parts), 140)
        case ModelFailed(error=error, retry_in_seconds=wait):
            later = "gives up" if wait is None else f"again in {wait:.1f} s"
            return shortened(f"{error.get('type')}: {error.get('message')} · {later}", 140)
        case LoopNudged(reason=reason):
            return reason
        case ToolStarted(name=name, input=given, effect=effect, attempt=attempt, changed_by=changed_by):
            more = f" · attempt {attempt}" if attempt > 1 else ""
            more += f" · changed by {changed_by}" if changed_by else ""
            return shortened(f"{name}({json.dumps(given, ensure_ascii=False)}) · {effect}{more}", 140)
        case ToolFailed(name=name, error=error, retry_in_seconds=wait):
            return shortened(f"{name} ✗ {error.get('message')} · again in {wait:.1f} s", 140)
        case ToolEndedLate(name=name, content=content):
            return shortened(f"{name}, given up before, ended after all: {content}", 140)
        case ToolWaiting(name=name, until=until):
            return shortened(f"{name} waits for {until.get('type')}: {until.get('reason', '')}", 140)
        case ToolConfirmation(result=result, approver=approver, deny_message=message):
            return shortened(f"{result} by {approver}" + (f": {message}" if message else ""), 140)
        case ToolEnded(name=name, content=content, is_error=is_error, degraded=degraded):
            sign = "✗" if is_error else "~>" if degraded else "→"
            return shortened(f"{name} {sign} {text_of(content) or '[blocks]'}", 140)
        case SessionIdle(stop_reason=stop_reason):
            return str(stop_reason.get("type"))
        case _:
            return ""


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)
