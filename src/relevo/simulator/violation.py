"""What is wrong with a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Violation:
    """
    A broken rule.  `rule` is its number: E envelope, M messages, T tools, L limits, H threads.

    The message has the shape of the API's, but no client may rely on its words.
    """

    rule: str
    message: str
    status: int = 400
    error_type: str = "invalid_request_error"
    error_code: str | None = None
    details: Mapping[str, Any] | None = None

    @property
    def all_details(self) -> dict[str, Any]:
        """`details` of the error body, `error_code` included; empty when there are none."""
        code = {"error_code": self.error_code} if self.error_code else {}
        return {**code, **(self.details or {})}
