"""Books that cannot be reached now and then: for the scene of an outage, and for tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from support_desk.business import Business


class FlakyBusiness(Business):
    """
    A `Business` whose next operations fail as those of a broken disk do.

    `outages` says how many, by books: `customers`, `order`, `refund`, `ticket`, `audit`.
    """

    def __init__(self, path: str | Path, outages: Mapping[str, int], **options: Any) -> None:
        super().__init__(path, **options)
        self._left = dict(outages)
        self._counting = Lock()  # tools run side by side, each in a thread

    def _connect(self, what: str) -> sqlite3.Connection:
        with self._counting:
            left = self._left.get(what, 0)
            self._left[what] = max(0, left - 1)
        if left:
            raise sqlite3.OperationalError("disk I/O error")
        return super()._connect(what)
