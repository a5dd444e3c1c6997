"""Every fault, as the official SDK sees it.  Source of what it should see: the SDK 2.14, read 2026-12-01."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import pytest

from relevo.simulator import (
    CleanEnd,
    CutChunk,
    DuplicateDelta,
    Fault,
    Faults,
    HtmlBody,
    HttpError,
    NoEventLine,
    NoUsage,
    Plan,
    Reset,
    Script,
    Simulator,
    SlowDrip,
    Stall,
    StreamError,
    UnknownEvent,
    fail,
    say,
)

from .conftest import Connect

ASK: Any = {"model": "claude-fable-5-2", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
TEXT = "One two three four five six seven."


def spoiled(fault: Fault, **more: Any) -> Simulator:
    return Simulator(lambda _: say(TEXT), faults=Faults([Plan(fault, on=range(1, 9))]), delta_chars=5, **more)


async def stream(client: anthropic.AsyncAnthropic) -> Any:
    async with client.messages.stream(**ASK) as found:
        return await found.get_final_message()


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (408, anthropic.RequestTimeoutError),
        (409, anthropic.ConflictError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (503, anthropic.ServiceUnavailableError),
        (504, anthropic.GatewayTimeoutError),
        (529, anthropic.OverloadedError),
    ],
)
async def test_a_status_becomes_its_exception(
    status: int, error: type[anthropic.APIStatusError], connect: Connect
) -> None:
    fault = HttpError(status, retry_after="7", retry_after_ms=7, should_retry=False, error_code="ramp_limit_exceeded")
    async with spoiled(fault) as sim:
        with pytest.raises(error) as caught:
            await connect(sim).messages.create(**ASK)

    headers = caught.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"], headers["x-should-retry"]) == ("7", "7", "false")
    assert caught.value.request_id == sim.requests[0].request_id
    assert caught.value.error_code == "ramp_limit_exceeded"


async def test_the_sdk_retries_a_fault_and_the_script_is_not_played_for_it() -> None:
    script = Script([say(TEXT)])
    async with (
        Simulator(script, faults="http:status=529,retry_after_ms=0@1;reset@2") as sim,
        anthropic.AsyncAnthropic(base_url=sim.base_url, api_key="k", max_retries=2) as client,
    ):
        message = await client.messages.create(**ASK)

    assert getattr(message.content[0], "text", None) == TEXT
    script.finish()


async def test_a_reset_is_a_connection_error(connect: Connect) -> None:
    async with spoiled(Reset()) as sim:
        with pytest.raises(anthropic.APIConnectionError):
            await connect(sim).messages.create(**ASK)


async def test_a_page_of_html_is_not_taken_for_a_message(connect: Connect) -> None:
    async with spoiled(HtmlBody()) as sim:
        with pytest.raises(anthropic.APIResponseValidationError):
            await connect(sim).messages.create(**ASK)


@pytest.mark.parametrize("after", [0, 2])
async def test_an_error_inside_a_stream_has_status_200(after: int, connect: Connect) -> None:
    async with spoiled(StreamError("overloaded_error", after)) as sim:
        client = connect(sim)
        deltas = 0
        with pytest.raises(anthropic.APIStatusError) as caught:
            async for event in await client.messages.create(stream=True, **ASK):
                deltas += event.type == "content_block_delta"

    assert (caught.value.status_code, caught.value.type, deltas) == (200, "overloaded_error", after)


@pytest.mark.parametrize(
    ("at", "last"),
    [
        ("message_start", "message_start"),
        ("content_block_stop", "content_block_stop"),
        ("message_delta", "message_delta"),
        ("inside_line", "content_block_start"),
    ],
)
async def test_a_clean_end_looks_like_success_without_a_stop(at: Any, last: str, connect: Connect) -> None:
    async with spoiled(CleanEnd(at)) as sim:
        events = [event.type async for event in await connect(sim).messages.create(stream=True, **ASK)]

    assert events[-1] == last
    assert "message_stop" not in events


async def test_a_clean_end_before_message_delta_leaves_no_stop_reason(connect: Connect) -> None:
    async with spoiled(CleanEnd("content_block_stop")) as sim:
        assert (await stream(connect(sim))).stop_reason is None


@pytest.mark.parametrize("after", [0, 1, 99])
async def test_a_cut_chunk_is_a_broken_transport(after: int, connect: Connect) -> None:
    async with spoiled(CutChunk(after)) as sim:
        with pytest.raises((httpx2.RemoteProtocolError, anthropic.APIConnectionError)):
            await stream(connect(sim))


@pytest.mark.parametrize("ping_seconds", [None, 0.001])
async def test_a_stall_lasts_until_the_server_closes(ping_seconds: float | None, connect: Connect) -> None:
    sim = spoiled(Stall(1, ping_seconds))
    await sim.start()
    reached = asyncio.Event()

    async def read() -> None:
        async for event in await connect(sim).messages.create(stream=True, **ASK):
            if event.type == "content_block_delta":
                reached.set()

    reading = asyncio.create_task(read())
    await reached.wait()
    assert not reading.done()
    await sim.close()

    with pytest.raises((httpx2.RemoteProtocolError, anthropic.APIConnectionError)):
        await reading


async def test_a_silent_stall_meets_the_read_timeout(connect: Connect) -> None:
    async with spoiled(Stall()) as sim:
        client = connect(sim).with_options(timeout=httpx2.Timeout(5, read=0.05))
        with pytest.raises((httpx2.ReadTimeout, anthropic.APITimeoutError, anthropic.APIConnectionError)):
            await stream(client)


async def test_a_slow_drip_changes_nothing_but_time(connect: Connect) -> None:
    async with spoiled(SlowDrip(0, 11)) as sim:
        client = connect(sim)
        assert getattr((await stream(client)).content[0], "text", None) == TEXT
        assert getattr((await client.messages.create(**ASK)).content[0], "text", None) == TEXT


async def test_a_delta_delivered_twice_is_in_the_text_twice(connect: Connect) -> None:
    async with spoiled(DuplicateDelta(0)) as sim:
        assert getattr((await stream(connect(sim))).content[0], "text", None) == "One t" + TEXT


async def test_an_unknown_event_comes_after_the_start(connect: Connect) -> None:
    async with spoiled(UnknownEvent()) as sim, anthropic.AsyncAnthropic(base_url=sim.base_url, api_key="k") as client:
        events: list[str] = [event.type async for event in await client.messages.create(stream=True, **ASK)]

    assert events[:2] == ["message_start", "galaxy_drift"]


async def test_without_event_lines_the_sdk_sees_nothing(connect: Connect) -> None:
    async with spoiled(NoEventLine()) as sim:
        assert [event async for event in await connect(sim).messages.create(stream=True, **ASK)] == []


@pytest.mark.parametrize("null", [True, False])
async def test_usage_can_be_missing_or_null(null: bool) -> None:
    async with (
        spoiled(NoUsage(null=null)) as sim,
        anthropic.AsyncAnthropic(base_url=sim.base_url, api_key="k") as client,
    ):
        message = await client.messages.create(**ASK)
        events = [event async for event in await client.messages.create(stream=True, **ASK)]

    assert ("usage" in message.to_dict()) is null
    assert message.to_dict().get("usage") is None
    assert getattr(events[-2], "usage", None) is None


@pytest.mark.parametrize("fault", [CutChunk(), CleanEnd()], ids=["cut", "end"])
async def test_a_body_without_a_stream_can_be_cut_too(fault: Fault, connect: Connect) -> None:
    async with spoiled(fault) as sim:
        with pytest.raises((anthropic.APIError, httpx2.TransportError, ValueError)):
            await connect(sim).messages.create(**ASK)


async def test_a_stream_fault_without_a_stream_is_an_error_status(connect: Connect) -> None:
    async with spoiled(StreamError()) as sim:
        with pytest.raises(anthropic.OverloadedError):
            await connect(sim).messages.create(**ASK)


async def test_a_reply_may_bring_its_own_fault(connect: Connect) -> None:
    script = Script([fail(HttpError(529)), say(TEXT).but(fault=CleanEnd("message_delta")), say(TEXT)])
    async with Simulator(script) as sim:
        client = connect(sim)
        with pytest.raises(anthropic.OverloadedError):
            await client.messages.create(**ASK)
        assert (await stream(client)).stop_reason == "end_turn"
        assert (await stream(client)).stop_reason == "end_turn"


def test_chance_depends_on_the_seed_and_the_number_only() -> None:
    plans = [Plan(Reset(), probability=0.5)]
    once = [Faults(plans, seed=1).pick(number) for number in range(200)]

    assert once == [Faults(plans, seed=1).pick(number) for number in range(200)]
    assert once != [Faults(plans, seed=2).pick(number) for number in range(200)]
    assert 60 < sum(fault is not None for fault in once) < 140


def test_a_specification_says_what_and_when(tmp_path: Any) -> None:
    spoken = Faults.parse("529@1+4; http:status=429,retry_after=2@3; end:at=message_delta@p1.0")
    file = tmp_path / "faults.yaml"
    file.write_text(
        "- {fault: {http: {status: 529}}, requests: [1, 4]}\n"
        "- {fault: {http: {status: 429, retry_after: 2}}, requests: 3}\n"
        "- {fault: {end: {at: message_delta}}, probability: 1}\n"
    )

    assert list(spoken.plans) == list(Faults.parse(str(file)).plans)
    assert spoken.pick(4) == HttpError(529)
    assert spoken.pick(3) == HttpError(429, retry_after="2")
    assert spoken.pick(2) == CleanEnd("message_delta")


@pytest.mark.parametrize("spec", ["earthquake", "end:where=here", "http:status=500,colour=red"])
def test_an_unknown_word_in_a_specification_is_named(spec: str) -> None:
    with pytest.raises(ValueError, match=r"earthquake|where|colour"):
        Faults.parse(spec)
