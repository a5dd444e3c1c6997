"""
Whether a failed attempt is worth repeating, and when.

Pure: the error, the time and the dice come in, a wait goes out. Errors are told apart by status, type and code,
never by words. There is no other retry in Relevo below or above.

Two kinds of failure need two kinds of patience. An overloaded or limiting API (429, 529) says "later" and means it:
it is asked again for minutes, ever more rarely, until the total is used up. A fault (5xx, a reset, a cut stream) is
either gone in a minute or not a passing thing at all: it gets a number of attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

from relevo.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How patient to be."""

    base_seconds: float = 0.5
    cap_seconds: float = 30.0
    """No drawn wait is longer."""
    attempts: int = 10
    """Of one request, the first included, when it fails by a fault. 1 is no retry."""
    total_seconds: float = 600.0
    """From the end of the first attempt to the start of the last; the one limit for 429 and 529."""
    retry_after_cap_seconds: float = 300.0
    """A server that wants a longer wait is not waited for: the caller is told at once how long it would be."""


DEFAULT_POLICY = RetryPolicy()

NEVER = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached"})
"""Codes of 429 that no waiting cures. Source: `error.details.error_code`, anthropic 2.14 `_error_classes.py`."""

PATIENT = frozenset({"overloaded_error", "rate_limit_error"})

# error.type, and the types that are ours. A type decides where the status says nothing: inside a stream, or without
# a response. A type we do not know is tried again: asking a model twice harms nobody.
FINAL_TYPES = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "conflict_error",
    }
)

# As the SDK, less 501: what a server has not implemented it will not implement in a minute.
RETRYABLE_BELOW_500 = frozenset({408, 409, 425, 429})


def classify(
    status: int | None, error_type: str | None, code: str | None = None, *, should_retry: bool | None = None
) -> bool:
    """Whether the same request may succeed later. `should_retry` is the server's own word and wins."""
    if should_retry is not None:
        return should_retry
    if code in NEVER:
        return False
    if error_type in PATIENT:
        return True
    if status is None or status < 300:
        return error_type not in FINAL_TYPES
    return status in RETRYABLE_BELOW_500 or (status >= 500 and status != 501)


def wait_before(
    error: ModelError, *, attempt: int, elapsed: float, random: float, policy: RetryPolicy = DEFAULT_POLICY
) -> float | None:
    """
    Seconds to wait after `attempt` (1 is the first) failed with `error`; None gives up.

    `elapsed` is seconds since the first attempt ended, `random` a number in [0, 1). Full jitter: the wait is drawn
    from the whole range, so that a crowd that failed together does not come back together.
    """
    left = policy.total_seconds - elapsed
    patient = error.type in PATIENT or error.status in (429, 529)
    if not error.retryable or left <= 0 or attempt < 1 or policy.attempts <= 1:
        return None
    if attempt >= policy.attempts and not patient:
        return None
    if error.retry_after is not None:
        wait = error.retry_after + random * policy.base_seconds
        return wait if error.retry_after <= policy.retry_after_cap_seconds and wait <= left else None
    # 2.0**60 is past any cap; a larger exponent would overflow at attempt 100,000.
    ceiling = min(policy.cap_seconds, policy.base_seconds * 2.0 ** min(attempt - 1, 60))
    return min(random * ceiling, left)
