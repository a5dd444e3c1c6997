"""A case handed to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Category = Literal["refund", "delivery", "order", "account", "complaint", "other"]
Priority = Literal["low", "normal", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """What a person needs to go on without reading the conversation."""

    session_id: str
    customer_id: str | None
    """Who is signed in; None when nobody is."""
    order_id: str | None
    """As the person or the model named it: a claim."""
    category: Category
    root_cause: str
    amount_cents: int | None
    """What it is about, in the currency of the order; None when it is not about money."""
    attempts: Sequence[str]
    """What was tried, and what came of it."""
    recommended_action: str
    priority: Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A handoff in the queue."""

    id: int
    handoff: Handoff
    opened_at: str

    @property
    def reference(self) -> str:
        """As people read it: `T-00007`."""
        return f"T-{self.id:05}"
