"""
Whether a failed attempt at a call is made again, and when.

Pure: the effect class says what may be repeated, the failure whether it helps, and the wait is drawn with the dice
that come in. Every attempt has the same key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relevo.errors import InvalidTool
from relevo.tools.effects import Effect
from relevo.tools.endings import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How patient the harness is with a tool before the model hears of a failure."""

    attempts: int = 3
    """The first included; 1 is no retry."""
    base_seconds: float = 0.5
    cap_seconds: float = 10.0
    """No drawn wait is longer. Full jitter: a wait is drawn from the whole range up to base * 2 ** failures."""
    retry_after_cap_seconds: float = 60.0
    """Who asks for a longer wait is not waited for: the model is told how long it would be."""

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise InvalidTool(f"retry: attempts must be 1 or more, not {self.attempts!r}")
        for name in ("base_seconds", "cap_seconds", "retry_after_cap_seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InvalidTool(f"retry: {name} must be 0 or more seconds, not {value!r}")


DEFAULT_RETRY = Retry()
NO_RETRY = Retry(attempts=1)


def may_repeat(effect: Effect, failure: Failed) -> bool:
    """
    Whether the same call may be run again, by itself, after this failure.

    Never an irreversible one, and never what took effect. A repeat of unknown outcome needs the key to make it
    harmless.
    """
    if failure.category != "transient" or failure.outcome == "executed":
        return False
    match effect:
        case "read" | "transactional":
            return failure.retryable
        case "idempotent" | "compensable":
            return failure.retryable or failure.outcome == "unknown"
        case "irreversible":
            return False


def wait_before(
    policy: Retry, effect: Effect, failure: Failed, *, attempt: int, random: float, left: float | None = None
) -> float | None:
    """
    Seconds from the end of `attempt` (1 is the first) to the next; None when there is none.

    `random` is a number in [0, 1). `left` is what the turn has left in seconds, None without a limit: a wait that would
    outlast it is not begun.
    """
    if attempt >= policy.attempts or not may_repeat(effect, failure):
        return None
    # 2.0**60 is past any cap; a larger exponent would overflow.
    wait = random * min(policy.cap_seconds, policy.base_seconds * 2.0 ** min(attempt - 1, 60))
    if failure.retry_after_seconds is not None:
        if failure.retry_after_seconds > policy.retry_after_cap_seconds:
            return None
        wait += failure.retry_after_seconds
    return wait if left is None or wait < left else None
