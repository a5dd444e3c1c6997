"""
What an exception means, when a tool did not say it itself.

A table of rules, read from the top: by class, by HTTP status, by system or database code, never by words. A tool's own
rules (`errors`) stand before the table. The text of the exception is never shown: a rule may give another.
"""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from socket import gaierror
from typing import Any, get_args

from relevo.content import clean
from relevo.errors import Category, InvalidTool, Outcome
from relevo.headers import parse_retry_after

Kind = type[BaseException] | str
"""A class, or its dotted name when its library need not be there: `"httpx.ReadTimeout"`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """
    What an exception means when it is of this kind. All that is given must fit; None fits all.

    `outcome` None is what the tool's effect class makes of a call that was broken off: of a read nothing, of a
    transaction nothing, of any other effect nobody knows. `message` is for the model, instead of the exception's name.
    """

    kind: Kind | Collection[Kind] | None = None
    status: Collection[int] | None = None
    """HTTP status codes."""
    codes: Collection[int] | None = None
    """`errno` of an OSError, or the primary code of a sqlite3.Error."""
    when: Callable[[BaseException], bool] | None = None
    """Asked last; one that raises does not fit."""
    category: Category
    code: str = "exception"
    outcome: Outcome | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        if self.category not in get_args(Category):
            raise InvalidTool(f"rule: unknown category {self.category!r}; one of {', '.join(get_args(Category))}")
        if self.outcome is not None and self.outcome not in get_args(Outcome):
            raise InvalidTool(f"rule: unknown outcome {self.outcome!r}; one of {', '.join(get_args(Outcome))}")
        if all(given is None for given in (self.kind, self.status, self.codes, self.when)):
            raise InvalidTool("rule: it says nothing about what it is for; give kind, status, codes or when")

    def fits(self, error: BaseException) -> bool:
        """Whether the exception is of this kind. Never raises."""
        try:
            return (
                (self.kind is None or _is_of(error, self.kind))
                and (self.status is None or status_of(error) in self.status)
                and (self.codes is None or _code_of(error) in self.codes)
                and (self.when is None or self.when(error) is True)
            )
        except Exception:  # noqa: BLE001  an exception with code of its own
            return False


UNREACHED = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ECONNREFUSED)
"""No connection was made, so nothing was asked."""

BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
HTTPX = ("httpx", "httpx2")
NEVER_CONNECTED = (
    *(f"{name}.{kind}" for name in HTTPX for kind in ("ConnectError", "ConnectTimeout", "PoolTimeout")),
    "aiohttp.ClientConnectorError",
    "requests.ConnectTimeout",
)
BROKEN_OFF = (
    *(f"{name}.TransportError" for name in HTTPX),
    "aiohttp.ClientConnectionError",
    "aiohttp.ClientPayloadError",
    "requests.ConnectionError",
    "requests.Timeout",
)
"""Classes of HTTP libraries. Source: their references, read 2026-12-06."""

DEFAULT_RULES: Sequence[Rule] = (
    Rule(kind=asyncio.CancelledError, category="internal"),
    Rule(
        kind=(ssl.SSLCertVerificationError, "aiohttp.ClientConnectorCertificateError"),
        category="permission",
        code="certificate",
        outcome="not_executed",
    ),
    Rule(kind=(ConnectionRefusedError, gaierror), category="transient", code="unreachable", outcome="not_executed"),
    Rule(kind=OSError, codes=UNREACHED, category="transient", code="unreachable", outcome="not_executed"),
    Rule(kind=NEVER_CONNECTED, category="transient", code="unreachable", outcome="not_executed"),
    Rule(status=(400, 413, 414, 415, 422, 431), category="validation", code="http", outcome="failed"),
    Rule(status=(401, 402, 403, 407, 451), category="permission", code="http", outcome="failed"),
    Rule(status=(404, 405, 406, 409, 410, 412), category="business", code="http", outcome="failed"),
    Rule(status=(425, 429), category="transient", code="http", outcome="failed"),
    Rule(status=(501, 505), category="internal", code="http", outcome="failed"),
    Rule(status=(408, *range(500, 600)), category="transient", code="http"),
    Rule(kind=(TimeoutError, ConnectionError, *BROKEN_OFF), category="transient"),
    Rule(kind=sqlite3.Error, codes=BUSY, category="transient", code="locked", outcome="failed"),
    Rule(kind=Exception, category="internal"),
)
"""For what no rule of the tool fits. The last fits every Exception; what is none is internal as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a rule says about one exception."""

    rule: Rule
    status: int | None
    retry_after: float | None


def meaning_of(error: BaseException, rules: Sequence[Rule] = ()) -> Meaning:
    """What an exception means by these rules, then by `DEFAULT_RULES`. Never raises."""
    rule = next((rule for rule in (*rules, *DEFAULT_RULES) if rule.fits(error)), DEFAULT_RULES[-1])
    return Meaning(rule=rule, status=_safely(status_of, error), retry_after=_safely(_retry_after, error))


def status_of(error: BaseException) -> int | None:
    """
    The HTTP status an exception carries, 100 to 599; None when it carries none.

    As `httpx`, `requests`, `aiohttp`, `urllib`, `botocore` and the SDKs on them keep it: `status_code`, `status`,
    `response.status_code`, `code` of a urllib.error.HTTPError, `response["ResponseMetadata"]["HTTPStatusCode"]`.
    """
    response = getattr(error, "response", None)
    found = [
        getattr(error, "status_code", None),
        getattr(error, "status", None),
        getattr(response, "status_code", None),
    ]
    if isinstance(response, Mapping):
        found.append((response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    if _is_of(error, "urllib.error.HTTPError"):
        found.append(getattr(error, "code", None))
    return next((int(status) for status in found if isinstance(status, int) and 100 <= status < 600), None)


def checked_rules(rules: Any, tool: str) -> tuple[Rule, ...]:
    """Raises InvalidTool unless they are rules."""
    if isinstance(rules, Rule):
        return (rules,)
    if not isinstance(rules, list | tuple) or not all(isinstance(rule, Rule) for rule in rules):
        raise InvalidTool(f"tool {tool!r}: errors is a sequence of Rule, not {type(rules).__name__}")
    return tuple(rules)


def _retry_after(error: BaseException) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    if not hasattr(headers, "items"):
        return None
    plain = {str(name).lower(): clean(str(value)) for name, value in headers.items()}
    return parse_retry_after(plain, None)


def _code_of(error: BaseException) -> int | None:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return None if code is None else code & 0xFF  # without the extension
    return error.errno if isinstance(error, OSError) else None


def _is_of(error: BaseException, kind: Kind | Collection[Kind]) -> bool:
    kinds = (kind,) if isinstance(kind, str | type) else kind
    return any(isinstance(error, one) if isinstance(one, type) else one in _names(error) for one in kinds)


def _names(error: BaseException) -> set[str]:
    """
    The dotted names of its classes. A library may define them deeper than it offers them, so that of the top module
    counts as well: `aiohttp.client_exceptions.ClientError` is also `aiohttp.ClientError`.
    """
    kinds = type(error).__mro__
    return {name for kind in kinds for name in (f"{kind.__module__}.{kind.__name__}", _short(kind))}


def _short(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _safely(read: Callable[[BaseException], Any], error: BaseException) -> Any:
    try:
        return read(error)
    except Exception:  # noqa: BLE001  an exception with code of its own
        return None
