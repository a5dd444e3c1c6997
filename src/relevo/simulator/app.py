"""The socket: aiohttp in, aiohttp out, no decisions."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from relevo.simulator.delivery import Act, Break, Hang, Send, Wait
from relevo.simulator.outcome import Incoming, Outcome
from relevo.simulator.stream import PING

# Source: platform.claude.com/docs errors, read 2026-12-01: Messages and count_tokens take 32 MB.
MAX_BODY_BYTES = 32 * 1024 * 1024

Handle = Callable[[Incoming], Awaitable[Outcome]]


class Listener:
    """Listens on loopback and gives every request to `handle`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._runner: web.ServerRunner | None = None
        self._closing = asyncio.Event()
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 takes a free one, which `port` then names."""
        server = web.Server(
            self._serve, request_factory=_large_request, handler_cancellation=True, access_log=None, tcp_keepalive=False
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=512)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Stop listening; stalled streams end."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            raw: bytes | None = await request.read()
        except web.HTTPRequestEntityTooLarge:
            raw = None
        outcome = await self._handle(Incoming(request.method, request.path, request.headers, request.query, raw))
        if outcome.body is not None:
            return web.Response(
                status=outcome.status, body=outcome.body, headers=outcome.headers, content_type=outcome.content_type
            )
        if outcome.acts is None:
            _reset(request)
            return web.Response()
        return await self._deliver(request, outcome, outcome.acts)

    async def _deliver(self, request: web.BaseRequest, outcome: Outcome, acts: Iterable[Act]) -> web.StreamResponse:
        headers = {**outcome.headers, "content-type": outcome.content_type, "cache-control": "no-cache"}
        response = web.StreamResponse(status=outcome.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            for act in acts:
                match act:
                    case Send(data):
                        await response.write(data)
                    case Wait(seconds):
                        await asyncio.sleep(seconds)
                    case Hang(ping_seconds):
                        await self._hang(response, ping_seconds)
                        _break(request, b"")
                    case Break(data):
                        _break(request, data)
                        return response
            await response.write_eof()
        except ConnectionError:
            pass
        return response

    async def _hang(self, response: web.StreamResponse, ping_seconds: float | None) -> None:
        while not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), ping_seconds)
            except TimeoutError:
                await response.write(PING)


def _large_request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY_BYTES)


def _reset(request: web.BaseRequest) -> None:
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        # Without lingering, closing sends RST instead of FIN.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _break(request: web.BaseRequest, data: bytes) -> None:
    transport = request.transport
    if transport is None:
        return
    if data:
        # The size promises more than what follows.
        transport.write(b"%x\r\n%b" % (len(data) + 64, data))
    transport.close()
