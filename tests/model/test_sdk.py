"""The official SDK as a transport; what both transports share is in test_transports."""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from anthropic import Anthropic, AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex

from relevo.errors import InvalidValue, MissingCredential, ModelError
from relevo.model.sdk import SdkModel

from .conftest import Serve
from .events import ended, frames, request, started, text


@pytest.fixture
async def client() -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key="k", base_url="http://127.0.0.1:1") as client:
        yield client


async def test_its_own_retries_are_off_whatever_the_client_says(serve: Serve) -> None:
    seen: list[str] = []

    async def overloaded(incoming: web.Request) -> web.Response:
        seen.append(incoming.path)
        return web.json_response({"error": {"type": "overloaded_error"}}, status=529)

    async with AsyncAnthropic(api_key="k", base_url=await serve(overloaded), max_retries=5) as client:
        with pytest.raises(ModelError) as caught:
            await SdkModel(client).ask(request())

    assert (seen, caught.value.type) == (["/v1/messages"], "overloaded_error")


async def test_the_client_stays_its_owners_to_close(serve: Serve) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=frames([started(), *text(0, "a"), *ended()]), content_type="text/event-stream")

    async with AsyncAnthropic(api_key="k", base_url=await serve(handler)) as client:
        model = SdkModel(client)
        await model.close()

        assert (await model.ask(request())).stop_reason == "end_turn"


@pytest.mark.parametrize("thing", [object(), "client", None])
def test_what_is_no_client_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidValue, match="not a client"):
        SdkModel(thing)


def test_a_blocking_client_is_refused() -> None:
    with Anthropic(api_key="k") as client, pytest.raises(InvalidValue, match="block"):
        SdkModel(client)


def test_without_the_sdk_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "anthropic":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.delitem(sys.modules, "anthropic", raising=False)

    with pytest.raises(InvalidValue, match=r"relevo\[anthropic\]"):
        SdkModel(object())


async def test_a_client_without_a_key_is_a_missing_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    async with AsyncAnthropic(base_url="http://127.0.0.1:1") as client:
        with pytest.raises(MissingCredential):
            await SdkModel(client).ask(request())


async def test_the_key_is_not_in_the_repr(client: AsyncAnthropic) -> None:
    assert repr(SdkModel(client)) == "SdkModel(AsyncAnthropic)"


async def test_cloud_clients_are_accepted(serve: Serve) -> None:
    """Vertex speaks the same stream under another path; Bedrock's own framing is the SDK's affair."""
    paths: list[str] = []

    async def handler(incoming: web.Request) -> web.Response:
        paths.append(incoming.path)
        return web.Response(body=frames([started(), *text(0, "a"), *ended()]), content_type="text/event-stream")

    async with AsyncAnthropicVertex(
        region="r", project_id="p", access_token="t", base_url=await serve(handler)
    ) as vertex:
        answer = await SdkModel(vertex).ask(request())

    assert (answer.stop_reason, answer.content) == ("end_turn", [{"type": "text", "text": "a"}])
    assert "claude-opus-5-5:streamRawPredict" in paths[0]
    async with AsyncAnthropicBedrock(aws_region="r", aws_access_key="a", aws_secret_key="s") as bedrock:
        assert repr(SdkModel(bedrock)) == "SdkModel(AsyncAnthropicBedrock)"


@pytest.mark.parametrize("said", [b"", frames([started()])])
async def test_a_timeout_of_the_client_is_a_timeout(serve: Serve, said: bytes) -> None:
    async def stuck(incoming: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        if said:
            await response.prepare(incoming)
            await response.write(said)
        await asyncio.Event().wait()
        return response

    async with AsyncAnthropic(api_key="k", base_url=await serve(stuck), timeout=0.05) as client:
        with pytest.raises(ModelError) as caught:
            await SdkModel(client).ask(request())

    assert (caught.value.type, caught.value.retryable) == ("timeout", True)
    assert (caught.value.usage is None) == (said == b"")


async def test_an_error_that_nobody_foresaw_is_still_a_model_error() -> None:
    class Odd:
        beta: Any
        __aenter__: Any = None

        def with_options(self, **_: Any) -> Odd:
            return self

        async def create(self, **_: Any) -> None:
            raise RuntimeError("odd")

    odd = Odd()
    odd.beta = SimpleNamespace(messages=odd)

    with pytest.raises(ModelError, match="RuntimeError: odd") as caught:
        await SdkModel(odd).ask(request())
    assert not caught.value.retryable


async def test_an_error_event_that_is_no_json_is_an_error_all_the_same(serve: Serve) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"event: error\ndata: no\n\n", content_type="text/event-stream")

    async with AsyncAnthropic(api_key="k", base_url=await serve(handler)) as client:
        with pytest.raises(ModelError, match="no") as caught:
            await SdkModel(client).ask(request())

    assert (caught.value.status, caught.value.type, caught.value.retryable) == (200, "api_error", True)
