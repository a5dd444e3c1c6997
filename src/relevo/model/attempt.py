"""
One response being read: deadlines, events, and what the watcher sees.

Two deadlines ring here. *Silence*: no byte at all, not even a ping, so the connection is dead. *Progress*: pings
arrive but no content does. It is the longer one, since models think for minutes without a visible delta when
`thinking.display` is `omitted`, their default. Reading can be interrupted and taken up again, so one scope guards many
reads, and nothing is armed anew when a token arrives.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relevo.clock import Clock
from relevo.model import failure
from relevo.model.answer import Answer
from relevo.model.sse import SseReader, parse_json
from relevo.model.stream import Accumulator, whole

if TYPE_CHECKING:
    from aiohttp import ClientResponse

log = logging.getLogger(__name__)

MAX_ERROR_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""
Of one response, decompressed. The largest output limit is 128,000 tokens, half a megabyte of text and some forty times
that in the frames of a stream; what is larger comes from a server gone wrong, and would fill the memory and the log.
"""
LAST_BYTE_SECONDS = 0.25
"""How long the end of the body is waited for once the message is whole: then the connection can be used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long one attempt may take; None is no limit."""

    connect_seconds: float | None = 10.0
    silence_seconds: float | None = 120.0
    """Between two bytes. A server on a slow machine that sends no pings while it reads a long prompt needs more."""
    progress_seconds: float | None = 600.0
    """Between two pieces of content; pings do not count."""
    total_seconds: float | None = 3600.0


class Progress:
    """The account of one attempt: when it heard what, and what it has built."""

    def __init__(
        self, clock: Clock, deadlines: Deadlines, watch: Callable[[Mapping[str, Any]], None] | None = None
    ) -> None:
        self.clock = clock
        self.deadlines = deadlines
        self._watch = watch
        self.built = Accumulator()
        self._sent_at = self._heard_at = self._moved_at = clock.monotonic()
        self._first_at: float | None = None
        self._left_bytes = MAX_ANSWER_BYTES

    def heard(self, size_bytes: int, *, moved: bool = False) -> None:
        """
        Note that bytes came, and whether they alone are progress.

        Raises ModelError when they are more than any answer has: nothing that is built of them can be larger.
        """
        self._heard_at = self.clock.monotonic()
        if moved:
            self._moved_at = self._heard_at
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            reason = f"the answer is larger than {MAX_ANSWER_BYTES} bytes"
            raise failure.protocol(reason, self.built.usage, retryable=False)

    def take(self, event: Mapping[str, Any]) -> None:
        """Add an event and show it. Raises as `Accumulator.add` does."""
        try:
            if self.built.add(event):
                self._moved_at = self._heard_at
                if self._first_at is None and self.built.begun:
                    self._first_at = self._heard_at
        finally:
            self.show(event)

    def show(self, event: Mapping[str, Any]) -> None:
        """Let the watcher see an event; what it raises stays with it."""
        if self._watch is None:
            return
        try:
            self._watch(event)
        except Exception:
            # Said once; a watcher that fails at one token fails at all of them.
            self._watch = None
            log.warning("a watcher failed and was let go", exc_info=True, extra={"action": "watch_failed"})

    def left(self) -> tuple[float | None, str]:
        """Seconds to the next deadline and what it will mean; None for never."""
        now, limits = self.clock.monotonic(), self.deadlines
        waits: list[tuple[float, str]] = []
        if limits.silence_seconds is not None:
            waits.append((self._heard_at + limits.silence_seconds - now, "nothing was heard"))
        if limits.progress_seconds is not None:
            waits.append((self._moved_at + limits.progress_seconds - now, "no content came, only pings"))
        return min(waits, default=(None, ""))

    def answer(self, message: dict[str, Any], malformed: frozenset[int], request_id: str | None) -> Answer:
        """The answer, with its times."""
        return Answer(
            message=message,
            request_id=request_id,
            first_token_seconds=None if self._first_at is None else self._first_at - self._sent_at,
            seconds=self.clock.monotonic() - self._sent_at,
            malformed=malformed,
        )


async def read(response: ClientResponse, progress: Progress) -> Answer:
    """
    The answer in a response, streamed or whole.

    Raises:
        ModelError: an HTTP error, an error event, a cut or broken stream, a deadline.
        aiohttp.ClientError, OSError: the connection broke.
    """
    headers = {name.lower(): value for name, value in response.headers.items()}
    kind = headers.get("content-type", "")
    if response.status != 200:
        body: bytes | str = await _body(response, progress, limit_bytes=MAX_ERROR_BYTES)
        if 300 <= response.status < 400:
            # Not followed: the key would travel to an address nobody chose.
            body = f"redirected to {headers.get('location', 'nowhere')}; set base_url to where the API is"
        raise failure.from_response(response.status, headers, body, progress.clock.now())
    check_kind(kind)
    if is_whole(kind):
        message, malformed = read_whole(await _body(response, progress))
    else:
        await _stream(response, progress)
        message, malformed = progress.built.finish()
    return progress.answer(message, malformed, headers.get("request-id"))


async def _stream(response: ClientResponse, progress: Progress) -> None:
    reader = SseReader()

    async def pump() -> None:
        chunk = b"begin"
        while chunk and not progress.built.done:
            chunk = await response.content.readany()
            progress.heard(len(chunk))
            for event in reader.feed(chunk) if chunk else reader.end():
                progress.take(event)

    await _guarded(progress, pump)


async def _body(response: ClientResponse, progress: Progress, limit_bytes: int | None = None) -> bytes:
    pieces: list[bytes] = []

    async def pump() -> None:
        left = limit_bytes
        while (left is None or left > 0) and (piece := await response.content.readany()):
            progress.heard(len(piece), moved=True)
            pieces.append(piece)
            left = None if left is None else left - len(piece)

    await _guarded(progress, pump)
    return b"".join(pieces)


async def _guarded(progress: Progress, pump: Callable[[], Awaitable[None]]) -> None:
    """Run `pump` to its end, interrupting and resuming it to look at the time when a deadline may have passed."""
    while True:
        left, meaning = progress.left()
        if left is not None and left <= 0:
            raise failure.timed_out(meaning, progress.built.usage)
        try:
            async with progress.clock.timeout(left):
                return await pump()
        except TimeoutError as error:
            if error.errno is not None:  # ETIMEDOUT: the kernel gave the connection up, not we
                raise


def check_kind(content_type: str) -> None:
    """Refuse what cannot hold an answer."""
    if content_type.lower().startswith("text/html"):
        raise failure.protocol("a web page came instead of an answer; is base_url the address of an API?")


def is_whole(content_type: str) -> bool:
    """Whether the body is one JSON message: not every server streams."""
    return content_type.lower().startswith("application/json")


def read_whole(body: bytes) -> tuple[dict[str, Any], frozenset[int]]:
    """The message in a body, and its malformed blocks."""
    try:
        value = parse_json(body.decode())
    except (ValueError, RecursionError):
        raise failure.protocol(f"the answer is not JSON: {body!r}") from None
    if isinstance(value, dict) and value.get("type") == "error":
        raise failure.from_event(value)
    if not isinstance(value, dict):
        raise failure.protocol(f"the answer is not a message: {body!r}")
    return whole(value)
