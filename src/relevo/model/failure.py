"""One place where a response, an event or an exception becomes a ModelError: both transports tell the same story."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from relevo.content import clean
from relevo.errors import ModelError
from relevo.headers import parse_retry_after
from relevo.model import secrets
from relevo.model.retry import classify

MAX_MESSAGE_CHARS = 500
"""Enough to understand; an error page is not carried into the log."""

MAX_WORD_CHARS = 100
"""Of a type, a code or a request id."""

# Source: API errors page, read 2026-12-01; only for answers that do not say their own type.
TYPE_OF_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def from_response(status: int, headers: Mapping[str, str], body: Any, now: datetime) -> ModelError:
    """An HTTP error. `headers` has lower-case names; `body` is bytes, text, or already JSON."""
    error_type, message, code, request_id = _read(body)
    error_type = error_type or TYPE_OF_STATUS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    retry_after = parse_retry_after(headers, now)
    text = f"{status} {error_type}: {message or 'no message'}"
    if retry_after is not None:
        text += f" (asked to wait {retry_after:g} s)"
    word = headers.get("x-should-retry", "").lower()
    return ModelError(
        text,
        status=status,
        type=error_type,
        code=code,
        retryable=classify(status, error_type, code, should_retry={"true": True, "false": False}.get(word)),
        retry_after=retry_after,
        request_id=headers.get("request-id") or request_id,
    )


def from_event(event: Mapping[str, Any], usage: dict[str, Any] | None = None) -> ModelError:
    """An `error` event inside a stream that began well."""
    error_type, message, code, request_id = _read(event)
    error_type = error_type or "api_error"
    return ModelError(
        f"{error_type} inside the stream: {message or 'no message'}",
        status=200,
        type=error_type,
        code=code,
        retryable=classify(200, error_type, code),
        request_id=request_id,
        usage=usage,
    )


def protocol(reason: str, usage: dict[str, Any] | None = None, *, retryable: bool = True) -> ModelError:
    """The other side broke the protocol; what it said so far cannot be trusted."""
    return ModelError(reason, status=200, type="protocol", retryable=retryable, usage=usage)


def cut_stream(usage: dict[str, Any] | None = None) -> ModelError:
    """The stream ended before the message did."""
    return ModelError(
        "the stream ended before message_stop", status=200, type="cut_stream", retryable=True, usage=usage
    )


def timed_out(what: str, usage: dict[str, Any] | None = None) -> ModelError:
    """A deadline of ours passed."""
    return ModelError(what, type="timeout", retryable=True, usage=usage)


def connection(error: BaseException, usage: dict[str, Any] | None = None, *, retryable: bool = True) -> ModelError:
    """No response, or a broken one. Names the class: the text of such errors is often empty."""
    text = str(error)
    return ModelError(
        f"{type(error).__name__}: {text}" if text else type(error).__name__,
        type="connection",
        retryable=retryable,
        usage=usage,
    )


def told(error: ModelError, known: Iterable[str]) -> ModelError:
    """The same error as it may be told and logged: without the `known` secrets, and only then cut short."""

    def short(text: str, most: int) -> str:
        return clean(secrets.hidden(text, known))[:most]

    error.message = short(error.message, MAX_MESSAGE_CHARS)
    error.args = (error.message,)
    error.type = short(error.type, MAX_WORD_CHARS)
    error.code = error.code and short(error.code, MAX_WORD_CHARS)
    error.request_id = error.request_id and short(error.request_id, MAX_WORD_CHARS)
    return error


def _read(body: Any) -> tuple[str | None, str | None, str | None, str | None]:
    """(type, message, code, request id) of an error body, whatever shape it has."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            # An HTML page says nothing that its status does not.
            plain = body.strip()
            return None, None if plain.startswith("<") else plain or None, None, None
    if not isinstance(body, Mapping):
        return None, None, None, None
    error = body.get("error")
    if isinstance(error, str):
        error = {"message": error}
    elif not isinstance(error, Mapping):
        error = body
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else None
    error_type = error.get("type")
    return (
        error_type if isinstance(error_type, str) and error_type != "error" else None,
        _text(error.get("message")),
        code if isinstance(code, str) else None,
        _text(body.get("request_id")),
    )


def _text(value: Any) -> str | None:
    try:
        return str(value) if value else None
    except (ValueError, RecursionError):  # a number too long to be printed, or deeper than a printer goes
        return None
