"""Exchanges kept in a file: one a line while recording, or all in one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from relevo.simulator import wire

Json = dict[str, Any]


class Recorder:
    """Appends exchanges to a file, each complete on its own line."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def add(self, path: str, betas: Sequence[str], body: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        """Keep one answered request."""
        exchange = {"path": path, "betas": ",".join(betas), "request": body, "status": 200, "response": message}
        with self._path.open("ab") as file:
            file.write(wire.dump(exchange) + b"\n")


def read(path: str | Path) -> Iterator[Json]:
    """
    Read the exchanges of a file: `{"exchanges": [...]}`, a list, or one exchange a line.

    Raises:
        ValueError: the file is none of these.
    """
    text = Path(path).read_bytes()
    try:
        found = wire.load(text)
    except wire.NotJson:
        found = [wire.load(line) for line in text.splitlines() if line.strip()]
    if isinstance(found, dict):
        found = found.get("exchanges", [found])
    if not isinstance(found, list) or not all("request" in each for each in found):
        raise ValueError(f"{str(path)!r} holds no exchanges")
    yield from found


def assemble(text: str) -> Json:
    """
    Make the message of a recorded stream.

    Raises:
        ValueError: no `message_start` in it.
    """
    message: Json | None = None
    written: dict[int, str] = {}
    for line in text.split("\n"):  # not splitlines: JSON may hold other line ends as they are
        if not line.startswith("data:"):
            continue
        event = wire.load(line[5:].encode())
        match event.get("type"):
            case "message_start":
                message = event["message"]
            case "content_block_start" if message is not None:
                message["content"].append(event["content_block"])
            case "content_block_delta" if message is not None:
                _add(message["content"][event["index"]], event["delta"], written, event["index"])
            case "content_block_stop" if message is not None and written.get(event["index"]):
                message["content"][event["index"]]["input"] = wire.load(written[event["index"]].encode())
            case "message_delta" if message is not None:
                message.update(event["delta"])
                message["usage"] = {**message.get("usage", {}), **event.get("usage", {})}
                message.update({key: event[key] for key in ("context_management",) if key in event})
            case _:
                pass
    if message is None:
        raise ValueError("the stream has no message_start")
    return message


def _add(block: Json, delta: Json, written: dict[int, str], index: int) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] += delta["text"]
        case "input_json_delta":
            written[index] = written.get(index, "") + delta["partial_json"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        case "compaction_delta":
            block.update({key: value for key, value in delta.items() if key != "type"})
        case _:
            pass
