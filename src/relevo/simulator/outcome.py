"""A request as it came in and a response as it goes out, without a socket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from multidict import CIMultiDict, CIMultiDictProxy

from relevo.simulator import wire
from relevo.simulator.delivery import Act
from relevo.simulator.violation import Violation

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Incoming:
    """One HTTP request.  `raw` None: the body was larger than the limit and was not kept."""

    method: str
    path: str
    headers: CIMultiDictProxy[str] | CIMultiDict[str]
    query: Mapping[str, str]
    raw: bytes | None


@dataclass(slots=True)
class Outcome:
    """One HTTP response: a `body`, or `acts` that deliver it piece by piece, or (both None) a reset connection."""

    status: int = 200
    body: bytes | None = None
    acts: Iterable[Act] | None = None
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """What came in and what became of it, for tests to look at."""

    number: int
    """Counts requests of every path from 1."""
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    """Parsed; None when there was none or it was not JSON."""
    violations: tuple[Violation, ...]
    """Every rule broken, whether or not the request was refused for it."""
    status: int
    request_id: str
    message: Mapping[str, Any] | None = None
    """The message sent, before a late fault spoiled it."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The numbers of the rules broken."""
        return tuple(violation.rule for violation in self.violations)


def json_outcome(value: Any, status: int = 200) -> Outcome:
    """Answer with JSON."""
    return Outcome(status, wire.dump(value))


def refusal(violation: Violation, request_id: str) -> Outcome:
    """Answer with the error of a broken rule."""
    body = wire.error_body(violation.error_type, violation.message, request_id, violation.all_details)
    return Outcome(violation.status, body)


def rate_limits(now: float, prompt_tokens: int) -> dict[str, str]:
    """Headers of an account that this request alone has used; `now` is seconds since 1970."""
    reset = datetime.fromtimestamp(int(now) + 1, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers = {}
    # Source: platform.claude.com/docs rate-limits, start tier, read 2026-12-01.
    for name, limit, used in (
        ("requests", 1_000, 1),
        ("tokens", 2_400_000, prompt_tokens),
        ("input-tokens", 2_000_000, prompt_tokens),
        ("output-tokens", 400_000, 0),
    ):
        headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
        headers[f"anthropic-ratelimit-{name}-remaining"] = str(max(0, limit - used))
        headers[f"anthropic-ratelimit-{name}-reset"] = reset
    return headers
