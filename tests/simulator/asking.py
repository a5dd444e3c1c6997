"""How the tests here ask: without a socket, with requests that are valid until a test spoils them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multidict import CIMultiDict

from relevo.simulator import Simulator
from relevo.simulator.outcome import Incoming, Outcome

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21"}


class MovableClock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Answered:
    """A response without a socket."""

    outcome: Outcome

    @property
    def status(self) -> int:
        return self.outcome.status

    @property
    def json(self) -> Any:
        assert self.outcome.body is not None
        return json.loads(self.outcome.body)

    @property
    def error(self) -> Any:
        return self.json["error"]


async def ask(
    sim: Simulator,
    body: Any = None,
    *,
    path: str = "/v1/messages",
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    bare: bool = False,
    betas: str = "",
    raw: bytes | None = b"",
) -> Answered:
    """Send a request straight to the simulator; `bare` leaves out the headers that every client sends."""
    given = CIMultiDict({**({} if bare else HEADERS), **(headers or {})})
    if betas:
        given["anthropic-beta"] = betas
    if raw == b"" and body is not None:
        raw = json.dumps(body).encode()
    return Answered(await sim.handle(Incoming(method, path, given, {}, raw)))


def request(*turns: Any, **more: Any) -> dict[str, Any]:
    """A valid request: turns are text or content, the person first, in alternation."""
    messages = [
        {"role": "user" if index % 2 == 0 else "assistant", "content": turn}
        for index, turn in enumerate(turns or ("Hi",))
    ]
    return {"model": "claude-opus-4-8", "max_tokens": 100, "messages": messages, **more}


def tool(name: str = "get_order", **more: Any) -> Any:
    return {
        "name": name,
        "description": "An order.",
        "input_schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        **more,
    }


def made(call_id: str = "toolu_1", name: str = "get_order", **more: Any) -> Any:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **more}


def result(call_id: str = "toolu_1", content: Any = "ok", **more: Any) -> Any:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def text(words: str = "words", **more: Any) -> Any:
    return {"type": "text", "text": words, **more}
