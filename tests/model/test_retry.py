"""Whether and when to try again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import MissingCredential, ModelError
from relevo.headers import parse_retry_after
from relevo.model.retry import RetryPolicy, classify, wait_before

NOW = datetime(2026, 12, 1, tzinfo=UTC)
DICE = st.floats(0, 1, exclude_max=True)
POLICIES = st.builds(
    RetryPolicy,
    base_seconds=st.floats(0.01, 10),
    cap_seconds=st.floats(0, 100),
    attempts=st.integers(1, 100_000),
    total_seconds=st.floats(0, 10_000),
    retry_after_cap_seconds=st.floats(0, 10_000),
)


def fault(
    status: int | None = 500, kind: str = "api_error", *, retryable: bool = True, after: float | None = None
) -> ModelError:
    return ModelError("x", status=status, type=kind, retryable=retryable, retry_after=after)


ERRORS = st.builds(
    fault,
    st.sampled_from([None, 200, 429, 500, 529]),
    st.sampled_from(["api_error", "overloaded_error", "connection"]),
    retryable=st.booleans(),
    after=st.none() | st.floats(0, 1e9),
)


class TestWait:
    @given(ERRORS, st.integers(1, 200_000), st.floats(0, 20_000), DICE, POLICIES)
    def test_no_wait_goes_past_the_total_time(
        self, error: ModelError, attempt: int, elapsed: float, dice: float, policy: RetryPolicy
    ) -> None:
        wait = wait_before(error, attempt=attempt, elapsed=elapsed, random=dice, policy=policy)

        assert wait is None or 0 <= wait <= policy.total_seconds - elapsed

    @given(st.integers(1, 10**6), DICE)
    def test_a_drawn_wait_stays_under_its_cap_whatever_the_attempt_b065(self, attempt: int, dice: float) -> None:
        policy = RetryPolicy(attempts=10**7)
        wait = wait_before(fault(), attempt=attempt, elapsed=0, random=dice, policy=policy)

        assert wait is not None
        assert 0 <= wait <= min(30, 0.5 * 2.0 ** min(attempt - 1, 10))

    def test_the_hundred_thousandth_attempt_waits_no_longer_than_the_cap_b065(self) -> None:
        policy = RetryPolicy(attempts=100_001, cap_seconds=8)

        assert wait_before(fault(), attempt=100_000, elapsed=0, random=0.5, policy=policy) == 4

    def test_the_jitter_is_full(self) -> None:
        waits = [wait_before(fault(), attempt=3, elapsed=0, random=dice) for dice in (0.0, 0.5, 0.999)]

        assert waits == [0.0, 1.0, 1.998]

    @given(st.integers(1, 100), DICE, st.floats(0, 100), st.none() | st.floats(0, 100))
    def test_what_cannot_help_itself_is_never_tried_again(
        self, attempt: int, dice: float, elapsed: float, after: float | None
    ) -> None:
        error = fault(retryable=False, after=after)

        assert wait_before(error, attempt=attempt, elapsed=elapsed, random=dice) is None
        assert wait_before(MissingCredential("x"), attempt=attempt, elapsed=elapsed, random=dice) is None

    def test_a_fault_has_a_number_of_attempts(self) -> None:
        policy = RetryPolicy(attempts=3)
        waits = [wait_before(fault(), attempt=n, elapsed=0, random=0.5, policy=policy) for n in (1, 2, 3)]

        assert [wait is None for wait in waits] == [False, False, True]

    @pytest.mark.parametrize(
        "error", [fault(529, "overloaded_error"), fault(429, "rate_limit_error"), fault(200, "overloaded_error")]
    )
    def test_an_overloaded_api_is_asked_for_minutes_and_not_for_ever(self, error: ModelError) -> None:
        elapsed, attempt = 0.0, 1
        while (wait := wait_before(error, attempt=attempt, elapsed=elapsed, random=0.5)) is not None:
            elapsed += wait + 1
            attempt += 1

        assert elapsed >= 600
        assert 30 < attempt < 60

    @pytest.mark.parametrize("kind", ["rate_limit_error", "api_error"])
    def test_one_attempt_means_no_retry(self, kind: str) -> None:
        policy = RetryPolicy(attempts=1)

        assert wait_before(fault(429, kind), attempt=1, elapsed=0, random=0.5, policy=policy) is None

    def test_a_wait_that_was_asked_for_is_kept_and_not_by_all_at_one_moment_b056(self) -> None:
        waits = [wait_before(fault(429, after=20), attempt=1, elapsed=0, random=dice) for dice in (0.0, 0.8)]

        assert waits == [20.0, 20.4]

    @pytest.mark.parametrize(("after", "elapsed"), [(86_400, 0), (301, 0), (200, 500)])
    def test_a_wait_over_the_cap_or_the_deadline_gives_up_at_once_b056(self, after: float, elapsed: float) -> None:
        error = fault(429, after=after)

        assert wait_before(error, attempt=1, elapsed=elapsed, random=0.0) is None
        assert error.retry_after == after


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({}, None),
            ({"retry-after": "20"}, 20.0),
            ({"retry-after": "0.5"}, 0.5),
            ({"retry-after": "86400"}, 86_400.0),
            ({"retry-after": "abc"}, None),
            ({"retry-after": ""}, None),
            ({"retry-after": "-5"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": "inf"}, None),
            ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
            ({"retry-after": "Tue, 01 Dec 2026 00:01:00 -0000"}, 60.0),
            ({"retry-after": format_datetime(NOW - timedelta(days=1), usegmt=True)}, 0.0),
            ({"retry-after": "Tue, 99 Dec 2026 00:00:00 GMT"}, None),
            ({"retry-after-ms": "1500"}, 1.5),
            ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
            ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ],
    )
    def test_seconds_dates_and_milliseconds_are_read_and_rubbish_is_not_b056(
        self, headers: dict[str, str], seconds: float | None
    ) -> None:
        assert parse_retry_after(headers, NOW) == seconds

    @given(st.text())
    def test_no_header_is_a_crash(self, text: str) -> None:
        wait = parse_retry_after({"retry-after": text, "retry-after-ms": text}, NOW)

        assert wait is None or wait >= 0


class TestClassify:
    @pytest.mark.parametrize(
        ("status", "retryable"),
        [(s, False) for s in (301, 400, 401, 402, 403, 404, 405, 412, 413, 422, 431, 499, 501)]
        + [(s, True) for s in (408, 409, 425, 429, 500, 502, 503, 504, 520, 529, 599)],
    )
    def test_a_status_decides_when_the_type_says_nothing_b058(self, status: int, *, retryable: bool) -> None:
        assert classify(status, None) is retryable
        assert classify(status, "brand_new_error") is retryable

    @pytest.mark.parametrize(
        ("kind", "retryable"),
        [
            ("overloaded_error", True),
            ("rate_limit_error", True),
            ("api_error", True),
            ("timeout_error", True),
            ("brand_new_error", True),
            ("invalid_request_error", False),
            ("authentication_error", False),
            ("billing_error", False),
            ("permission_error", False),
            ("not_found_error", False),
            ("request_too_large", False),
        ],
    )
    def test_inside_a_stream_the_type_decides_b058(self, kind: str, *, retryable: bool) -> None:
        assert classify(200, kind) is retryable

    @pytest.mark.parametrize("kind", ["connection", "timeout", "cut_stream", "protocol"])
    def test_our_own_types_may_be_tried_again_b061(self, kind: str) -> None:
        assert classify(None, kind)
        assert classify(200, kind)

    @pytest.mark.parametrize("status", [400, 500, 503])
    def test_an_overload_behind_another_status_is_an_overload(self, status: int) -> None:
        assert classify(status, "overloaded_error")

    @pytest.mark.parametrize("code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"])
    def test_a_spent_budget_is_no_rate_limit(self, code: str) -> None:
        assert not classify(429, "rate_limit_error", code)
        assert classify(429, "rate_limit_error", "ramp_limit_exceeded")

    @pytest.mark.parametrize("status", [200, 400, 429, 500])
    @pytest.mark.parametrize("word", [True, False])
    def test_the_servers_own_word_wins(self, status: int, *, word: bool) -> None:
        assert classify(status, "rate_limit_error", "enforced_spend_limit_reached", should_retry=word) is word
