"""What an exception means, by class, status and code."""

from __future__ import annotations

import asyncio
import errno
import socket
import sqlite3
import ssl
import urllib.error
from email.message import Message
from typing import Any

import aiohttp
import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import InvalidTool
from relevo.tools import ToolContext, tool
from relevo.tools.failure import failure_of
from relevo.tools.rules import DEFAULT_RULES, Rule, meaning_of, status_of

CONTEXT = ToolContext(session_id="sesn_1", call_id="sevt_9.0")


def act() -> None: ...


READ = tool(act, name="look", effect="read")
PAY = tool(act, name="pay")


def answered(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://example.com/?key=hush")
    response = httpx.Response(status, headers={k.replace("_", "-"): v for k, v in headers.items()}, request=request)
    return httpx.HTTPStatusError("hush", request=request, response=response)


def locked(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("hush")
    error.sqlite_errorcode = getattr(sqlite3, name)
    return error


REQUEST = httpx.Request("GET", "https://example.com")
TABLE: list[tuple[BaseException, str, str, str]] = [
    (TimeoutError(), "transient", "exception", "unknown"),
    (socket.timeout(), "transient", "exception", "unknown"),  # noqa: UP041  the old name
    (ConnectionResetError(), "transient", "exception", "unknown"),
    (BrokenPipeError(), "transient", "exception", "unknown"),
    (ConnectionRefusedError(), "transient", "unreachable", "not_executed"),
    (socket.gaierror(-2, "hush"), "transient", "unreachable", "not_executed"),
    (OSError(errno.EHOSTUNREACH, "hush"), "transient", "unreachable", "not_executed"),
    (OSError(errno.ENOSPC, "hush"), "internal", "exception", "unknown"),
    (FileNotFoundError(2, "hush"), "internal", "exception", "unknown"),
    (ssl.SSLCertVerificationError("hush"), "permission", "certificate", "not_executed"),
    (httpx.ConnectError("hush", request=REQUEST), "transient", "unreachable", "not_executed"),
    (httpx.ConnectTimeout("hush", request=REQUEST), "transient", "unreachable", "not_executed"),
    (httpx.ReadTimeout("hush", request=REQUEST), "transient", "exception", "unknown"),
    (httpx.RemoteProtocolError("hush", request=REQUEST), "transient", "exception", "unknown"),
    (aiohttp.ServerDisconnectedError("hush"), "transient", "exception", "unknown"),
    (aiohttp.ClientPayloadError("hush"), "transient", "exception", "unknown"),
    (locked("SQLITE_BUSY"), "transient", "locked", "failed"),
    (locked("SQLITE_BUSY_SNAPSHOT"), "transient", "locked", "failed"),
    (locked("SQLITE_CONSTRAINT_UNIQUE"), "internal", "exception", "unknown"),
    (sqlite3.OperationalError("database is locked"), "internal", "exception", "unknown"),
    (answered(400), "validation", "http_400", "failed"),
    (answered(403), "permission", "http_403", "failed"),
    (answered(404), "business", "http_404", "failed"),
    (answered(429), "transient", "http_429", "failed"),
    (answered(500), "transient", "http_500", "unknown"),
    (answered(501), "internal", "http_501", "failed"),
    (answered(503), "transient", "http_503", "unknown"),
    (urllib.error.HTTPError("https://hush", 503, "hush", Message(), None), "transient", "http_503", "unknown"),
    (aiohttp.ClientResponseError(None, (), status=502), "transient", "http_502", "unknown"),  # type: ignore[arg-type]
    (ValueError("503 timeout connection reset"), "internal", "exception", "unknown"),
    (asyncio.CancelledError(), "internal", "exception", "unknown"),
    (SystemExit(1), "internal", "exception", "unknown"),
]


@pytest.mark.parametrize(("error", "category", "code", "outcome"), TABLE, ids=lambda value: repr(value)[:40])
def test_b061_what_an_effect_that_raised_means(error: Any, category: str, code: str, outcome: str) -> None:
    ending = failure_of(error, PAY, CONTEXT)

    assert (ending.category, ending.code, ending.outcome) == (category, code, outcome)
    assert ending.retryable == (category == "transient" and outcome != "unknown")
    assert "hush" not in ending.content


@pytest.mark.parametrize(("error", "category"), [(row[0], row[1]) for row in TABLE], ids=lambda value: repr(value)[:40])
def test_a_read_may_be_tried_again_after_whatever_passes(error: Any, category: str) -> None:
    ending = failure_of(error, READ, CONTEXT)

    assert ending.retryable == (category == "transient")
    assert ending.outcome in ("failed", "not_executed")


def test_a_server_that_names_a_time_is_believed() -> None:
    dated = answered(503, retry_after="Sun, 06 Dec 2026 10:00:20 GMT", date="Sun, 06 Dec 2026 10:00:00 GMT")

    assert failure_of(answered(429, retry_after="7"), READ, CONTEXT).retry_after_seconds == 7
    assert failure_of(dated, READ, CONTEXT).retry_after_seconds == 20
    assert failure_of(answered(429, retry_after="soon"), READ, CONTEXT).retry_after_seconds is None


def test_the_model_reads_the_status_and_nothing_of_the_request() -> None:
    assert failure_of(answered(404), READ, CONTEXT).message == (
        "look failed: HTTP status 404, HTTPStatusError (reference sevt_9.0)."
    )


class TestRulesOfATool:
    def test_they_stand_before_the_table(self) -> None:
        rule = Rule(status=(404,), category="transient", code="not_yet", message="The order is not there yet.")
        ending = failure_of(answered(404), tool(act, name="look", effect="read", errors=[rule]), CONTEXT)

        assert (ending.category, ending.code, ending.retryable) == ("transient", "not_yet", True)
        assert ending.message == "The order is not there yet. (reference sevt_9.0)"

    def test_all_that_a_rule_says_must_fit(self) -> None:
        rule = Rule(kind=LookupError, when=lambda error: error.args == ("x",), category="business")

        assert [rule.fits(error) for error in (KeyError("x"), KeyError("y"), ValueError("x"))] == [True, False, False]

    def test_a_rule_that_raises_does_not_fit(self) -> None:
        rule = Rule(when=lambda error: 1 // 0 == 0, category="business")

        assert not rule.fits(KeyError())
        assert meaning_of(KeyError(), [rule]).rule is DEFAULT_RULES[-1]

    def test_a_class_may_be_named_without_its_library(self) -> None:
        named = Rule(kind="aiohttp.ClientError", category="transient")
        deep = Rule(kind="aiohttp.client_exceptions.ClientError", category="transient")

        assert named.fits(aiohttp.ClientPayloadError())
        assert deep.fits(aiohttp.ClientPayloadError())
        assert not named.fits(httpx.ConnectError(""))

    @pytest.mark.parametrize("options", [{}, {"status": (1,), "category": "odd"}, {"status": (1,), "outcome": "odd"}])
    def test_a_rule_that_says_nothing_or_nonsense_is_refused(self, options: Any) -> None:
        with pytest.raises(InvalidTool):
            Rule(**{"category": "business", **options})

    @pytest.mark.parametrize("errors", ["transient", [KeyError], {KeyError: "transient"}])
    def test_a_tool_takes_only_rules(self, errors: Any) -> None:
        with pytest.raises(InvalidTool, match="Rule"):
            tool(act, errors=errors)


def test_of_several_causes_one_that_will_not_pass_decides() -> None:
    group = ExceptionGroup("", [TimeoutError(), ExceptionGroup("", [answered(403)])])
    both = ExceptionGroup("", [answered(429, retry_after="3"), answered(503, retry_after="9")])

    assert failure_of(group, READ, CONTEXT).category == "permission"
    assert failure_of(both, READ, CONTEXT).retry_after_seconds == 9
    assert failure_of(both, READ, CONTEXT).retryable


class Odd(Exception):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_an_exception_with_code_of_its_own_ends_nothing() -> None:
    assert meaning_of(Odd()).rule.category == "internal"


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.dictionaries(st.text(), st.integers()))


@given(st.dictionaries(st.sampled_from(["status", "status_code", "response", "code", "headers"]), anything))
def test_whatever_an_exception_carries_it_has_a_meaning(attributes: dict[str, Any]) -> None:
    error = Exception()
    for name, value in attributes.items():
        setattr(error, name, value)
    meaning = meaning_of(error)

    assert meaning.status is None or 100 <= meaning.status < 600
    assert meaning.rule in DEFAULT_RULES


def test_a_truth_value_is_no_status() -> None:
    error = Exception()
    error.status = True  # type: ignore[attr-defined]

    assert status_of(error) is None
