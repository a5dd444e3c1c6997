"""JSON in and out, error bodies and request headers: the only file here that speaks bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]


class NotJson(ValueError):
    """The body cannot be read; the message says why."""


def _no_constant(name: str) -> None:
    raise NotJson(f"{name} is not a JSON value")


def load(raw: bytes) -> Any:
    """
    Read JSON text in UTF-8.

    Lone surrogates and null characters written as escapes are legal JSON and are kept.

    Raises:
        NotJson: not UTF-8, not JSON, `NaN` or `Infinity`, or nested too deep.
    """
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error


_pretty = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ascii = json.JSONEncoder(separators=(",", ":")).encode
_canonical = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def dump(value: Any) -> bytes:
    """Write JSON as the API does: no spaces, UTF-8; lone surrogates leave as escapes."""
    try:
        return _pretty(value).encode("utf-8")
    except UnicodeEncodeError:
        return _ascii(value).encode("ascii")


def canonical(value: Any) -> bytes:
    """The same bytes for equal values, whatever the order of keys."""
    return _canonical(value).encode("ascii")


def error_body(
    error_type: str, message: str, request_id: str | None, details: Mapping[str, Any] | None = None
) -> bytes:
    """An error as the API writes it; `request_id` None is the form inside a stream."""
    error: Json = {"type": error_type, "message": message}
    if details:
        error["details"] = dict(details)
    body: Json = {"type": "error", "error": error}
    if request_id is not None:
        body["request_id"] = request_id
    return dump(body)


def comma_list(values: Iterable[str]) -> tuple[str, ...]:
    """Repeated headers, each a comma list, as one tuple without blanks."""
    return tuple(word for value in values for part in value.split(",") if (word := part.strip()))
