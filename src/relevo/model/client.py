"""The direct transport: requests as bytes over aiohttp, to the Claude API and to whatever speaks its wire."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from relevo.clock import Clock, RealClock
from relevo.errors import InvalidValue, MissingCredential, ModelError
from relevo.model import failure, secrets
from relevo.model.answer import Answer
from relevo.model.attempt import Deadlines, Progress, read
from relevo.model.model import Watch
from relevo.model.request import Request

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from relevo.model.connection import Connection

DEFAULT_BASE_URL = "https://api.anthropic.com"
API_VERSION = "2026-10-21"
"""Sent as `anthropic-version`. Source: anthropic 2.15 `_constants.py`, read 2026-12-01."""


class DirectModel:
    """
    A model behind HTTP.

    The environment is read as the official SDK reads it: ANTHROPIC_API_KEY, else ANTHROPIC_AUTH_TOKEN;
    ANTHROPIC_BASE_URL (with or without `/v1`); ANTHROPIC_CUSTOM_HEADERS. What is passed here wins. A base URL on this
    machine needs no key. One object serves many sessions and event loops; every loop has its own connections.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        auth_token: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        version: str = API_VERSION,
        deadlines: Deadlines | None = None,
        clock: Clock | None = None,
    ) -> None:
        environment = os.environ
        self._clock = clock or RealClock()
        self._deadlines = deadlines or Deadlines()
        self.base_url = _root(base_url or environment.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL)
        """Without `/v1`."""
        key = (
            api_key
            or auth_token
            or environment.get("ANTHROPIC_API_KEY")
            or environment.get("ANTHROPIC_AUTH_TOKEN")
            or ""
        ).strip()
        own = {"anthropic-version": version, "content-type": "application/json", "accept": "application/json"}
        if key:
            own["authorization"] = f"Bearer {key}"
        asked = _lines(environment.get("ANTHROPIC_CUSTOM_HEADERS", "")) | dict(headers or {})
        self._headers = dict(_header(name, value) for name, value in {**own, **asked}.items())
        self._secrets = secrets.of_headers(self._headers)
        self._betas = frozenset(filter(None, map(str.strip, self._headers.pop("anthropic-beta", "").split(","))))
        self._connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"DirectModel(base_url={self.base_url!r})"

    async def ask(self, request: Request, *, watch: Watch | None = None) -> Answer:
        """See `Model.ask`."""
        progress = Progress(self._clock, self._deadlines, watch)
        try:
            async with self._clock.timeout(self._deadlines.total_seconds):
                return await self._attempt(request, progress)
        except TimeoutError:
            raise failure.timed_out("the total time is over", progress.built.usage) from None
        except ModelError as error:
            raise failure.told(error, self._secrets) from error.__cause__

    async def close(self) -> None:
        """Close the connections of this loop, and of loops that are no more."""
        self._abandon_dead()
        here = self._connections.pop(asyncio.get_running_loop(), None)
        if here is not None:
            await here.close()

    async def _attempt(self, request: Request, progress: Progress) -> Answer:
        connection = self._connection()
        from relevo.model.connection import TRANSPORT_ERRORS, finish, is_hopeless  # aiohttp, loaded only now

        response = None
        try:
            response = await self._post(connection, request, progress)
            answer = await read(response, progress)
            await finish(response, self._clock)
            return answer
        except TRANSPORT_ERRORS as error:
            usage = progress.built.usage
            raise failure.connection(error, usage, retryable=not is_hopeless(error)) from error
        except ModelError as error:
            if response is not None and error.request_id is None:
                error.request_id = response.headers.get("request-id")
            raise
        finally:
            # At once, also when cancelled: nobody reads the rest, and the tokens still to come are saved.
            if response is not None:
                response.close()

    async def _post(self, connection: Connection, request: Request, progress: Progress) -> ClientResponse:
        left, _ = progress.left()
        betas = sorted(self._betas.union(request.betas))
        headers = {**self._headers, "anthropic-beta": ",".join(betas)} if betas else self._headers
        try:
            async with self._clock.timeout(left):
                return await connection.post(request.body, headers)
        except TimeoutError as error:
            if type(error) is TimeoutError and error.errno is None:  # ours, neither aiohttp's nor the kernel's
                raise failure.timed_out("no response began in time") from None
            raise

    def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        found = self._connections.get(loop)
        if found is None:
            if not self._headers.keys() & {"authorization", "x-api-key"} and not _is_local(self.base_url):
                raise MissingCredential(
                    "no API key: set ANTHROPIC_API_KEY or pass api_key= (a base_url on this machine needs none)"
                )
            from relevo.model.connection import Connection, proxy_for

            self._abandon_dead()
            url = f"{self.base_url}/v1/messages"
            proxy, credentials = proxy_for(url)
            self._secrets |= secrets.of_headers(credentials)
            found = Connection(url, proxy, credentials, self._deadlines.connect_seconds)
            self._connections[loop] = found
        return found

    def _abandon_dead(self) -> None:
        for loop in [loop for loop in self._connections if loop.is_closed()]:
            self._connections.pop(loop).abandon()


def _root(base_url: str) -> str:
    base_url = base_url.strip()
    where = base_url
    try:
        parts = urlsplit(base_url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        where = parts.netloc if is_http else base_url
    except ValueError:
        is_http = False
    if "@" in where:
        # Said without the address: in a broken one nobody knows where the password ends.
        raise InvalidValue("base_url holds a name or password; pass it in headers=")
    if not is_http:
        raise InvalidValue(f"base_url {base_url!r} is not an http address")
    return base_url.rstrip("/").removesuffix("/v1").rstrip("/")


def _is_local(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _lines(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.split("\n") if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _header(name: str, value: str) -> tuple[str, str]:
    # Said without the value: it may be a key.
    if not name or not (name + value).isprintable() or not name.isascii():
        raise InvalidValue(f"the header {name!r} cannot be sent: empty, or with a line break or control character")
    return name.lower(), value.strip()
