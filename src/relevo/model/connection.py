"""
The HTTP client under `DirectModel`. Imported on the first request only: aiohttp takes a while to load.

One session and one connection pool for one event loop. A response is either read to its end, and its connection goes
back to the pool, or it is closed at once; nothing in between.
"""

from __future__ import annotations

import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter

from relevo.clock import Clock
from relevo.errors import ModelError
from relevo.model.attempt import LAST_BYTE_SECONDS

CHUNK_BYTES = 256 * 1024
KEEP_ALIVE_SECONDS = 55.0
"""Longer than most tools run, so that a session keeps its TLS connection from one turn to the next."""


class Connection:
    """A pool of connections to one address, of one event loop."""

    def __init__(
        self, url: str, proxy: str | None, credentials: Mapping[str, str], connect_seconds: float | None
    ) -> None:
        self._url = url
        # The proxy reads them from the request itself, or, before a tunnel, from the request for it.
        tunnelled = url.startswith("https:")
        self._headers = {} if tunnelled else dict(credentials)
        self._tunnel = dict(credentials) if tunnelled else {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds, connect=connect_seconds),
            # Not trust_env: it asks the environment and ~/.netrc in two threads for every request, and an entry in
            # ~/.netrc would fight with our Authorization header.
            proxy=proxy,
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def post(self, body: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        """Send and return when the response's head is there. Redirects are not followed: they would carry the key."""
        return await self._session.post(
            self._url,
            data=_Body(body),
            headers={**headers, **self._headers},
            proxy_headers=self._tunnel,
            allow_redirects=False,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    def abandon(self) -> None:
        """Drop the sockets of a loop that is closed and can no longer be asked to."""
        connector = self._session.connector
        if connector is not None:
            for pool in connector._conns.values():  # noqa: SLF001  no public way without a running loop
                for protocol, _ in pool:
                    transport: Any = protocol.transport
                    if transport is not None:
                        transport.get_extra_info("socket")._sock.close()  # noqa: SLF001
            connector._conns.clear()  # noqa: SLF001
            connector._closed = True  # noqa: SLF001
        self._session.detach()


async def finish(response: aiohttp.ClientResponse, clock: Clock) -> None:
    """Give the connection back if the response ends now; close it otherwise. Never waits longer than a moment."""
    if response.content.at_eof():
        response.release()
        return
    try:
        async with clock.timeout(LAST_BYTE_SECONDS):
            while await response.content.readany():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass
    finally:
        response.close()


def is_hopeless(error: BaseException) -> bool:
    """Whether a transport error will be the same next time: a wrong certificate, an address that is none."""
    return isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.InvalidURL)


# TimeoutError is an OSError too: here it is the connect timeout's, or the kernel's.
TRANSPORT_ERRORS: tuple[type[Exception], ...] = (aiohttp.ClientError, OSError, EOFError)


class _Body(payload.Payload):
    """
    Bytes that are written in pieces.

    aiohttp's own payload for bytes warns above 1 MiB, and long sessions are longer.
    """

    def __init__(self, value: bytes) -> None:
        super().__init__(value, content_type="application/json")
        self._size = len(value)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        text: str = self._value.decode(encoding, errors)
        return text

    async def write(self, writer: AbstractStreamWriter) -> None:
        if self._size is not None and self._size <= CHUNK_BYTES:
            await writer.write(self._value)
            return
        view = memoryview(self._value)
        for start in range(0, len(view), CHUNK_BYTES):
            await writer.write(view[start : start + CHUNK_BYTES])


def proxy_for(url: str) -> tuple[str | None, Mapping[str, str]]:
    """
    The environment's proxy for an address, and the header with its name and password: errors repeat an address.

    Raises ModelError when it is no address, and does not say it: it may hold a password.
    """
    parts = urlsplit(url)
    address = urllib.request.getproxies().get(parts.scheme)
    if not address or urllib.request.proxy_bypass(parts.hostname or ""):
        return None, {}
    try:
        proxy = urlsplit(address)
        is_http = proxy.scheme in ("http", "https") and bool(proxy.hostname) and proxy.port != 0
    except ValueError:
        proxy, is_http = None, False
    if proxy is None or not is_http:
        raise ModelError(f"{parts.scheme}_proxy in the environment is not an http address", type="connection")
    user, at, place = proxy.netloc.rpartition("@")
    credentials = {"proxy-authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}
    return proxy._replace(netloc=place).geturl(), credentials
