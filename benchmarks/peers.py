"""The loops that are measured: the naive one on the official SDK, which keeps nothing, and ours with its log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

TEXT = "x" * 497
SYSTEM = "You call echo until you are told to stop."

Run = Callable[[str], Coroutine[None, None, None]]
clock: list[tuple[float, float]] = []
"""Wall and CPU time at every tool call of a run: what turn n cost is the difference."""


def echo_result() -> str:
    clock.append((time.perf_counter(), time.process_time()))
    return TEXT


async def naive(*, streaming: bool) -> tuple[Run, Callable[[], Awaitable[None]]]:
    """What people write by hand around `messages.create`."""
    from anthropic import AsyncAnthropic

    clients: dict[str, AsyncAnthropic] = {}
    tools: list[Any] = [
        {
            "name": "echo",
            "description": "Echo.",
            "input_schema": {"type": "object", "properties": {"i": {"type": "integer"}}},
        }
    ]

    async def run(base_url: str) -> None:
        client = clients.setdefault(
            base_url, AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0, timeout=600)
        )
        messages: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            asked: Any = {"model": "claude-sonnet-5", "max_tokens": 4096, "system": SYSTEM, "tools": tools}
            if streaming:
                async with client.messages.stream(**asked, messages=messages) as stream:
                    answer: Any = await stream.get_final_message()
            else:
                answer = await client.messages.create(**asked, messages=messages)
            if answer.stop_reason != "tool_use":
                return
            messages.append({"role": "assistant", "content": answer.content})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": echo_result()}
                for block in answer.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})

    async def close() -> None:
        for client in clients.values():
            await client.close()

    return run, close


async def ours(log_path: Path | None) -> tuple[Run, Callable[[], Awaitable[None]]]:
    """Relevo; `log_path` None keeps the log in memory."""
    from relevo import Agent, DirectModel, Harness, Limits, MemoryLog, SqliteLog, tool

    @tool(effect="read")
    async def echo(i: int) -> str:
        """Echo."""
        return echo_result()

    agent = Agent(
        name="echo",
        model="claude-sonnet-5",
        system=SYSTEM,
        tools=[echo],
        max_tokens=4096,
        limits=Limits(turns=None, tool_calls=None, repeats=None),
    )
    log = MemoryLog() if log_path is None else SqliteLog(log_path)
    harnesses: dict[str, Harness] = {}

    async def run(base_url: str) -> None:
        harness = harnesses.get(base_url)
        if harness is None:
            model = DirectModel(api_key="k", base_url=base_url)
            harness = harnesses[base_url] = Harness(log, agents=[agent], model=model)
        outcome = await harness.run(agent, "go")
        assert outcome.type == "end_turn", outcome

    async def close() -> None:
        for harness in harnesses.values():
            await harness.close()

    return run, close


async def peer(name: str, folder: Path) -> tuple[Run, Callable[[], Awaitable[None]]]:
    match name:
        case "sdk":
            return await naive(streaming=False)
        case "sdk-stream":
            return await naive(streaming=True)
        case "relevo":
            return await ours(folder / "bench.db")
        case "relevo-memory":
            return await ours(None)
        case _:
            raise SystemExit(f"no peer {name!r}")


async def many(run: Run, base_url: str, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(run(base_url))
