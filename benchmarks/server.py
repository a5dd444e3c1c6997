"""
A Messages API that costs next to nothing, in a process of its own.

The run is in the path: `/T100-K1-D0-P0/v1/messages` gives T turns (T-1 answers with K calls of `echo`, then the end),
each answer preceded by D text deltas, P milliseconds apart. It keeps no state: how far a run is, it counts from the
results in the body. The simulator is not used here because it validates, and that would be measured too.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

_RUN = re.compile(rb"/T(\d+)-K(\d+)-D(\d+)-P(\d+)/")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_RESULT = b'"tool_result"'
USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def message(turns: int, calls: int, done: int) -> dict[str, Any]:
    """The answer after `done` turns."""
    if done >= turns - 1:
        content: list[dict[str, Any]] = [{"type": "text", "text": "done"}]
        reason = "end_turn"
    else:
        content = [
            {"type": "tool_use", "id": f"toolu_{done}_{n}", "name": "echo", "input": {"i": done * calls + n}}
            for n in range(calls)
        ]
        reason = "tool_use"
    return {
        "id": f"msg_{done}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": USAGE,
    }


def frame(event: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())


def frames(answer: dict[str, Any], deltas: int) -> tuple[bytes, list[bytes], bytes]:
    """What comes before the deltas, the deltas, and what comes after them."""
    start = {**answer, "content": [], "stop_reason": None}
    head = frame({"type": "message_start", "message": start})
    middle: list[bytes] = []
    shift = 0
    tail = b""
    if deltas:
        shift = 1
        head += frame({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        delta = {"type": "text_delta", "text": "some words "}
        middle = [frame({"type": "content_block_delta", "index": 0, "delta": delta})] * deltas
        tail += frame({"type": "content_block_stop", "index": 0})
    for index, block in enumerate(answer["content"], shift):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        tail += frame({"type": "content_block_start", "index": index, "content_block": empty})
        tail += frame({"type": "content_block_delta", "index": index, "delta": delta})
        tail += frame({"type": "content_block_stop", "index": index})
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    tail += frame({"type": "message_delta", "delta": end, "usage": USAGE}) + frame({"type": "message_stop"})
    return head, middle, tail


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            run = _RUN.search(head)
            assert run is not None
            turns, calls, deltas, pause = map(int, run.groups())
            answer = message(turns, calls, body.count(_RESULT) // calls)
            if b'"stream":true' in body or b'"stream": true' in body:
                await stream(writer, *frames(answer, deltas), pause)
            else:
                data = json.dumps(answer).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(b"request-id: req_1\r\ncontent-length: %d\r\n\r\n%s" % (len(data), data))
    except (asyncio.IncompleteReadError, ConnectionResetError):
        pass
    finally:
        writer.close()


async def stream(writer: asyncio.StreamWriter, head: bytes, middle: list[bytes], tail: bytes, pause: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_1\r\n")
    writer.write(b"transfer-encoding: chunked\r\n\r\n")
    if not pause:
        data = b"".join((head, *middle, tail))
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
        return
    writer.write(b"%x\r\n%s\r\n" % (len(head), head))
    for piece in middle:
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await asyncio.sleep(pause / 1000)
    writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(tail), tail))


async def main(port_file: Path) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=64 * 1024 * 1024, backlog=1024)
    draft = port_file.with_suffix(".draft")
    draft.write_text(str(server.sockets[0].getsockname()[1]))
    draft.replace(port_file)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
