"""
Old event versions, lifted to today's on reading.

What is stored stays as it was written. When the meaning of a kind's fields changes, its version grows by one and a
function here turns data of the version before into the next; a field that older programs may ignore needs neither.
The table is also what says which version is current: one more than the last it can lift from, 1 where it is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relevo.content import Json

Lift = Callable[[dict[str, Json]], dict[str, Json]]
"""Data of one version -> data of the next. Pure; may change and return what it is given."""


class Upcasts:
    """A table of lifts, by kind and the version they start from."""

    def __init__(self, lifts: Mapping[tuple[str, int], Lift]) -> None:
        self._lifts = dict(lifts)
        self._current: dict[str, int] = {}
        for kind, version in sorted(self._lifts):
            if version != self.current(kind):
                raise ValueError(f"{kind} can be lifted from version {version}, but not from {self.current(kind)}")
            self._current[kind] = version + 1

    def current(self, kind: str) -> int:
        """The version this program writes."""
        return self._current.get(kind, 1)

    def lift(self, kind: str, version: int, data: dict[str, Json]) -> dict[str, Json]:
        """
        Data of an older version as the current one would have it.

        Raises:
            ValueError: the data is not what that version wrote.
        """
        for step in range(version, self.current(kind)):
            try:
                data = self._lifts[kind, step](data)
            except (LookupError, TypeError, AttributeError) as error:
                raise ValueError(f"not version {step} of {kind}: {error!r}") from error
        return data


UPCASTS = Upcasts({})
"""Every version so far is 1."""
