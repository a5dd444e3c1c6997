"""What the desk's books say about one order, and the rule of refunds: a pure function of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["processing", "shipped", "delivered", "cancelled"]

WHOLE = 0
"""The line number that stands for the order as a whole."""

MAX_CENTS = 100_000_000
"""More than any order is worth, and small enough for any database."""

Code = Literal[
    "order_not_found",
    "not_yours",
    "not_delivered",
    "no_such_line",
    "already_refunded",
    "too_much",
    "needs_approval",
    "key_reused",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """Somebody who buys."""

    id: str
    name: str
    """Not unique."""
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of an order."""

    line: int
    """1, 2, ..."""
    item: str
    quantity: int
    unit_cents: int

    @property
    def cents(self) -> int:
        """Its price."""
        return self.quantity * self.unit_cents


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    """Money given back. Never changed, never deleted."""

    id: int
    request_key: str
    order_id: str
    line: int
    """`WHOLE`, or a line of the order."""
    cents: int
    currency: str
    reason: str
    customer_id: str
    """Who was signed in."""
    session_id: str
    """The session whose agent asked for it; empty when none did."""
    call_id: str
    """The call, in that session's log."""
    paid_at: str

    @property
    def reference(self) -> str:
        """As people read it: `R-00012`."""
        return f"R-{self.id:05}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order with everything that a refund depends on."""

    id: str
    customer_id: str
    state: State
    currency: str
    placed_on: str
    expected_on: str | None
    note: str | None
    lines: tuple[Line, ...]
    paid_cents: int
    """What arrived; it may be less than the lines cost."""
    refunds: tuple[Refund, ...]

    @property
    def refunded_cents(self) -> int:
        """What was given back."""
        return sum(refund.cents for refund in self.refunds)

    def refundable_cents(self, line: int = WHOLE) -> int:
        """The most that can be given back for `line`, as far as money goes."""
        left = self.paid_cents - self.refunded_cents
        return left if line == WHOLE else min(left, *(each.cents for each in self.lines if each.line == line))

    def covering(self, line: int) -> Refund | None:
        """The refund that `line` has had already. The order as a whole covers each line, and the reverse."""
        return next((each for each in self.refunds if WHOLE in (each.line, line) or each.line == line), None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no refund."""

    code: Code
    reason: str
    """For people and models: holds nothing that the one who asked may not know."""


def refusal(
    order: Order | None, order_id: str, *, customer_id: str, line: int, cents: int, at_most_cents: int | None = None
) -> Refusal | None:
    """
    Say why `customer_id` cannot have `cents` back for `line` of the order; None: they can.

    `at_most_cents` is what all refunds of the order may come to without a person's word; None: somebody gave it.

    Whose order it is comes first: of an order of somebody else, nothing else is told.
    """
    if order is None:
        return Refusal("order_not_found", f"There is no order {order_id!r}.")
    if order.customer_id != customer_id:
        return Refusal("not_yours", f"Order {order.id} does not belong to the signed-in customer.")
    if order.state != "delivered":
        return Refusal("not_delivered", f"Order {order.id} is {order.state}; only delivered orders are refunded.")
    if line != WHOLE and all(each.line != line for each in order.lines):
        return Refusal("no_such_line", f"Order {order.id} has no line {line}; it has 1 to {len(order.lines)}.")
    earlier = order.covering(line)
    if earlier is not None:
        thing = f"Order {order.id}" if earlier.line == WHOLE else f"Line {earlier.line} of order {order.id}"
        amount = f"{earlier.cents} cents {earlier.currency}"
        return Refusal(
            "already_refunded", f"{thing} was refunded already: {earlier.reference}, {amount}, {earlier.paid_at[:10]}."
        )
    most = order.refundable_cents(line)
    if not 1 <= cents <= most:
        what = f"order {order.id}" if line == WHOLE else f"line {line} of order {order.id}"
        return Refusal("too_much", f"{cents} cents is not 1 to {most} cents {order.currency}, what is left for {what}.")
    if at_most_cents is not None and order.refunded_cents + cents > at_most_cents:
        total = order.refunded_cents + cents
        return Refusal("needs_approval", f"{total} cents in all for order {order.id} need a person's approval.")
    return None
