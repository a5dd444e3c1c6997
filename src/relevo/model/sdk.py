"""
A client of the official SDK as a transport: cloud variants, and whoever holds a client already.

Events come typed from the SDK, go back to plain JSON, and then the same way as those of `DirectModel`. The SDK's own
retries are off: there is one retry layer, and it is not here.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any

from relevo.clock import Clock, RealClock
from relevo.content import decode
from relevo.errors import InvalidValue, MissingCredential, ModelError
from relevo.model import failure, secrets
from relevo.model.answer import Answer
from relevo.model.attempt import LAST_BYTE_SECONDS, Deadlines, Progress, check_kind, is_whole, read_whole
from relevo.model.model import Watch
from relevo.model.request import Request

CLOSE_SECONDS = 5.0


class SdkModel:
    """
    Any asynchronous client of `anthropic` >= 2.14: AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex, ...

    The client stays the caller's: its credentials, its address, its HTTP pool and their closing. Pings are not seen
    here, so `silence_seconds` says nothing and `progress_seconds` does its work.
    """

    def __init__(self, client: Any, *, deadlines: Deadlines | None = None, clock: Clock | None = None) -> None:
        try:
            import anthropic
        except ImportError:
            raise InvalidValue("SdkModel needs the official SDK: pip install 'relevo[anthropic]'") from None
        if not hasattr(client, "with_options") or not hasattr(client, "beta"):
            raise InvalidValue(f"{type(client).__name__} is not a client of anthropic {anthropic.__version__}")
        if not hasattr(client, "__aenter__"):
            raise InvalidValue(f"{type(client).__name__} would block the event loop; pass its Async twin")
        self._client = client.with_options(max_retries=0)
        self._secrets = _secrets_of(client)
        self._deadlines = deadlines or Deadlines()
        self._clock = clock or RealClock()

    def __repr__(self) -> str:
        return f"SdkModel({type(self._client).__name__})"

    async def ask(self, request: Request, *, watch: Watch | None = None) -> Answer:
        """See `Model.ask`."""
        progress = Progress(self._clock, self._deadlines, watch)
        stream = None
        try:
            async with self._clock.timeout(self._deadlines.total_seconds):
                async with self._clock.timeout(self._deadlines.progress_seconds):
                    stream = await self._client.beta.messages.create(**_arguments(request))
                return await self._read(stream, progress)
        except TimeoutError:
            raise failure.timed_out("no content came in time", progress.built.usage) from None
        except ModelError as error:
            if error.request_id is None and stream is not None:
                error.request_id = stream.response.headers.get("request-id")
            raise failure.told(error, self._secrets) from error.__cause__
        except Exception as error:
            named = self._named(error, progress)
            named.request_id = named.request_id or getattr(error, "request_id", None)
            raise failure.told(named, self._secrets) from error
        finally:
            if stream is not None:
                # What goes wrong in closing says nothing about the answer, and must not hold it up.
                with contextlib.suppress(Exception):
                    async with self._clock.timeout(CLOSE_SECONDS):
                        await stream.close()

    async def close(self) -> None:
        """Nothing to do: the client is its owner's to close."""

    async def _read(self, stream: Any, progress: Progress) -> Answer:
        kind = stream.response.headers.get("content-type", "")
        request_id = stream.response.headers.get("request-id")
        check_kind(kind)
        if is_whole(kind):
            pieces: list[bytes] = []
            async for piece in stream.response.aiter_bytes():
                progress.heard(len(piece))
                pieces.append(piece)
            return progress.answer(*read_whole(b"".join(pieces)), request_id)
        events = aiter(stream)
        while not progress.built.done:
            async with self._clock.timeout(self._deadlines.progress_seconds):
                event = await anext(events, None)
            if event is None:
                break
            # exclude_unset: only what the server sent. Without warnings: it may send what the SDK does not know.
            plain = event.to_dict(mode="json", warnings=False)
            progress.heard(len(str(plain)))
            progress.take(plain)
        if progress.built.done:
            # The end of the body lets the client use the connection again; nobody waits long for it.
            with contextlib.suppress(Exception):
                async with self._clock.timeout(LAST_BYTE_SECONDS):
                    await anext(events, None)
        return progress.answer(*progress.built.finish(), request_id)

    def _named(self, error: Exception, progress: Progress) -> ModelError:
        """The same ModelError that `DirectModel` would raise."""
        import anthropic
        import httpx2

        usage = progress.built.usage
        if isinstance(error, anthropic.APIStatusError):
            if error.status_code == 200:
                event = error.body if isinstance(error.body, dict) else {"error": {"message": str(error.body)}}
                progress.show(event)
                return failure.from_event(event, usage)
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            return failure.from_response(error.status_code, headers, error.body, self._clock.now())
        if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
            return failure.timed_out(str(error) or "the SDK's client timed out", usage)
        if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError | OSError):
            return failure.connection(error.__cause__ or error, usage)
        if isinstance(error, ValueError) and progress.built.usage is not None:
            return failure.protocol(f"the stream could not be read: {error}", usage)
        if isinstance(error, anthropic.CredentialsError) or "authentication method" in str(error):
            # A TypeError of the SDK, which has no class of its own for a client without a key.
            return MissingCredential(str(error))
        return ModelError(f"{type(error).__name__}: {error}", type="api_error", usage=usage)


def _secrets_of(client: Any) -> set[str]:
    """Its credentials, custom headers, and the name and password in its address."""
    keys = {value for name in ("api_key", "auth_token") if isinstance(value := getattr(client, name, None), str)}
    chosen = getattr(client, "_custom_headers", None) or {}
    return keys | secrets.of_headers(chosen) | secrets.of_address(str(getattr(client, "base_url", "")))


def _arguments(request: Request) -> dict[str, Any]:
    """The request as arguments of `create`; a field it has no name for goes into `extra_body`."""
    body = decode(request.body)
    names = _parameters()
    named = {name: body.pop(name) for name in list(body) if name in names}
    return {**named, "betas": list(request.betas), **({"extra_body": body} if body else {})}


@functools.cache
def _parameters() -> frozenset[str]:
    from anthropic.resources.beta.messages import AsyncMessages

    return frozenset(inspect.signature(AsyncMessages.create).parameters) - {"self", "timeout"}
