"""Whatever goes wrong with an attempt is in the log, and the turn ends in a typed way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from relevo import Agent, Answer, Harness, MemoryLog, ModelUnavailable, Request
from relevo.events import ModelFailed
from relevo.log import MAX_EVENT_BYTES
from relevo.loop.verify import verify
from relevo.model.model import Watch

AGENT = Agent(name="a", model="claude-sonnet-5")


class Carrier:
    """A user's own way to a model: it gives what it is told to give."""

    def __init__(self, gives: BaseException | dict[str, Any]) -> None:
        self.gives = gives
        self.asked = 0

    async def ask(self, request: Request, *, watch: Watch | None = None) -> Answer:
        self.asked += 1
        if isinstance(self.gives, BaseException):
            raise self.gives
        return Answer(message=self.gives)

    async def close(self) -> None: ...


async def failure(carrier: Carrier) -> ModelFailed:
    async with Harness(MemoryLog(), agents=[AGENT], model=carrier) as harness:
        session = await harness.start("a")
        outcome = await session.run("Go.")
        again = await harness.wake(session.id)
        events = await session.events()

    assert isinstance(outcome, ModelUnavailable)
    assert again == outcome
    assert carrier.asked == 1
    assert verify(events) == []
    (failed,) = [event.body for event in events if isinstance(event.body, ModelFailed)]
    return failed


@pytest.mark.parametrize("error", [RuntimeError("key sk-secret"), KeyError("sk-secret"), RecursionError(), OSError(5)])
async def test_a_bug_of_whoever_carries_the_request_is_told_by_its_name_alone(error: Exception) -> None:
    failed = await failure(Carrier(error))

    assert failed.error["type"] == "protocol"
    assert failed.error["message"] == f"{type(error).__name__} was raised"
    assert failed.retry_in_seconds is None


async def test_an_answer_that_the_log_cannot_hold_is_bought_once() -> None:
    huge = {"content": [{"type": "text", "text": "x" * (MAX_EVENT_BYTES + 1)}], "stop_reason": "end_turn"}
    failed = await failure(Carrier(huge))

    assert "cannot be kept" in failed.error["message"]


async def test_b060_a_cancel_is_no_failure() -> None:
    async with Harness(MemoryLog(), agents=[AGENT], model=Carrier(asyncio.CancelledError())) as harness:
        session = await harness.start("a")
        with pytest.raises(asyncio.CancelledError):
            await session.run("Go.")
        events = await session.events()

    assert events[-1].kind == "span.model_request_start"
