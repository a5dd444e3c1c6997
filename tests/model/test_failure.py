"""Responses, events and exceptions as ModelErrors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import ModelError
from relevo.headers import parse_retry_after
from relevo.model.failure import connection, from_event, from_response, told

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_an_error_response_says_all_it_knows() -> None:
    body = (
        b'{"type":"error","error":{"type":"rate_limit_error","message":"Slow down",'
        b'"details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_body"}'
    )
    error = from_response(429, {"retry-after": "20", "request-id": "req_1"}, body, NOW)

    assert (error.status, error.type, error.code) == (429, "rate_limit_error", "enforced_spend_limit_reached")
    assert (error.retryable, error.retry_after, error.request_id) == (False, 20.0, "req_1")
    assert str(error) == "429 rate_limit_error: Slow down (asked to wait 20 s)"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (413, "request_too_large"),
        (418, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (529, "overloaded_error"),
    ],
)
@pytest.mark.parametrize(
    "body", [b"", b"<html>Bad gateway</html>", b"no", b"[]", b"\xff", "text", None, {}, {"error": 1}]
)
def test_a_response_without_a_type_is_named_by_its_status_b058(status: int, kind: str, body: Any) -> None:
    error = from_response(status, {}, body, NOW)

    assert (error.type, error.status) == (kind, status)
    assert "html" not in error.message


@pytest.mark.parametrize("body", [{"error": "nope"}, {"message": "nope"}, "nope", {"error": {"message": "nope"}}])
def test_the_message_is_found_in_any_common_shape(body: Any) -> None:
    assert "nope" in from_response(400, {}, body, NOW).message


@pytest.mark.parametrize(("word", "retryable"), [("true", True), ("false", False), ("TRUE", True), ("maybe", True)])
def test_x_should_retry_is_obeyed_when_it_is_a_word(word: str, *, retryable: bool) -> None:
    assert from_response(500, {"x-should-retry": word}, b"", NOW).retryable is retryable
    assert from_response(400, {"x-should-retry": "true"}, b"", NOW).retryable


def test_a_long_message_is_cut() -> None:
    assert len(told(from_response(400, {}, {"error": {"message": "x" * 10**6}}, NOW), ()).message) < 1000


@pytest.mark.parametrize("before", range(440, 510, 7))
def test_no_part_of_a_secret_is_told_wherever_the_text_is_cut(before: int) -> None:
    key = "sk-ant-very-secret-key"
    error = told(ModelError("x" * before + key, type=key, code=key, request_id=key), {key})

    assert "sk-" not in f"{error} {error.__dict__}"


@pytest.mark.parametrize("said", ["pass word!", "pass%20word!"])
def test_a_secret_is_hidden_however_it_is_spelled(said: str) -> None:
    assert told(ModelError(f"at {said}"), {"pass%20word!"}).message == "at ***"


def test_a_body_nested_without_end_is_no_crash() -> None:
    assert from_response(500, {}, b"[" * 60_000, NOW).status == 500


@pytest.mark.parametrize(
    "text", ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 2026 00:00:00 +99999999999999"]
)
def test_a_date_no_calendar_has_is_no_wait(text: str) -> None:
    assert parse_retry_after({"retry-after": text}, NOW) is None


@given(st.text())
def test_no_retry_after_is_a_crash(text: str) -> None:
    assert (parse_retry_after({"retry-after": text}, NOW) or 0) >= 0


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_no_body_is_a_crash(body: Any) -> None:
    assert from_response(500, {}, body, NOW).retryable
    assert from_event({"type": "error", "error": body}).status == 200


def test_an_error_event_without_a_type_is_an_api_error() -> None:
    error = from_event({"type": "error"}, {"input_tokens": 1})

    assert (error.type, error.retryable, error.usage) == ("api_error", True, {"input_tokens": 1})


def test_a_connection_error_names_its_class() -> None:
    assert connection(ConnectionResetError()).message == "ConnectionResetError"
    assert connection(OSError("no route")).message == "OSError: no route"
    assert not connection(OSError(), retryable=False).retryable
