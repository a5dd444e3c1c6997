"""What HTTP headers of a response say about time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_retry_after(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """
    The wait a response asks for, in seconds; None when it asks for none or talks rubbish.

    `headers` has lower-case names. Reads `retry-after-ms`, then `retry-after` as seconds or as an HTTP date. That
    counts from `now`; None is the response's own `date`.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    when, since = _date(text), now or _date(headers.get("date"))
    return None if when is None or since is None else max(0.0, (when - since).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    # NaN fails every comparison; infinity is no wait anybody meant.
    return value if 0 <= value < float("inf") else None


def _date(text: str | None) -> datetime | None:
    try:
        when = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
