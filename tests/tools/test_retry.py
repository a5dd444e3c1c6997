"""Whether a failed attempt is made again, and when: for every effect, every failure and every throw of the dice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import InvalidTool
from relevo.tools.effects import EFFECTS, Effect
from relevo.tools.endings import Failed
from relevo.tools.retry import DEFAULT_RETRY, NO_RETRY, Retry, may_repeat, wait_before

CATEGORIES: Any = ["transient", "validation", "business", "permission", "internal"]
FATES: Any = ["not_executed", "failed", "unknown", "executed"]

effects = st.sampled_from(EFFECTS)
dice = st.floats(0, 1, exclude_max=True)
failures = st.builds(
    Failed,
    message=st.just("It broke."),
    category=st.sampled_from(CATEGORIES),
    retryable=st.booleans(),
    outcome=st.sampled_from(FATES),
    retry_after_seconds=st.none() | st.floats(0, 1e6),
)
policies = st.builds(
    Retry,
    attempts=st.integers(1, 100_000),
    base_seconds=st.floats(0, 100),
    cap_seconds=st.floats(0, 1_000),
    retry_after_cap_seconds=st.floats(0, 1_000),
)


@given(failures)
def test_an_irreversible_call_is_never_repeated(failure: Failed) -> None:
    assert not may_repeat("irreversible", failure)


@given(effects, failures)
def test_only_what_may_pass_by_itself_is_repeated_and_nothing_that_took_effect(effect: Effect, failure: Failed) -> None:
    if may_repeat(effect, failure):
        assert failure.category == "transient"
        assert failure.outcome != "executed"


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_unknown_outcome_is_repeated_only_where_the_key_makes_that_harmless(effect: Effect) -> None:
    failure = Failed(message="?", category="transient", retryable=False, outcome="unknown")

    assert may_repeat(effect, failure) == (effect in ("idempotent", "compensable"))


@given(policies, effects, failures, st.integers(1, 200_000), dice, st.none() | st.floats(0, 1e6))
def test_a_wait_is_never_longer_than_the_caps_and_never_outlasts_the_turn(
    policy: Retry, effect: Effect, failure: Failed, attempt: int, random: float, left: float | None
) -> None:
    """B065: no number of attempts overflows."""
    wait = wait_before(policy, effect, failure, attempt=attempt, random=random, left=left)

    if wait is None:
        return
    assert attempt < policy.attempts
    assert may_repeat(effect, failure)
    assert 0 <= wait <= policy.cap_seconds + policy.retry_after_cap_seconds
    assert wait >= (failure.retry_after_seconds or 0)
    assert left is None or wait < left


@given(effects, failures, dice)
def test_no_retry_is_none(effect: Effect, failure: Failed, random: float) -> None:
    assert wait_before(NO_RETRY, effect, failure, attempt=1, random=random) is None


def test_who_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    """B056."""
    failure = Failed(message="Later.", category="transient", retryable=True, retry_after_seconds=61)

    assert wait_before(DEFAULT_RETRY, "read", failure, attempt=1, random=0.5) is None


@given(st.integers(1, 20))
def test_the_wait_is_drawn_from_a_range_that_doubles_up_to_the_cap(attempt: int) -> None:
    policy = Retry(attempts=100, base_seconds=0.5, cap_seconds=10)
    failure = Failed(message="?", category="transient", retryable=True)
    longest = wait_before(policy, "read", failure, attempt=attempt, random=0.999999)

    assert wait_before(policy, "read", failure, attempt=attempt, random=0) == 0
    assert longest == pytest.approx(min(10, 0.5 * 2 ** (attempt - 1)), rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": True},
        {"attempts": 2.5},
        {"base_seconds": -1},
        {"cap_seconds": float("inf")},
        {"cap_seconds": float("nan")},
        {"base_seconds": True},
        {"retry_after_cap_seconds": "1"},
    ],
)
def test_a_policy_that_cannot_be_kept_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidTool):
        Retry(**wrong)
