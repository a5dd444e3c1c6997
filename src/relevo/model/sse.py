"""
Bytes to events: server-sent events as the Messages API sends them.

Pure, and indifferent to where the network cuts: inside a character, a line end or a JSON string. A chunk that ends no
line is only kept, and every line is looked at once, so the work is linear in the bytes however they arrive.
"""

from __future__ import annotations

from json import JSONDecoder
from typing import Any

from relevo.model.failure import protocol


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# Built once: `json.loads` with a hook builds a decoder each time, and this runs for every token.
_decoder = JSONDecoder(parse_constant=_refuse_constant)
parse_json = _decoder.decode
raw_decode = _decoder.raw_decode


class SseReader:
    """Reads one stream. Feed it every chunk, then call `end`."""

    def __init__(self) -> None:
        self._started = False
        self._tail: list[bytes] = []
        """Pieces of the line that is not yet ended."""
        self._swallow_newline = False
        """The last chunk ended in CR; an LF that comes first now belongs to it."""
        self._data: list[bytes] = []
        self._name = ""

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """
        The events that became whole with this chunk.

        Raises:
            ModelError: of type `protocol`, when the data of an event is no JSON object.
        """
        if not self._started and chunk:
            # A stream may begin with a byte order mark; as every other line it may arrive in pieces.
            self._tail.append(chunk)
            chunk = b"".join(self._tail)
            if b"\xef\xbb\xbf".startswith(chunk):
                self._tail = [chunk]
                return []
            self._started = True
            self._tail = []
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        if self._swallow_newline and chunk:
            self._swallow_newline = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._swallow_newline = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            if chunk:
                self._tail.append(chunk)
            return []
        if self._tail:
            self._tail.append(chunk)
            chunk = b"".join(self._tail)
            self._tail = []
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if rest:
            self._tail.append(rest)
        events: list[dict[str, Any]] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:])
            elif not line:
                if self._data:
                    self._dispatch(events)
                self._name = ""
            elif line.startswith(b"event:"):
                self._name = line[6:].strip().decode("utf-8", "replace")
        return events

    def end(self) -> list[dict[str, Any]]:
        """The last event of a stream whose sender forgot the closing blank line; what is not whole is dropped."""
        line = b"".join(self._tail)
        self._tail = []
        if line.startswith(b"data:"):
            self._data.append(line[5:])
        if not self._data:
            return []
        try:
            event = parse_json(b"\n".join(self._data).decode())
        except (ValueError, RecursionError):
            return []
        return [event] if isinstance(event, dict) else []

    def _dispatch(self, events: list[dict[str, Any]]) -> None:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        try:
            event = parse_json(data.decode().strip())
        except (ValueError, RecursionError):
            if data.strip() in (b"", b"[DONE]"):  # the closing word of OpenAI-shaped proxies
                return
            raise protocol(f"an event is not JSON: {data!r}") from None
        if not isinstance(event, dict):
            raise protocol(f"an event is not a JSON object: {data!r}")
        if "type" not in event and self._name:
            event["type"] = self._name
        events.append(event)
