"""
When faults happen: on the n-th request, or now and then.

On the command line: `529@1;http:status=429,retry_after=2@3;end:at=message_delta@p0.1` is a 529 on the first request,
a 429 on the third, and a stream that ends early in a tenth of all others.  In YAML:

```yaml
- {fault: {http: {status: 529}}, requests: [1, 2]}
- {fault: {end: {at: message_delta}}, probability: 0.1}
```
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from relevo.simulator.faults import FAULTS, Fault, HttpError


@dataclass(frozen=True, slots=True)
class Plan:
    """One fault and when it happens.  Requests count from 1; `on` wins over `probability`."""

    fault: Fault
    on: Collection[int] = ()
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class Faults:
    """Plans, asked in order for each `POST /v1/messages`; the first that applies happens."""

    plans: Sequence[Plan] = ()
    seed: int = 0

    def pick(self, number: int) -> Fault | None:
        """The fault of request `number`; the same seed and number always give the same."""
        for index, plan in enumerate(self.plans):
            if number in plan.on:
                return plan.fault
            dice = random.Random(f"{self.seed}:{index}:{number}")  # noqa: S311 - a game of chance
            if plan.probability and dice.random() < plan.probability:
                return plan.fault
        return None

    @classmethod
    def parse(cls, spec: str, *, seed: int = 0) -> Faults:
        """
        Read a specification, or the YAML file of that name.

        Raises:
            ValueError: an unknown fault or field, named in the message.
        """
        if spec.endswith((".yaml", ".yml", ".json")) or "\n" in spec:
            text = spec if "\n" in spec else Path(spec).read_text("utf-8")
            return cls(tuple(_plan_of(entry) for entry in yaml.safe_load(text) or ()), seed)
        return cls(tuple(_spoken(word.strip()) for word in spec.split(";") if word.strip()), seed)


def fault_of(entry: int | str | Mapping[str, Any]) -> Fault:
    """
    Read a fault: its short name, a status, or `{name: {field: value}}`.

    Raises:
        ValueError: an unknown fault or field, named in the message.
    """
    if isinstance(entry, int):
        return HttpError(entry)
    if isinstance(entry, str):
        name, _, rest = entry.partition(":")
        return _build(name, {key: yaml.safe_load(value) for key, value in _pairs(rest)})
    if len(entry) != 1:
        raise ValueError(f"a fault is one name and its fields, not {dict(entry)!r}")
    ((name, given),) = entry.items()
    return _build(str(name), dict(given or {}))


def _build(name: str, given: dict[str, Any]) -> Fault:
    if name.isdigit():
        name, given = "http", {"status": int(name), **given}
    if name not in FAULTS:
        raise ValueError(f"no fault is called {name!r}; there are {sorted(FAULTS)!r} and statuses such as 529")
    kind = FAULTS[name]
    known = {each.name for each in fields(kind)}
    if unknown := set(given) - known:
        raise ValueError(f"fault {name!r} has no {sorted(unknown)!r}; it has {sorted(known)!r}")
    if kind is HttpError and "retry_after" in given:
        given["retry_after"] = str(given["retry_after"])
    return kind(**given)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(key.strip(), value) for key, _, value in (part.partition("=") for part in text.split(",") if part)]


def _plan_of(entry: Mapping[str, Any]) -> Plan:
    # Not `on`: YAML reads that word as true.
    if unknown := set(entry) - {"fault", "requests", "probability"}:
        raise ValueError(f"a plan has no {sorted(unknown)!r}; it has fault, and requests or probability")
    on = entry.get("requests", ())
    numbers = (on,) if isinstance(on, int) else tuple(on)
    return Plan(fault_of(entry["fault"]), numbers, float(entry.get("probability", 0)))


def _spoken(word: str) -> Plan:
    name, _, when = word.partition("@")
    if when.startswith("p"):
        return Plan(fault_of(name), probability=float(when[1:]))
    return Plan(fault_of(name), on=tuple(int(number) for number in when.split("+")) if when else (1,))
