"""How bytes leave: a plain list of acts, worked out before anything is sent, spoiled by a fault if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relevo.simulator import wire
from relevo.simulator.faults import (
    CleanEnd,
    CutChunk,
    DuplicateDelta,
    Fault,
    NoEventLine,
    SlowDrip,
    Stall,
    StreamError,
    UnknownEvent,
)
from relevo.simulator.stream import Frame, frame


@dataclass(frozen=True, slots=True)
class Send:
    """Write these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Never come back; say `ping` every so often, or nothing when None."""

    ping_seconds: float | None


@dataclass(frozen=True, slots=True)
class Break:
    """Close the connection inside a chunk that began with these bytes."""

    data: bytes


Act = Send | Wait | Hang | Break


def play(frames: Sequence[Frame], fault: Fault | None, *, pace_seconds: float = 0.0) -> Iterator[Act]:
    """Say how `frames` are delivered; `pace_seconds` 0 sends all at once."""
    match fault:
        case UnknownEvent(name):
            frames = [frames[0], frame({"type": name, "note": "an event of the future"}), *frames[1:]]
        case DuplicateDelta(nth):
            place = _after(frames, nth + 1)
            frames = [*frames[:place], frames[place - 1], *frames[place:]]
        case NoEventLine():
            frames = [Frame(each.name, each.data.split(b"\n", 1)[1]) for each in frames]
        case StreamError(error_type, after, message):
            error = wire.error_body(error_type, message, None)
            frames = [*frames[: _after(frames, after)], Frame("error", b"event: error\ndata: %b\n\n" % error)]
        case CleanEnd("inside_line"):
            place = _after(frames, 1)
            frames = [*frames[: place - 1], _half(frames[place - 1])]
        case CleanEnd(at):
            place = next((index for index, each in enumerate(frames) if each.name == at), len(frames) - 2)
            frames = frames[: place + 1]
        case CutChunk(after):
            place = _after(frames, after)
            yield from _sent(frames[:place], pace_seconds)
            yield Break(_half(frames[min(place, len(frames) - 1)]).data)
            return
        case Stall(after, ping_seconds):
            yield from _sent(frames[: _after(frames, after)], pace_seconds)
            yield Hang(ping_seconds)
            return
        case SlowDrip(seconds, piece_bytes):
            yield from drip(b"".join(each.data for each in frames), seconds, piece_bytes)
            return
        case _:
            pass
    yield from _sent(frames, pace_seconds)


def drip(data: bytes, seconds: float, piece_bytes: int) -> Iterator[Act]:
    """Send `piece_bytes` at a time."""
    for start in range(0, len(data), piece_bytes):
        yield Send(data[start : start + piece_bytes])
        yield Wait(seconds)


def play_body(body: bytes, fault: Fault | None) -> Iterator[Act]:
    """Say how a body without a stream is delivered."""
    match fault:
        case CutChunk():
            yield Break(body[: len(body) // 2])
        case CleanEnd():
            yield Send(body[: len(body) // 2])
        case Stall(_, _):
            yield Hang(None)
        case SlowDrip(seconds, piece_bytes):
            yield from drip(body, seconds, piece_bytes)
        case _:
            yield Send(body)


def _sent(frames: Sequence[Frame], pace_seconds: float) -> Iterator[Act]:
    if not pace_seconds:
        yield Send(b"".join(each.data for each in frames))
        return
    for each in frames:
        yield Send(each.data)
        if each.is_delta:
            yield Wait(pace_seconds)


def _after(frames: Sequence[Frame], deltas: int) -> int:
    """Where `deltas` deltas are over; 0 is the end of `message_start` and its ping; too many is before the close."""
    if deltas == 0:
        return min(2, len(frames))
    places = [index + 1 for index, each in enumerate(frames) if each.is_delta]
    if not places:
        return max(1, len(frames) - 2)
    return places[min(deltas, len(places)) - 1]


def _half(each: Frame) -> Frame:
    return Frame(each.name, each.data[: len(each.data) // 2])
