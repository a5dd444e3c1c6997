"""The direct transport: addresses, keys, deadlines, connections."""

from __future__ import annotations

import asyncio
import base64
import errno
import gc
import logging
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from relevo.clock import MovableClock
from relevo.errors import InvalidValue, MissingCredential, ModelError
from relevo.model.attempt import Deadlines, Progress, _guarded
from relevo.model.client import DirectModel
from relevo.model.connection import _Body, is_hopeless

from .conftest import Serve
from .events import Event, ended, frames, request, started, text

KEY = "sk-ant-very-secret"
WHOLE = frames([started(), *text(0, "Hi"), *ended()])


async def answering(_: web.Request) -> web.Response:
    return web.Response(body=WHOLE, content_type="text/event-stream")


class Recorder:
    """Answers everything and remembers what it was asked."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.sockets: set[Any] = set()

    async def __call__(self, incoming: web.Request) -> web.Response:
        self.paths.append(incoming.path)
        self.headers.append({name.lower(): value for name, value in incoming.headers.items()})
        self.bodies.append(await incoming.read())
        assert incoming.transport is not None
        self.sockets.add(incoming.transport.get_extra_info("peername"))
        return await answering(incoming)


class Puppet:
    """A server whose stream goes on only when the test says so."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.sockets: set[Any] = set()
        self.left = asyncio.Event()
        self.say: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def __call__(self, incoming: web.Request) -> web.StreamResponse:
        self.asked.set()
        assert incoming.transport is not None
        self.sockets.add(incoming.transport.get_extra_info("peername"))
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": "req_1"})
        try:
            while (piece := await self.say.get()) is not None:
                if not response.prepared:
                    await response.prepare(incoming)
                await response.write(piece)
        finally:
            self.left.set()
        return response


class Asking:
    """One request in the background, and the events that it has seen."""

    def __init__(self, model: DirectModel) -> None:
        self.seen: asyncio.Queue[Event] = asyncio.Queue()
        self.task = asyncio.create_task(model.ask(request(), watch=lambda event: self.seen.put_nowait(dict(event))))


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
async def model(serve: Serve, puppet: Puppet, clock: MovableClock) -> AsyncIterator[DirectModel]:
    model = DirectModel(base_url=await serve(puppet), clock=clock)
    yield model
    await model.close()


class TestAddress:
    @pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
    async def test_the_address_may_end_in_v1_or_not(self, serve: Serve, suffix: str) -> None:
        model = DirectModel(base_url=await serve(recorder := Recorder()) + suffix)
        await model.ask(request())
        await model.close()

        assert recorder.paths == ["/v1/messages"]

    async def test_a_path_before_v1_is_kept(self, serve: Serve) -> None:
        model = DirectModel(base_url=await serve(recorder := Recorder()) + "/team/a/v1")
        await model.ask(request())
        await model.close()

        assert recorder.paths == ["/team/a/v1/messages"]

    @pytest.mark.parametrize("url", ["", "api.example.com", "ftp://x", "http://", "http://:80"])
    def test_an_address_that_is_none_is_refused(self, url: str) -> None:
        with pytest.raises(InvalidValue, match="base_url"):
            DirectModel(base_url=url or " ")

    def test_an_address_with_a_password_is_refused_and_not_repeated(self) -> None:
        with pytest.raises(InvalidValue) as caught:
            DirectModel(base_url=f"https://me:{KEY}@example.com")

        assert KEY not in str(caught.value)

    async def test_a_redirect_is_not_followed(self, serve: Serve) -> None:
        async def elsewhere(_: web.Request) -> web.Response:
            return web.Response(status=308, headers={"location": "https://evil.example/v1/messages"})

        model = DirectModel(base_url=await serve(elsewhere), api_key=KEY)
        with pytest.raises(ModelError, match=r"evil\.example") as caught:
            await model.ask(request())
        await model.close()

        assert (caught.value.status, caught.value.retryable) == (308, False)

    async def test_a_proxy_of_the_environment_is_used(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", await serve(recorder := Recorder()))
        model = DirectModel(base_url="http://api.invalid", api_key=KEY)
        answer = await model.ask(request())
        await model.close()

        assert (answer.stop_reason, recorder.headers[0]["host"]) == ("end_turn", "api.invalid")

    async def test_no_proxy_is_obeyed(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        model = DirectModel(base_url=await serve(answering))

        assert (await model.ask(request())).stop_reason == "end_turn"
        await model.close()


class TestKey:
    async def headers(self, serve: Serve, *, betas: tuple[str, ...] = (), **more: Any) -> dict[str, str]:
        model = DirectModel(base_url=await serve(recorder := Recorder()), **more)
        await model.ask(request(betas=betas))
        await model.close()
        return recorder.headers[0]

    @pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
    async def test_the_key_comes_from_the_environment(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv(name, KEY + "\n")

        assert (await self.headers(serve))["authorization"] == f"Bearer {KEY}"

    async def test_what_is_passed_wins_over_the_environment(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "other")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: b\nnonsense\nX-Only: c")
        found = await self.headers(serve, auth_token=KEY, headers={"x-team": "a"})

        assert found["authorization"] == f"Bearer {KEY}"
        assert (found["x-team"], found["x-only"]) == ("a", "c")

    async def test_the_address_comes_from_the_environment(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url := await serve(answering))

        assert DirectModel().base_url == url

    async def test_the_version_is_sent_and_betas_of_two_places_are_merged_b276(self, serve: Serve) -> None:
        found = await self.headers(serve, betas=("c", "a"), headers={"Anthropic-Beta": "b, a"}, version="2023-06-01")

        assert (found["anthropic-version"], found["anthropic-beta"]) == ("2023-06-01", "a,b,c")
        assert "anthropic-beta" not in await self.headers(serve)

    async def test_without_a_key_the_error_says_what_to_do(self) -> None:
        with pytest.raises(MissingCredential, match="ANTHROPIC_API_KEY") as caught:
            await DirectModel().ask(request())

        assert not caught.value.retryable

    @pytest.mark.parametrize("headers", [{"X-Api-Key": KEY}, {"Authorization": f"Basic {KEY}"}])
    async def test_a_key_may_come_as_a_header(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
    ) -> None:
        monkeypatch.setenv("http_proxy", await serve(recorder := Recorder()))
        model = DirectModel(base_url="http://api.invalid", headers=headers)
        await model.ask(request())
        await model.close()

        assert KEY in (recorder.headers[0].get("x-api-key") or recorder.headers[0]["authorization"])

    async def test_the_key_is_in_no_repr_error_or_log(self, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
        async def parrot(incoming: web.Request) -> web.Response:
            return web.json_response({"error": {"message": f"bad: {incoming.headers['Authorization']}"}}, status=400)

        caplog.set_level(logging.DEBUG)
        model = DirectModel(base_url=await serve(parrot), api_key=KEY)
        with pytest.raises(ModelError) as caught:
            await model.ask(request())
        await model.close()

        assert KEY not in f"{model!r} {caught.value} {caught.value!r} {caught.value.__dict__} {caplog.text}"
        assert "***" in caught.value.message

    @pytest.mark.parametrize("headers", [{"x": "a\r\nb"}, {"a\nb": "x"}, {"": "x"}, {"ü": "x"}])
    def test_a_header_that_cannot_be_sent_is_refused_without_its_value(self, headers: dict[str, str]) -> None:
        with pytest.raises(InvalidValue, match="header"):
            DirectModel(headers=headers)
        with pytest.raises(InvalidValue) as caught:
            DirectModel(api_key=KEY + "\n" + KEY)
        assert KEY not in str(caught.value)


class TestDeadlines:
    async def test_pings_alone_are_no_progress_b054(
        self, model: DirectModel, puppet: Puppet, clock: MovableClock
    ) -> None:
        asking = Asking(model)
        puppet.say.put_nowait(frames([started()]))
        assert (await asking.seen.get())["type"] == "message_start"

        for _ in range(7):
            clock.advance(90)
            puppet.say.put_nowait(frames([{"type": "ping"}]))
            if clock.monotonic() < 600:
                assert (await asking.seen.get())["type"] == "ping"
        with pytest.raises(ModelError, match="only pings") as caught:
            await asking.task

        assert (caught.value.type, caught.value.retryable, caught.value.request_id) == ("timeout", True, "req_1")
        assert caught.value.usage == {"input_tokens": 25, "output_tokens": 1}
        await puppet.left.wait()

    async def test_content_keeps_an_attempt_alive(
        self, model: DirectModel, puppet: Puppet, clock: MovableClock
    ) -> None:
        asking = Asking(model)
        for event in (events := [started(), *text(0, *"abcdefgh"), *ended()]):
            puppet.say.put_nowait(frames([event]))
            await asking.seen.get()
            clock.advance(100)
        puppet.say.put_nowait(None)
        answer = await asking.task

        assert answer.content == [{"type": "text", "text": "abcdefgh"}]
        assert clock.monotonic() == 100 * len(events)

    async def test_silence_ends_an_attempt_before_missing_progress_does(
        self, model: DirectModel, puppet: Puppet, clock: MovableClock
    ) -> None:
        asking = Asking(model)
        puppet.say.put_nowait(frames([started()]))
        await asking.seen.get()
        clock.advance(121)

        with pytest.raises(ModelError, match="nothing was heard") as caught:
            await asking.task
        assert (caught.value.type, caught.value.retryable) == ("timeout", True)

    async def test_a_server_that_never_responds_is_left(
        self, model: DirectModel, puppet: Puppet, clock: MovableClock
    ) -> None:
        asking = Asking(model)
        await puppet.asked.wait()
        clock.advance(121)

        with pytest.raises(ModelError, match="no response") as caught:
            await asking.task
        assert (caught.value.type, caught.value.retryable) == ("timeout", True)
        await puppet.left.wait()

    async def test_the_total_time_is_kept_although_content_comes(
        self, serve: Serve, puppet: Puppet, clock: MovableClock
    ) -> None:
        model = DirectModel(base_url=await serve(puppet), clock=clock, deadlines=Deadlines(total_seconds=150))
        asking = Asking(model)
        for event in (started(), *text(0, "a")[:2]):
            puppet.say.put_nowait(frames([event]))
            await asking.seen.get()
            clock.advance(70)

        with pytest.raises(ModelError, match="total") as caught:
            await asking.task
        assert (caught.value.usage or {})["input_tokens"] == 25
        await model.close()

    async def test_without_limits_nothing_rings(self, serve: Serve, puppet: Puppet, clock: MovableClock) -> None:
        limits = Deadlines(connect_seconds=None, silence_seconds=None, progress_seconds=None, total_seconds=None)
        model = DirectModel(base_url=await serve(puppet), clock=clock, deadlines=limits)
        asking = Asking(model)
        puppet.say.put_nowait(frames([started()]))
        await asking.seen.get()
        clock.advance(10**9)
        puppet.say.put_nowait(frames([*text(0, "a"), *ended()]))
        puppet.say.put_nowait(None)

        assert (await asking.task).stop_reason == "end_turn"
        await model.close()

    async def test_a_connect_that_takes_too_long_is_a_connection_error(self) -> None:
        with socket.socket() as deaf, ExitStack() as callers:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            for _ in range(4):  # more than it queues: the next caller is not answered at all
                caller = callers.enter_context(socket.socket())
                caller.setblocking(False)
                caller.connect_ex(deaf.getsockname())
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
            model = DirectModel(base_url=url, deadlines=Deadlines(connect_seconds=0.05))
            with pytest.raises(ModelError) as caught:
                await model.ask(request())
            await model.close()

        assert (caught.value.type, caught.value.retryable, caught.value.status) == ("connection", True, None)

    async def test_a_timeout_of_the_kernel_is_not_taken_for_ours(self, clock: MovableClock) -> None:
        async def pump() -> None:
            raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

        with pytest.raises(TimeoutError):
            await _guarded(Progress(clock, Deadlines()), pump)

    def test_a_wrong_certificate_will_be_wrong_again(self) -> None:
        key: Any = SimpleNamespace(host="example.com", port=443, is_ssl=True)

        assert is_hopeless(aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("expired")))
        assert not is_hopeless(aiohttp.ServerDisconnectedError())

    async def test_a_callers_own_timeout_stays_the_callers(self, model: DirectModel, puppet: Puppet) -> None:
        async def impatient() -> None:
            async with asyncio.timeout(0.01):
                await model.ask(request())

        with pytest.raises(TimeoutError):
            await impatient()


class TestConnections:
    async def test_one_connection_serves_one_request_after_the_other(self, serve: Serve) -> None:
        model = DirectModel(base_url=await serve(recorder := Recorder()))
        for _ in range(5):
            await model.ask(request())
        await model.close()

        assert len(recorder.sockets) == 1

    async def test_hundreds_ask_at_once(self, serve: Serve) -> None:
        everybody = asyncio.Barrier(300)

        async def together(incoming: web.Request) -> web.Response:
            await everybody.wait()
            return await answering(incoming)

        model = DirectModel(base_url=await serve(together))
        answers = await asyncio.gather(*(model.ask(request()) for _ in range(300)))
        await model.close()

        assert {answer.stop_reason for answer in answers} == {"end_turn"}

    async def test_a_body_of_many_megabytes_arrives_as_it_is(self, serve: Serve) -> None:
        model = DirectModel(base_url=await serve(recorder := Recorder()))
        asked = request(system="x" * 5_000_000)
        await model.ask(asked)
        await model.close()

        assert recorder.bodies == [asked.body]

    async def test_a_response_that_does_not_end_after_its_message_is_closed(
        self, model: DirectModel, puppet: Puppet, clock: MovableClock
    ) -> None:
        asking = Asking(model)
        puppet.say.put_nowait(WHOLE)
        while (await asking.seen.get())["type"] != "message_stop":
            pass
        clock.advance(1)

        assert (await asking.task).stop_reason == "end_turn"
        await puppet.left.wait()

    async def test_what_follows_the_message_is_read_away_and_the_connection_used_again(
        self, model: DirectModel, puppet: Puppet
    ) -> None:
        for _ in range(2):
            asking = Asking(model)
            puppet.say.put_nowait(WHOLE)
            while (await asking.seen.get())["type"] != "message_stop":
                pass
            puppet.say.put_nowait(frames([{"type": "ping"}]))
            puppet.say.put_nowait(None)

            assert (await asking.task).stop_reason == "end_turn"
        assert len(puppet.sockets) == 1

    async def test_a_body_can_be_shown_as_text(self) -> None:
        assert _Body("ü".encode()).decode() == "ü"

    async def test_cancelling_leaves_the_server_at_once_b048(self, model: DirectModel, puppet: Puppet) -> None:
        asking = Asking(model)
        puppet.say.put_nowait(frames([started()]))
        await asking.seen.get()
        asking.task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await asking.task
        await puppet.left.wait()

    async def test_closing_twice_is_fine_and_one_may_ask_again_after_it(self, serve: Serve) -> None:
        model = DirectModel(base_url=await serve(answering))
        await model.ask(request())
        await model.close()
        await model.close()

        assert (await model.ask(request())).stop_reason == "end_turn"
        await model.close()


@contextmanager
def server_in_a_thread() -> Iterator[tuple[str, Recorder]]:
    """A server that outlives the client's event loop."""
    loop, recorder = asyncio.new_event_loop(), Recorder()

    async def handler(incoming: web.Request) -> web.Response:
        return await recorder(incoming)

    async def start() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/messages", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner

    runner = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}", recorder
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


# asyncio's own word for whoever lets `asyncio.run` end without closing the model; silent by default.
@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
def test_one_model_serves_many_event_loops_also_ones_that_are_no_more(caplog: pytest.LogCaptureFixture) -> None:
    """`asyncio.run` twice is what a script does; no socket may leak and nothing may wait for a dead loop."""

    async def once(model: DirectModel, *, last: bool) -> None:
        assert (await model.ask(request())).stop_reason == "end_turn"
        if last:
            await model.close()

    with server_in_a_thread() as (url, recorder):
        model = DirectModel(base_url=url)
        asyncio.run(once(model, last=False))
        asyncio.run(once(model, last=False))
        asyncio.run(once(model, last=True))
        gc.collect()

    assert len(recorder.sockets) == 3
    assert not caplog.records


class TestSize:
    async def test_an_answer_without_end_is_given_up_and_not_asked_for_again(
        self, puppet: Puppet, model: DirectModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("relevo.model.attempt.MAX_ANSWER_BYTES", 1000)
        asking = Asking(model)
        puppet.say.put_nowait(b"data: " + b"a" * 2000)
        with pytest.raises(ModelError, match="larger than") as caught:
            await asking.task

        assert (caught.value.type, caught.value.retryable) == ("protocol", False)

    async def test_nor_is_one_that_comes_whole(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("relevo.model.attempt.MAX_ANSWER_BYTES", 1000)

        async def endless(_: web.Request) -> web.Response:
            return web.Response(body=b" " * 2000, content_type="application/json")

        model = DirectModel(base_url=await serve(endless))
        with pytest.raises(ModelError, match="larger than"):
            await model.ask(request())
        await model.close()


class TestSecretsOfAddresses:
    async def test_a_proxys_password_goes_to_the_proxy_and_nowhere_else(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorder = Recorder()
        url = await serve(recorder)
        monkeypatch.setenv("http_proxy", url.replace("//", f"//me:{KEY}@"))
        model = DirectModel(base_url="http://api.invalid", api_key="another-key")
        await model.ask(request())
        await model.close()

        basic = base64.b64encode(f"me:{KEY}".encode()).decode()
        assert recorder.headers[0]["proxy-authorization"] == f"Basic {basic}"

    async def test_a_proxy_that_is_no_address_is_refused_without_its_password(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("https_proxy", f"http://me:{KEY}@127.0.0.1:80a")
        with pytest.raises(ModelError, match="https_proxy") as caught:
            await DirectModel(api_key="another-key").ask(request())

        assert KEY not in str(caught.value)

    @pytest.mark.parametrize(
        "url", ["ftp://me:{}@h/", "me:{}@host", "http//me:{}@h", "http://me:{}@[h", "http://me:{}@h"]
    )
    def test_no_address_is_repeated_with_its_password(self, url: str) -> None:
        with pytest.raises(InvalidValue) as caught:
            DirectModel(base_url=url.format(KEY))

        assert KEY not in str(caught.value)

    @pytest.mark.parametrize("headers", [{"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"}, {"x-any": KEY}])
    async def test_a_header_that_a_server_repeats_is_not_told(self, serve: Serve, headers: dict[str, str]) -> None:
        async def parrot(_: web.Request) -> web.Response:
            return web.json_response({"error": {"type": KEY, "message": KEY}}, status=401)

        model = DirectModel(base_url=await serve(parrot), headers=headers)
        with pytest.raises(ModelError) as caught:
            await model.ask(request())
        await model.close()

        assert KEY not in f"{caught.value} {caught.value.__dict__}"
