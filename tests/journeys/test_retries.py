"""
What fails on the way to the model, at every place where it can, and what the log then says.

There is one retry layer: every attempt is an event, so each test counts the requests that really arrived.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from relevo import Ended, LimitReached, ModelUnavailable, MovableClock, RetryPolicy, tool
from relevo.events import ModelFailed, RequestStarted, SessionIdle, UserMessage
from relevo.model import Deadlines
from relevo.simulator import HttpError, call, fail, say
from relevo.simulator.request import Request

from .stage import Stage

TEXT = "Half of this answer is enough to be fooled by."

PASSING = {
    "429": "rate_limit_error",
    "500": "api_error",
    "502": "api_error",
    "503": "api_error",
    "504": "timeout_error",
    "529": "overloaded_error",
    "408": "timeout_error",
    "409": "conflict_error",
    "reset": "connection",
    "html": "protocol",
    "html:status=502": "api_error",
    "error": "overloaded_error",
    "error:after=1": "overloaded_error",
    "error:after=3": "overloaded_error",
    "error:error_type=api_error,after=1": "api_error",
    "error:error_type=rate_limit_error": "rate_limit_error",
    "end": "cut_stream",
    "end:at=content_block_stop": "cut_stream",
    "end:at=message_delta": "cut_stream",
    "end:at=inside_line": "cut_stream",
    "cut:after=0": "connection",
    "cut:after=1": "connection",
    "cut:after=3": "connection",
}
"""A fault of the simulator -> the error type that the log has for it."""


@pytest.mark.parametrize("fault", PASSING)
async def test_b046_b047_a_passing_failure_is_tried_again_and_nothing_of_it_counts(
    any_stage: Stage, fault: str
) -> None:
    await any_stage.plays(lambda _: TEXT, faults=f"{fault}@1")
    outcome = await any_stage.run(any_stage.agent(), "Hello?")

    assert outcome == Ended(text=TEXT)
    assert len(any_stage.sent) == 2
    assert [body.attempt for body in await any_stage.bodies(RequestStarted)] == [1, 2]
    (failed,) = await any_stage.bodies(ModelFailed)
    assert failed.error["type"] in {PASSING[fault], "cut_stream" if fault.startswith("cut") else ""}
    assert failed.retry_in_seconds is not None
    assert len(await any_stage.bodies(UserMessage)) == 1, "B064"
    assert any_stage.sent[0]["messages"] == any_stage.sent[1]["messages"]


FINAL = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "413": "request_too_large",
    "501": "api_error",
    "error:error_type=invalid_request_error": "invalid_request_error",
    "error:error_type=authentication_error,after=1": "authentication_error",
    "http:status=429,error_code=enforced_spend_limit_reached": "rate_limit_error",
    "http:status=529,should_retry=false": "overloaded_error",
}


@pytest.mark.parametrize("fault", FINAL)
async def test_b046_b058_a_lasting_failure_ends_the_turn_at_once_and_the_session_lives(
    any_stage: Stage, fault: str
) -> None:
    await any_stage.plays(lambda _: TEXT, faults=f"{fault}@1")
    session = await any_stage.begin(any_stage.agent())
    outcome = await session.run("Hello?")

    assert isinstance(outcome, ModelUnavailable)
    assert outcome.error["type"] == FINAL[fault]
    assert outcome.text == ""
    assert len(any_stage.sent) == 1
    (failed,) = await any_stage.bodies(ModelFailed)
    assert failed.retry_in_seconds is None

    assert await session.run("And now?") == Ended(text=TEXT)
    said = [block["text"] for message in any_stage.sent[1]["messages"] for block in message["content"]]
    assert said == ["Hello?", "And now?"]


@pytest.mark.parametrize("at", ["429@{n}", "reset@{n}", "error:after=1@{n}", "end:at=content_block_stop@{n}"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_failure_at_any_request_of_a_turn_repeats_only_that_request(stage: Stage, at: str, number: int) -> None:
    ran: list[int] = []

    @tool
    async def step(n: int) -> str:
        ran.append(n)
        return f"did {n}"

    def brain(request: Request) -> Any:
        count = len(request.results)
        return call("step", {"n": count}) if count < 2 else say("Both done.")

    await stage.plays(brain, faults=at.format(n=number))
    outcome = await stage.run(stage.agent(step))

    assert outcome == Ended(text="Both done.")
    assert ran == [0, 1]
    assert len(stage.sent) == 4
    attempts = [body.attempt for body in await stage.bodies(RequestStarted)]
    assert attempts == [1] * number + [2] + [1] * (3 - number)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("retry_after=20", 20, 21),
        ("retry_after=Tue\\, 01 Dec 2026 00:00:20 GMT", 19, 21),
        ("retry_after_ms=1500", 1.5, 2.5),
        ("retry_after=abc", 0, 0.5),
        ("retry_after=-5", 0, 0.5),
        ("status=429", 0, 0.5),
    ],
)
async def test_b056_the_server_says_how_long_to_wait(any_stage: Stage, header: str, least: float, most: float) -> None:
    if "\\" in header:
        faults = "- {fault: {http: {status: 429, retry_after: 'Tue, 01 Dec 2026 00:00:20 GMT'}}, requests: 1}\n"
    else:
        faults = f"http:status=429,{header}@1"
    await any_stage.plays([say("ok")], faults=faults)
    outcome = await any_stage.run(any_stage.agent())

    assert outcome == Ended(text="ok")
    assert isinstance(any_stage.clock, MovableClock)
    assert least <= sum(any_stage.clock.slept) <= most


async def test_b056_a_wait_of_a_day_is_not_slept_but_said(any_stage: Stage) -> None:
    await any_stage.plays([], faults="http:status=429,retry_after=86400@1")
    outcome = await any_stage.run(any_stage.agent())

    assert isinstance(outcome, ModelUnavailable)
    assert outcome.error["retry_after"] == 86_400
    assert isinstance(any_stage.clock, MovableClock)
    assert sum(any_stage.clock.slept) == 0


async def test_an_overload_is_ridden_for_minutes_and_given_up_at_the_deadline(stage: Stage) -> None:
    await stage.plays([], faults="529@p1.0")
    outcome = await stage.run(stage.agent())

    assert isinstance(outcome, ModelUnavailable)
    assert outcome.error["type"] == "overloaded_error"
    assert isinstance(stage.clock, MovableClock)
    assert 599 < sum(stage.clock.slept) < 600.001
    attempts = [body.attempt for body in await stage.bodies(RequestStarted)]
    assert attempts == list(range(1, len(stage.sent) + 1))
    assert len(attempts) > 10
    (rest,) = await stage.bodies(SessionIdle)
    assert rest.stop_reason["type"] == "retries_exhausted"


async def test_a_fault_is_given_up_after_a_number_of_attempts(stage: Stage) -> None:
    await stage.plays([], faults="reset@p1.0")
    session = await stage.harness(stage.agent(), retry=RetryPolicy(attempts=4)).start("clerk")
    outcome = await session.run("Go.")

    assert isinstance(outcome, ModelUnavailable)
    assert outcome.error["type"] == "connection"
    assert len(stage.sent) == len(await stage.bodies(ModelFailed)) == 4


async def test_after_giving_up_a_new_message_gets_all_the_patience_again(stage: Stage) -> None:
    await stage.plays([say("Back.")], faults="529@1+2+3")
    impatient = stage.harness(stage.agent(), retry=RetryPolicy(total_seconds=0))
    session = await impatient.start("clerk")

    assert isinstance(await session.run("Hello?"), ModelUnavailable)
    patient = stage.harness(stage.agent())
    assert await patient.session(session.id).run("Again?") == Ended(text="Back.")


async def test_a_message_that_came_while_giving_up_gets_all_the_patience_too(stage: Stage) -> None:
    """The first turn fails for 500 of its 600 seconds; the next one has its own 600."""
    later = HttpError(429, retry_after="250")

    async def brain(request: Request) -> Any:
        if request.number == 3:
            await session.say("Hello??")
            return fail(HttpError(400))
        return say("Here.") if request.number == 5 else fail(later)

    await stage.plays(brain)
    session = await stage.begin(stage.agent())

    assert await session.run("Hello?") == Ended(text="Here.")
    assert [body.attempt for body in await stage.bodies(RequestStarted)] == [1, 2, 3, 1, 2]


async def test_b059_another_session_is_not_held_up_by_one_that_backs_off(stage: Stage) -> None:
    clock = MovableClock()
    stage.clock = clock
    await stage.plays([say("quick"), say("slow")], faults="http:status=529,retry_after=30@1")
    harness = stage.harness(agent := stage.agent())
    slow = asyncio.create_task((await harness.start(agent)).run("slow"))
    await until(lambda: bool(clock.slept))

    quick = await (await harness.start(agent)).run("quick")

    assert quick == Ended(text="quick")
    assert not slow.done()
    clock.advance(31)
    assert await slow == Ended(text="slow")


async def test_a_wake_elsewhere_keeps_to_the_time_that_the_log_has_for_the_next_attempt(stage: Stage) -> None:
    clock = MovableClock()
    stage.clock = clock
    await stage.plays([say("ok")], faults="http:status=529,retry_after=100@1")
    session = await stage.begin(agent := stage.agent())
    gone = asyncio.create_task(session.run("Go."))
    await until(lambda: bool(clock.slept))
    gone.cancel()
    await asyncio.wait([gone])
    clock.advance(40)
    clock.slept.clear()

    woken = asyncio.create_task(stage.harness(agent).wake(session.id))
    await until(lambda: bool(clock.slept))
    assert 60 <= clock.slept[0] <= 61
    clock.advance(61)

    assert await woken == Ended(text="ok")
    assert [body.attempt for body in await stage.bodies(RequestStarted)] == [1, 2]


@pytest.mark.parametrize("ping", ["", ",ping_seconds=0.01"])
async def test_b054_a_stalled_answer_is_given_up_though_pings_arrive(any_stage: Stage, ping: str) -> None:
    clock = MovableClock()
    any_stage.clock = clock
    await any_stage.plays(lambda _: TEXT, faults=f"stall:after=2{ping}@1")
    began = asyncio.Event()
    deadlines = Deadlines(silence_seconds=120, progress_seconds=600)
    session = await any_stage.harness(any_stage.agent(), deadlines=deadlines).start("clerk")

    def watch(event: Any) -> None:
        if event["type"] == "content_block_delta":
            began.set()

    driving = asyncio.create_task(session.run("Hello?", watch=watch))
    await began.wait()
    while not await any_stage.failures():
        clock.advance(50)
        await asyncio.sleep(0.005)
    clock.advance(5)

    assert await driving == Ended(text=TEXT)
    ((failed),) = await any_stage.failures()
    assert failed["type"] == "timeout"


async def test_what_was_spent_before_a_stream_broke_is_counted(any_stage: Stage) -> None:
    await any_stage.plays(lambda _: TEXT, faults="end:at=message_delta@1")
    await any_stage.run(any_stage.agent())

    totals = (await any_stage.state()).totals
    (failed,) = await any_stage.bodies(ModelFailed)
    assert failed.usage["output_tokens"] > 0
    assert totals.output_tokens == 2 * failed.usage["output_tokens"]
    assert totals.requests == 2


async def until(done: Callable[[], bool]) -> None:
    """Let the others run until it is so."""
    while not done():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("transport", ["direct", "sdk"])
async def test_a_request_is_given_up_when_the_time_of_its_turn_is_over(transport: str) -> None:
    stage = Stage(transport, clock=(clock := MovableClock()))
    await stage.plays([say(TEXT)], faults="stall:after=1@1")
    driving = asyncio.create_task(stage.run(stage.agent(limits={"seconds": 30})))
    while not stage.sent:
        await asyncio.sleep(0.001)
    clock.advance(29)
    await asyncio.sleep(0.01)
    assert not driving.done()
    clock.advance(1)

    assert await driving == LimitReached(limit="seconds", text="")
    assert [error["code"] for error in await stage.failures()] == ["deadline"]
    assert len(stage.sent) == 1
    await stage.close()


async def test_no_back_off_outlasts_the_turn(stage: Stage) -> None:
    clock = stage.clock
    assert isinstance(clock, MovableClock)
    await stage.plays(lambda _: "never", faults="429:retry_after=200@1")

    assert await stage.run(stage.agent(limits={"seconds": 30})) == LimitReached(limit="seconds", text="")
    assert clock.slept == [30]
