"""Both transports tell the same story: equal answers, and equal errors for every fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from anthropic import AsyncAnthropic

from relevo.clock import MovableClock
from relevo.errors import ModelError
from relevo.model.attempt import Deadlines
from relevo.model.client import DirectModel
from relevo.model.model import Model
from relevo.model.sdk import SdkModel
from relevo.simulator import (
    CleanEnd,
    CutChunk,
    Fault,
    HtmlBody,
    HttpError,
    NoUsage,
    Reset,
    Script,
    Simulator,
    SlowDrip,
    Stall,
    StreamError,
    UnknownEvent,
    call,
    say,
    think,
)

from .conftest import Serve
from .events import ended, frames, request, started, text, tool
from .test_recordings import STREAMS

Make = Callable[[str], Model]
KINDS = ("direct", "sdk")
REPLY = think("Let me see.") + say("One two three four.") + call("f", {"a": [1, "ü"]}, id="toolu_1")


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Model]]:
    """Make a transport of a kind to an address; all are closed at the end."""
    closers: list[Callable[[], Awaitable[None]]] = []

    def make(kind: str, url: str, **more: Any) -> Model:
        if kind == "direct":
            direct = DirectModel(base_url=url, api_key="k", **more)
            closers.append(direct.close)
            return direct
        client = AsyncAnthropic(base_url=url, api_key="k")
        closers.append(client.close)
        return SdkModel(client, **more)

    yield make
    for close in closers:
        await close()


Connect = Callable[..., Model]


async def failure_of(model: Model) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.ask(request())
    return caught.value


FAULTS: list[tuple[Fault, tuple[int | None, str, bool]]] = [
    (HttpError(400), (400, "invalid_request_error", False)),
    (HttpError(401), (401, "authentication_error", False)),
    (HttpError(402), (402, "billing_error", False)),
    (HttpError(403), (403, "permission_error", False)),
    (HttpError(404), (404, "not_found_error", False)),
    (HttpError(408), (408, "timeout_error", True)),
    (HttpError(409), (409, "conflict_error", True)),
    (HttpError(409, should_retry=False), (409, "conflict_error", False)),
    (HttpError(413), (413, "request_too_large", False)),
    (HttpError(422), (422, "invalid_request_error", False)),
    (HttpError(429, retry_after="20"), (429, "rate_limit_error", True)),
    (HttpError(429, error_code="enforced_spend_limit_reached"), (429, "rate_limit_error", False)),
    (HttpError(500), (500, "api_error", True)),
    (HttpError(501), (501, "api_error", False)),
    (HttpError(503), (503, "api_error", True)),
    (HttpError(504), (504, "timeout_error", True)),
    (HttpError(529), (529, "overloaded_error", True)),
    (HtmlBody(200), (200, "protocol", True)),
    (HtmlBody(502), (502, "api_error", True)),
    (Reset(), (None, "connection", True)),
    (CutChunk(0), (None, "connection", True)),
    (CutChunk(2), (None, "connection", True)),
    (CleanEnd("message_start"), (200, "cut_stream", True)),
    (CleanEnd("content_block_stop"), (200, "cut_stream", True)),
    (CleanEnd("message_delta"), (200, "cut_stream", True)),
    (CleanEnd("inside_line"), (200, "cut_stream", True)),
    (StreamError("overloaded_error", 0), (200, "overloaded_error", True)),
    (StreamError("overloaded_error", 3), (200, "overloaded_error", True)),
    (StreamError("api_error", 1), (200, "api_error", True)),
    (StreamError("invalid_request_error", 1), (200, "invalid_request_error", False)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=[repr(fault) for fault, _ in FAULTS])
async def test_a_fault_has_one_name_whoever_carries_the_request_b046_b047_b058(
    connect: Connect, kind: str, fault: Fault, expected: tuple[int | None, str, bool]
) -> None:
    async with Simulator(Script([REPLY.but(fault=fault), REPLY])) as sim:
        model = connect(kind, sim.base_url)
        error = await failure_of(model)

        assert (error.status, error.type, error.retryable) == expected
        assert (error.request_id is None) == isinstance(fault, Reset | CutChunk)
        if isinstance(fault, HttpError):
            assert (error.code, error.retry_after) == (fault.error_code, fault.retry_after and float(fault.retry_after))
        if isinstance(fault, StreamError | CleanEnd) and fault != CleanEnd("inside_line"):
            assert (error.usage or {})["input_tokens"] > 0
        assert (await model.ask(request())).stop_reason == "tool_use"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", [None, UnknownEvent(), SlowDrip(0, 3), NoUsage(), NoUsage(null=True)], ids=repr)
async def test_an_answer_comes_whole_through_what_is_no_fault_b054_b113(
    connect: Connect, kind: str, fault: Fault | None
) -> None:
    async with Simulator(Script([REPLY.but(fault=fault)])) as sim:
        answer = await connect(kind, sim.base_url).ask(request())

    thought, said, called = answer.content
    assert thought["signature"]
    assert said == {"type": "text", "text": "One two three four."}
    assert called["input"] == {"a": [1, "ü"]}
    assert answer.request_id
    assert answer.usage.uncounted == isinstance(fault, NoUsage)
    assert answer.first_token_seconds is not None
    assert 0 < answer.first_token_seconds <= (answer.seconds or 0)


def served(data: bytes, content_type: str = "text/event-stream") -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=data, content_type=content_type, headers={"request-id": "req_1"})

    return handler


@pytest.mark.parametrize("sse", STREAMS)
async def test_a_recorded_stream_gives_equal_answers(connect: Connect, serve: Serve, sse: str) -> None:
    url = await serve(served(sse.encode()))
    direct, through_sdk = [await connect(kind, url).ask(request()) for kind in KINDS]

    assert direct.message == through_sdk.message
    assert (direct.request_id, direct.malformed) == (through_sdk.request_id, through_sdk.malformed)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_does_not_stream_is_understood(connect: Connect, serve: Serve, kind: str) -> None:
    message = {"type": "message", "content": [{"type": "tool_use", "input": []}], "stop_reason": "tool_use"}
    url = await serve(served(json.dumps(message).encode(), "application/json"))
    answer = await connect(kind, url).ask(request())

    assert answer.message["content"] == [{"type": "tool_use", "input": {"_raw": "[]"}}]
    assert answer.malformed == {0}
    assert (answer.first_token_seconds, answer.request_id) == (None, "req_1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', "overloaded_error"),
        (b"[]", "protocol"),
        (b"{", "protocol"),
        (b"\xff", "protocol"),
        (b'{"type":"message"}', "protocol"),
    ],
)
async def test_json_that_is_no_message_is_an_error(
    connect: Connect, serve: Serve, kind: str, body: bytes, expected: str
) -> None:
    error = await failure_of(connect(kind, await serve(served(body, "application/json"))))

    assert (error.status, error.type, error.retryable) == (200, expected, True)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_is_not_json_breaks_the_protocol(connect: Connect, serve: Serve, kind: str) -> None:
    data = frames([started()]) + b"event: content_block_start\ndata: {oops\n\n"
    error = await failure_of(connect(kind, await serve(served(data))))

    assert (error.type, error.retryable) == ("protocol", True)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_malformed_call_is_marked_b036(connect: Connect, serve: Serve, kind: str) -> None:
    data = frames([started(), *text(0, "Hm"), *tool(1, '{"a": 1', "</x>"), *ended("tool_use")])
    answer = await connect(kind, await serve(served(data))).ask(request())

    assert answer.malformed == {1}
    assert answer.content[1]["input"] == {"_raw": '{"a": 1</x>'}


@pytest.mark.parametrize("kind", KINDS)
async def test_betas_and_fields_arrive_on_the_wire(connect: Connect, serve: Serve, kind: str) -> None:
    seen: list[Any] = []

    async def handler(incoming: web.Request) -> web.Response:
        seen.append((incoming.headers.get("anthropic-beta"), await incoming.json(), incoming.headers["Authorization"]))
        return web.Response(body=frames([started(), *ended()]), content_type="text/event-stream")

    settings = {"betas": ("b", "a", "b"), "effort": "low", "extra": {"service_tier": "auto", "of_the_future": 1}}
    await connect(kind, await serve(handler)).ask(request(**settings))

    [(betas, body, authorization)] = seen
    assert (betas, authorization) == ("a,b", "Bearer k")
    assert body == json.loads(request(**settings).body)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_watcher_sees_the_events_and_cannot_hurt_the_answer_b049_b167(
    connect: Connect, serve: Serve, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    events = [started(), *text(0, "a", "b"), *ended()]
    model = connect(kind, await serve(served(frames(events))))
    seen: list[str] = []

    def fail(_: Any) -> None:
        raise RuntimeError("a broken screen")

    answer = await model.ask(request(), watch=lambda event: seen.append(event["type"]))
    despite = await model.ask(request(), watch=fail)

    assert seen == [event["type"] for event in events]
    assert despite.message == answer.message
    assert [record.getMessage() for record in caplog.records if record.name.startswith("relevo")] == [
        "a watcher failed and was let go"
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt])
async def test_an_interrupt_is_nobodys_error_b060(
    connect: Connect, serve: Serve, kind: str, error: type[BaseException]
) -> None:
    model = connect(kind, await serve(served(frames([started(), *ended()]))))

    def interrupt(_: Any) -> None:
        raise error

    with pytest.raises(error):
        await model.ask(request(), watch=interrupt)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", [Stall(1), Stall(0)], ids=repr)
async def test_cancelling_frees_the_connection_at_once_b048_b051(connect: Connect, kind: str, fault: Fault) -> None:
    async with Simulator(Script([REPLY.but(fault=fault), REPLY])) as sim:
        model = connect(kind, sim.base_url)
        begun = asyncio.Event()
        task = asyncio.create_task(model.ask(request(), watch=lambda _: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (await model.ask(request())).stop_reason == "tool_use"


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_that_stalls_ends_by_the_progress_deadline(connect: Connect, kind: str) -> None:
    clock = MovableClock()
    deadlines = Deadlines(silence_seconds=None, progress_seconds=60)
    async with Simulator(Script([REPLY.but(fault=Stall(2))])) as sim:
        model = connect(kind, sim.base_url, clock=clock, deadlines=deadlines)
        deltas = asyncio.Semaphore(0)
        task = asyncio.create_task(
            model.ask(request(), watch=lambda event: deltas.release() if "delta" in event["type"] else None)
        )
        await deltas.acquire()
        await deltas.acquire()
        clock.advance(61)
        with pytest.raises(ModelError) as caught:
            await task

    assert (caught.value.type, caught.value.retryable, caught.value.status) == ("timeout", True, None)
    assert (caught.value.usage or {})["input_tokens"] > 0


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_that_drips_for_ever_ends_by_the_total_deadline(connect: Connect, kind: str) -> None:
    clock = MovableClock()
    async with Simulator(Script([REPLY.but(fault=Stall(1))])) as sim:
        limits = Deadlines(silence_seconds=None, progress_seconds=None, total_seconds=60)
        model = connect(kind, sim.base_url, clock=clock, deadlines=limits)
        begun = asyncio.Event()
        task = asyncio.create_task(model.ask(request(), watch=lambda _: begun.set()))
        await begun.wait()
        clock.advance(61)
        with pytest.raises(ModelError) as caught:
            await task

    assert (caught.value.type, caught.value.retryable) == ("timeout", True)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_that_the_server_repeats_is_not_repeated_by_us(serve: Serve, kind: str) -> None:
    async def parrot(incoming: web.Request) -> web.Response:
        return web.json_response({"error": {"message": f"bad: {incoming.headers['Authorization']}"}}, status=400)

    url, key = await serve(parrot), "sk-ant-very-secret"
    client = AsyncAnthropic(base_url=url, api_key=key)
    model: Model = DirectModel(base_url=url, api_key=key) if kind == "direct" else SdkModel(client)
    error = await failure_of(model)
    await model.close()
    await client.close()

    assert key not in f"{error} {error!r} {error.__dict__}"
    assert "***" in error.message


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_listening_is_a_connection_error(connect: Connect, kind: str, unused_tcp_port: int) -> None:
    error = await failure_of(connect(kind, f"http://127.0.0.1:{unused_tcp_port}"))

    assert (error.status, error.type, error.retryable) == (None, "connection", True)
