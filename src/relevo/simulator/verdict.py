"""What is known about one request while it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relevo.simulator.betas import NEWEST_VERSION
from relevo.simulator.models import Model
from relevo.simulator.prefix import Placed, blocks, weigh
from relevo.simulator.turns import Turn, turns
from relevo.simulator.violation import Violation


@dataclass(slots=True)
class Verdict:
    """The rules broken so far, and what later rules need to know."""

    violations: list[Violation] = field(default_factory=list)
    body: Any = None
    betas: tuple[str, ...] = ()
    version: str = NEWEST_VERSION
    weight: int = 0
    """Bytes of the prompt, once its shape is known to be good; so are the next three."""
    placed: list[Placed] = field(default_factory=list)
    """Every block of the prompt with its place and role."""
    kinds: set[str] = field(default_factory=set)
    """The types of blocks and tools that occur."""
    turns: list[Turn] = field(default_factory=list)
    """The conversation, consecutive messages of one role merged."""
    transformations: list[dict[str, Any]] = field(default_factory=list)
    """Thinking blocks that were dropped, as the answer reports them."""

    def add(self, rule: str, message: str, **more: Any) -> None:
        """Note a broken rule."""
        self.violations.append(Violation(rule, message, **more))

    def survey(self) -> None:
        """Look at the prompt once for all rules; its shape must be good."""
        self.placed = list(blocks(self.body))
        self.kinds = {block.get("type", "custom") for _, _, block in self.placed}
        self.weight = weigh(self.body, self.placed)
        self.turns = turns(self.body["messages"])

    def has_beta(self, needed: frozenset[str]) -> bool:
        """Whether one of the betas was asked for."""
        return not needed.isdisjoint(self.betas)


UNKNOWN_MODEL = Model(
    "unknown",
    "Unknown",
    thinking=("adaptive", "enabled", "disabled", "between_tools"),
    prefill=True,
)
"""Allows everything; judges requests for a model that is not in the table, where that is let pass."""
