"""
What can go wrong between a client and the API, as values.

An *early* fault takes the place of the answer; the brain is not asked.  A *late* fault spoils the answer on its way.
Facts about statuses and streams: the `anthropic` SDK 2.14 and platform.claude.com/docs errors, read 2026-12-01.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

STATUS_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error status instead of an answer.  `error_type` None is the usual type of `status`."""

    status: int
    error_type: str | None = None
    message: str = "simulated error"
    retry_after: str | None = None
    """Seconds, or an HTTP date, as the header says it; None sends no header."""
    retry_after_ms: int | None = None
    should_retry: bool | None = None
    """`x-should-retry: true` or `false`; None sends no header."""
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset before any header."""


@dataclass(frozen=True, slots=True)
class HtmlBody:
    """A page of a proxy instead of JSON."""

    status: int = 200


@dataclass(frozen=True, slots=True)
class StreamError:
    """`event: error` after `after` deltas (0: before the first).  Without a stream: an error status."""

    error_type: str = "overloaded_error"
    after: int = 0
    message: str = "Overloaded"


@dataclass(frozen=True, slots=True)
class CleanEnd:
    """The stream ends early and politely.  Without a stream: the body is cut, its length is not announced."""

    at: Literal["message_start", "content_block_stop", "message_delta", "inside_line"] = "message_start"


@dataclass(frozen=True, slots=True)
class CutChunk:
    """The connection closes inside a chunk after `after` deltas.  Without a stream: inside the body."""

    after: int = 1


@dataclass(frozen=True, slots=True)
class Stall:
    """
    Nothing more after `after` deltas until the client leaves or the server closes.

    `ping_seconds` None is silence, else a ping comes that often.
    """

    after: int = 0
    ping_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SlowDrip:
    """`piece_bytes` at a time with `seconds` between, cutting lines and characters where they fall."""

    seconds: float = 0.01
    piece_bytes: int = 7


@dataclass(frozen=True, slots=True)
class DuplicateDelta:
    """The delta number `nth` (from 0) is delivered twice."""

    nth: int = 0


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event that no client knows comes after `message_start`."""

    name: str = "galaxy_drift"


@dataclass(frozen=True, slots=True)
class NoEventLine:
    """Frames have `data:` lines only."""


@dataclass(frozen=True, slots=True)
class NoUsage:
    """`usage` is missing, or null when `null` is true."""

    null: bool = False


EarlyFault = HttpError | Reset | HtmlBody
LateFault = StreamError | CleanEnd | CutChunk | Stall | SlowDrip | DuplicateDelta | UnknownEvent | NoEventLine | NoUsage
Fault = EarlyFault | LateFault

FAULTS: dict[str, type[Fault]] = {
    "http": HttpError,
    "reset": Reset,
    "html": HtmlBody,
    "error": StreamError,
    "end": CleanEnd,
    "cut": CutChunk,
    "stall": Stall,
    "drip": SlowDrip,
    "duplicate": DuplicateDelta,
    "unknown_event": UnknownEvent,
    "no_event_line": NoEventLine,
    "no_usage": NoUsage,
}
"""The short name of each fault in YAML and on the command line."""
