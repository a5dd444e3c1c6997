"""T05 and T06, streams and retries: what test_retries.py and the rooms do not cover. See KNOWN_FAILURES.md."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from relevo import Ended, ModelUnavailable, Truncated, tool
from relevo.events import ModelAnswered, ModelFailed
from relevo.simulator import Reply, call, say
from relevo.simulator.request import Request

from .stage import Stage
from .streams import end, start, stream, text_of


async def test_b046_who_watches_sees_that_an_answer_begins_anew(any_stage: Stage) -> None:
    seen: list[str] = []

    def watch(event: Any) -> None:
        if event["type"] == "message_start":
            seen.clear()  # the restart: what was shown so far is void
        elif event["type"] == "content_block_delta" and event["delta"]["type"] == "text_delta":
            seen.append(event["delta"]["text"])

    await any_stage.plays(lambda _: "Said once and only once.", faults="error:after=3@1;end:at=content_block_stop@2")
    session = await any_stage.begin(any_stage.agent())

    assert await session.run("Go.", watch=watch) == Ended(text="Said once and only once.")
    assert "".join(seen) == "Said once and only once."


async def test_b053_a_cut_answer_with_nothing_in_it_is_no_empty_success(any_stage: Stage) -> None:
    nothing = stream(start(), *end("max_tokens"))
    await any_stage.plays(lambda _: nothing)
    outcome = await any_stage.run(any_stage.agent())

    assert outcome == Truncated(text="")
    assert len(any_stage.sent) == 3, "grows to the model's limit; there is no text that could be continued"


@pytest.mark.parametrize("stop", [None, ""])
async def test_b053_an_answer_without_a_stop_reason_is_no_answer(any_stage: Stage, stop: str | None) -> None:
    await any_stage.plays(lambda request: text_of(["half"], stop=stop) if request.number == 1 else "Whole.")
    outcome = await any_stage.run(any_stage.agent())

    assert not (isinstance(outcome, Ended) and outcome.text == "half")


async def test_b054_pings_and_events_of_the_future_change_nothing(any_stage: Stage) -> None:
    ping = {"type": "ping"}
    middle: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        ping,
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Here "}},
        {"type": "galaxy_drift", "speed": 7},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "it is."}},
        {"type": "content_block_stop", "index": 0},
    ]
    delta, stop = end("end_turn")
    await any_stage.plays([stream(start(), ping, *middle, ping, delta, ping, stop)])

    assert await any_stage.run(any_stage.agent()) == Ended(text="Here it is.")
    assert await any_stage.bodies(ModelFailed) == []


async def test_b061_a_tools_own_time_out_is_a_result_and_not_a_failed_request(any_stage: Stage) -> None:
    @tool(effect="read", timeout_seconds=5)
    async def slow() -> str:
        await any_stage.clock.sleep(60)  # the stage's clock moves on at once, past the limit
        await asyncio.Event().wait()
        return "never"

    @tool(effect="read")
    async def raises() -> str:
        raise TimeoutError

    await any_stage.plays([call("slow") + call("raises"), say("ok")])

    assert await any_stage.run(any_stage.agent(slow, raises)) == Ended(text="ok")
    assert await any_stage.bodies(ModelFailed) == []
    assert [(body.error or {})["category"] for body in (await any_stage.ended()).values()] == ["transient", "transient"]


async def test_b063_hundreds_of_equal_failures_render_no_traceback(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(effect="read")
    async def fails(n: int) -> str:
        raise TimeoutError

    many = Reply()
    for n in range(400):
        many += call("fails", {"n": n})
    await stage.plays([many.but(whole=True), say("All failed.")])

    with caplog.at_level(logging.INFO):
        assert await stage.run(stage.agent(fails)) == Ended(text="All failed.")
    assert len(stage.results()) == 400
    assert [record for record in caplog.records if record.exc_info] == []


async def test_b064_after_a_failure_the_message_stands_once_in_log_and_request(any_stage: Stage) -> None:
    await any_stage.plays(lambda _: "ok", faults="529@1;reset@2;error:after=1@3")
    session = await any_stage.begin(any_stage.agent())

    assert await session.run("Only once.") == Ended(text="ok")
    assert str(any_stage.sent[-1]["messages"]).count("Only once.") == 1
    assert len(await any_stage.bodies(ModelAnswered)) == 1


async def test_b060_a_keyboard_interrupt_inside_the_transport_is_nobodys_retry(stage: Stage) -> None:
    await stage.plays([say("ok")])

    class Interrupted_:
        async def ask(self, request: Any, *, watch: Any = None) -> Any:
            raise SystemExit(3)

        async def close(self) -> None: ...

    agent = stage.agent()
    session = await stage.begin(agent)
    await session.say("Hello?")
    from relevo import Harness

    harness = Harness(stage.log, agents=[agent], model=Interrupted_(), clock=stage.clock)
    with pytest.raises(SystemExit):
        await harness.wake(session.id)

    assert await stage.bodies(ModelFailed) == []
    assert await session.run() == Ended(text="ok")


async def test_a_redirect_is_not_followed_with_the_key(stage: Stage) -> None:
    def brain(request: Request) -> str:
        return "never"

    await stage.plays(brain, faults="http:status=302@1")
    outcome = await stage.run(stage.agent())

    assert isinstance(outcome, ModelUnavailable)
    assert "base_url" in str(outcome.error["message"])
