"""
What a log means, put away so that waking a long session costs only what came since.

A snapshot is a cache: it can be thrown away at any moment, and one of another version, or one that is not whole, is.
The first line is the hash of the rest, the second the state and the projection's memory as JSON; then comes one line
for each message, in the bytes that are sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from relevo import events, outcome, phases, state
from relevo.content import Call, Json, decode, encode
from relevo.context import project
from relevo.context.project import PROJECTION_VERSION, Memory, Projection
from relevo.context.validate import Validator
from relevo.fold import FOLD_VERSION, fold
from relevo.log.log import Log, Snapshot
from relevo.state import Fact, State

VERSION = FOLD_VERSION * 1000 + PROJECTION_VERSION
FIRST = 500
"""No snapshot of a shorter log: reading it is as fast."""
GROWTH = 1.5
"""A new one when the log has grown by this factor, so that all snapshots together cost a constant share of the log."""

_CLASSES: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Call,
        Memory,
        State,
        events.ToolConfirmation,
        events.ToolStarted,
        events.UserInterrupt,
        phases.Phase,
        project.Held,
        state.OpenCall,
        state.Status,
        state.Totals,
        state.Turn,
        Validator,
        *outcome.Outcome.__args__,
    )
}


async def replay(log: Log, session_id: str) -> tuple[State, Projection, int]:
    """What a log means now, and how far the snapshot reached that it was read from (0: from the beginning)."""
    stored = await log.load_snapshot(session_id)
    read = None if stored is None else load(stored)
    now, projection = read or (State(session_id=session_id), Projection())
    reached = now.position
    for event in await log.read(session_id, after=reached):
        now = fold(now, event)
        projection.apply(event)
    return now, projection, reached


def due(position: int, last: int) -> bool:
    """Whether a log at `position`, last put away at `last`, is worth another snapshot."""
    return position >= max(FIRST, last * GROWTH)


def save(now: State, projection: Projection) -> Snapshot:
    """Put a state and its projection away."""
    head = encode([_pack(now), _pack(projection.memory)])
    data = b"\n".join((head, *projection.messages))
    return Snapshot(now.position, VERSION, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def load(snapshot: Snapshot) -> tuple[State, Projection] | None:
    """Take them out again; None when another version put them away, or the bytes are not whole."""
    digest, _, data = snapshot.data.partition(b"\n")
    if snapshot.version != VERSION or digest != hashlib.sha256(data).hexdigest().encode():
        return None
    head, *messages = data.split(b"\n")
    try:
        now, memory = map(_unpack, decode(head))
    except (ValueError, TypeError, KeyError):  # whole, and still not ours: another program wrote it
        return None
    if not isinstance(now, State) or now.position != snapshot.position:
        return None
    return now, Projection(memory, messages)


def _pack(value: Any) -> Json:
    """JSON that says what everything was. Every object is marked, so that no value can pass for a mark."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return {"time": value.isoformat()}
        case Decimal():
            return {"decimal": str(value)}
        case Enum():
            return {"enum": [type(value).__name__, value.value]}
        case Fact():
            return {"facts": _facts(value)}
        case tuple():
            return {"tuple": [_pack(item) for item in value]}
        case list():
            return [_pack(item) for item in value]
        case set():
            return {"set": sorted(value)}
        case Mapping():
            return {"map": [[key, _pack(item)] for key, item in value.items()]}
        case _ if is_dataclass(value):
            packed = [[field.name, _pack(getattr(value, field.name))] for field in fields(value) if field.init]
            return {"class": [type(value).__name__, packed]}
        case _:
            raise TypeError(f"a snapshot cannot hold {type(value).__name__}")


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((mark, inside),) = value.items()
    match mark:
        case "time":
            return datetime.fromisoformat(inside)
        case "decimal":
            return Decimal(inside)
        case "enum":
            return _CLASSES[inside[0]](inside[1])
        case "facts":
            return _linked(inside)
        case "tuple":
            return tuple(_unpack(item) for item in inside)
        case "set":
            return set(inside)
        case "map":
            return {key: _unpack(item) for key, item in inside}
        case "class":
            name, packed = inside
            return _CLASSES[name](**{field: _unpack(item) for field, item in packed})
        case _:
            raise KeyError(mark)


def _facts(newest: Fact) -> list[Json]:
    """The chain as a flat list, oldest first: it may be longer than Python recurses."""
    found: list[Json] = []
    fact: Fact | None = newest
    while fact is not None:
        found.append([fact.position, fact.tool, fact.input, fact.data])
        fact = fact.before
    return found[::-1]


def _linked(facts: list[Any]) -> Fact | None:
    newest: Fact | None = None
    for position, tool, given, data in facts:
        newest = Fact(position, tool, given, data, newest)
    return newest
