"""What must have happened before a call: a verified result of another tool, about the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relevo.content import Json, canonical
from relevo.errors import InvalidTool


@dataclass(frozen=True, slots=True, init=False)
class Requires:
    """
    A successful result of `tool`, bound to this call's fields, until replaced.

    `Requires("get_customer", customer_id="customer.id")`: this call's `customer_id` must be what stands at
    `customer.id` in that result. In a path, a number picks from a list and `*` is any element or value:
    `order_id="orders.*.id"`. Fields that are no Python names go in a mapping.

    Pure data: a gate reads the log and asks `satisfied_by`.
    """

    tool: str
    bound: tuple[tuple[str, str], ...]
    """Pairs of a path in this call's input and a path in the result; empty: any success will do."""
    newest_only: bool
    """True: only the newest success counts, a later one replaces it. False: any success does."""

    def __init__(
        self, tool: str, binds: Mapping[str, str] | None = None, /, *, newest_only: bool = True, **more: str
    ) -> None:
        pairs: dict[str, Any] = {**(binds or {}), **more}
        for field, path in pairs.items():
            if not (isinstance(path, str) and all(path.split(".")) and all(field.split("."))):
                raise InvalidTool(f"Requires({tool!r}): {field!r} is bound to {path!r}, which is no dotted path")
        object.__setattr__(self, "tool", tool)
        object.__setattr__(self, "bound", tuple(pairs.items()))
        object.__setattr__(self, "newest_only", newest_only)

    def satisfied_by(self, input: Json, results: Iterable[Json]) -> bool:  # noqa: A002  the API's word
        """
        Whether one of `results` covers a call with this input.

        `results` are the `data` of the tool's successful results, newest first. A field or path that is missing or
        null covers nothing, and `1`, `1.0`, `"1"` and `true` are four different values.
        """
        for result in results:
            if all(_meets(input, field, result, path) for field, path in self.bound):
                return True
            if self.newest_only:
                return False
        return False


def _meets(input: Json, field: str, result: Json, path: str) -> bool:  # noqa: A002
    wanted = list(_found(input, field.split(".")))
    if len(wanted) != 1:
        return False
    form = canonical(wanted[0])
    return any(canonical(value) == form for value in _found(result, path.split(".")))


def _found(value: Json, path: Sequence[str]) -> Iterator[Json]:
    if not path:
        if value is not None:
            yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        if step in value:
            yield from _found(value[step], rest)
        elif step == "*":
            for item in value.values():
                yield from _found(item, rest)
    elif isinstance(value, list | tuple):
        if step == "*":
            for item in value:
                yield from _found(item, rest)
        elif step.isdecimal() and int(step) < len(value):
            yield from _found(value[int(step)], rest)
