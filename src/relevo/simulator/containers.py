"""The code containers that were handed out, and when they end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

REMEMBERED_CONTAINERS = 10_000


class Expired:
    """
    The set of containers that have expired.

    Only containers that a reply named can be in it; an id from elsewhere is believed.  `clock` gives seconds since
    1970.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ends: OrderedDict[str, float] = OrderedDict()

    def note(self, message: Mapping[str, Any]) -> None:
        """Remember the container of an answer, if it has one with an id and an end."""
        container = message.get("container")
        if not isinstance(container, dict) or not isinstance(container.get("expires_at"), str):
            return
        self._ends[str(container.get("id"))] = datetime.fromisoformat(container["expires_at"]).timestamp()
        if len(self._ends) > REMEMBERED_CONTAINERS:
            self._ends.popitem(last=False)

    def __contains__(self, name: object) -> bool:
        ends = self._ends.get(name) if isinstance(name, str) else None
        return ends is not None and ends <= self._clock()
