"""How the end of a call is written down: as the hooks leave it, and with what the harness adds for the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from relevo.content import Call, Json, encode
from relevo.events import ToolEnded, ToolWaiting
from relevo.human.hooks import ToolCall, after_call
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.loop.repeats import note_for
from relevo.state import OpenCall
from relevo.tools.context import ToolContext
from relevo.tools.endings import Failed, Returned
from relevo.tools.tool import Tool


def ended(
    journal: Journal,
    parts: Parts,
    call: OpenCall,
    ending: Returned | Failed,
    *,
    tool: Tool[..., Any] | None = None,
    known: ToolContext | None = None,
    given: Json = None,
    seconds: float | None = None,
) -> ToolEnded:
    """The event that ends a call. Without `tool` and `known` nothing was run, and hooks have nothing to say."""
    said: list[str] = []
    if tool is not None and known is not None and parts.hooks:
        about = ToolCall(name=tool.name, input=given, effect=tool.effect, context=known)
        before = ending
        ending, said = after_call(parts.hooks, about, ending, journal.state, max_chars=tool.max_result_chars)
        if isinstance(before, Returned) and isinstance(ending, Returned) and ending is not before:
            ending = replace(ending, degraded=before.degraded)
    is_error = isinstance(ending, Failed)
    content = ending.content
    notes = (
        _changed_note(call, given),
        _degraded_note(ending.degraded) if isinstance(ending, Returned) and ending.degraded is not None else None,
        *said,
        note_for(journal.state, call.call, content, is_error=is_error, cap=parts.limits.repeats),
    )
    return ToolEnded(
        tool_use_id=call.call.id,
        name=call.call.name,
        content=content,
        note=_joined(notes),
        is_error=is_error,
        error=ending.record() if isinstance(ending, Failed) else None,
        data=ending.data if isinstance(ending, Returned) else None,
        input=given,
        seconds=seconds,
        degraded=ending.degraded if isinstance(ending, Returned) else None,
    )


def waiting(call: Call, until: Mapping[str, Json], given: Json, changed_by: str | None = None) -> ToolWaiting:
    """The event that a call waits."""
    return ToolWaiting(tool_use_id=call.id, name=call.name, input=given, until=until, changed_by=changed_by)


def _changed_note(call: OpenCall, given: Json) -> str | None:
    """The model sees its own input in its message; that another was put in its place, only here."""
    if given is None or given == call.call.input:
        return None
    person = call.decision is not None and call.decision.input is not None
    who = "A person" if person else "A rule of this system"
    return f"({who} changed the input of this call to {encode(given).decode()}.)"


def _degraded_note(origin: Mapping[str, Json]) -> str:
    age = origin.get("age_seconds")
    old = "of unknown age" if age is None else f"{age:g} seconds old"
    return (
        f"(Degraded: the tool itself failed ({origin.get('because')}); this comes from {origin.get('source')}, {old}. "
        "Say so if you rely on it.)"
    )


def _joined(notes: Iterable[str | None]) -> str | None:
    return "\n\n".join(note for note in notes if note) or None
