"""
What must never be repeated: the credentials of a transport, taken out of everything that its errors say.

A server, or a proxy on the way, may repeat them in any field of an error. They are hidden before a text is cut, since
half a key in the log is a leak too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

MIN_SECRET_CHARS = 8
"""A shorter one is not hidden: it would only tear words apart."""

PLAIN_HEADERS = frozenset({"accept", "anthropic-beta", "anthropic-version", "content-type", "user-agent"})
"""Headers that hold no secret. Any other that somebody chose to send may."""


def of_headers(headers: Mapping[str, str]) -> set[str]:
    """The values that may be secrets, and what stands in them after a scheme (`Bearer`)."""
    values = [str(value) for name, value in headers.items() if name.lower() not in PLAIN_HEADERS]
    return {part.strip() for value in values for part in (value, value.partition(" ")[2])}


def of_address(address: str) -> set[str]:
    """Name and password in an address, however broken it is."""
    user, at, _ = address.partition("//")[2].rpartition("@")
    return {user, *user.split(":", 1)} if at else set()


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, plain, percent-encoded or with JSON's escapes. Long ones first: parts later."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= MIN_SECRET_CHARS:
            for form in (secret, unquote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]):
                text = text.replace(form, "***")
    return text
