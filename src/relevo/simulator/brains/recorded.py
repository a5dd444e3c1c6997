"""A brain that plays recorded answers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from relevo.simulator import recording, wire
from relevo.simulator.brains.brain import BrainMistake
from relevo.simulator.faults import HttpError
from relevo.simulator.replies import Reply
from relevo.simulator.request import Request

TRANSPORT_FIELDS = ("stream", "metadata")


class Recorded:
    """
    Answer a request as it was answered when it was recorded.

    Requests are told apart by their body, whatever the order of keys; `stream` and `metadata` do not count.  The
    same request asked again gets the next recording of it, and the last one for ever after.  Signatures of the
    real API cannot be checked here: use `Simulator(..., signatures=False)`.
    """

    def __init__(self, exchanges: Iterable[Mapping[str, Any]]) -> None:
        self._found: dict[bytes, deque[Mapping[str, Any]]] = defaultdict(deque)
        for exchange in exchanges:
            self._found[_key(exchange["request"])].append(exchange)

    @classmethod
    def read(cls, *paths: str | Path) -> Recorded:
        """Read files as `recording.read` does."""
        return cls(exchange for path in paths for exchange in recording.read(path))

    def answer(self, request: Request) -> Reply:
        """Play the recording of `request`."""
        waiting = self._found.get(_key(request.body))
        if not waiting:
            raise BrainMistake(f"no recording of request {request.number} (last said {request.last_user_text[:80]!r})")
        exchange = waiting.popleft() if len(waiting) > 1 else waiting[0]
        if exchange.get("status", 200) != 200:
            error = (exchange.get("response") or {}).get("error") or {}
            return Reply(fault=HttpError(exchange["status"], error.get("type"), str(error.get("message", ""))))
        text = exchange.get("sse")
        message = exchange.get("response") or recording.assemble(text or "")
        return _reply(message).but(stream_text=text, whole=True)


def _key(body: Mapping[str, Any]) -> bytes:
    return wire.canonical({key: value for key, value in body.items() if key not in TRANSPORT_FIELDS})


def _reply(message: Mapping[str, Any]) -> Reply:
    ours = ("content", "stop_reason", "stop_sequence", "stop_details", "usage")
    return Reply(
        content=tuple(message["content"]),
        stop_reason=message.get("stop_reason"),
        stop_sequence=message.get("stop_sequence"),
        stop_details=message.get("stop_details"),
        usage=message.get("usage") or {},
        extra={key: value for key, value in message.items() if key not in ours},
    )
