"""What the tools answer: the books as the model reads them, and errors that say what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relevo import ToolContext, ToolError
from support_desk.business import DeskUnavailable
from support_desk.order import WHOLE, Code, Order, Refund

NEXT: Mapping[Code, str] = {
    "order_not_found": "Ask the customer to check the number, then call lookup_order with it.",
    "not_yours": "Do not try again. Help with the customer's own orders, or call escalate_to_human.",
    "not_delivered": "Tell the customer; if that does not settle it, call escalate_to_human.",
    "no_such_line": "Call lookup_order to see the lines of the order.",
    "needs_approval": "Another refund came in between. Call process_refund again: it will wait for a person.",
    "already_refunded": "Do not refund it again. Tell the customer; if they disagree, call escalate_to_human.",
    "too_much": "Call lookup_order to see how much can be refunded.",
    "key_reused": "Call escalate_to_human.",
}


def identity_of(ctx: ToolContext) -> str | None:
    """The customer whom the channel has authenticated; None is nobody."""
    who = ctx.identity.get("customer_id")
    return who if isinstance(who, str) and who else None


def signed_in(ctx: ToolContext) -> str:
    """The same, or the error that ends the call."""
    who = identity_of(ctx)
    if who is None:
        raise ToolError(
            "Nobody is signed in on this channel, so no customer's data can be shown or changed. "
            "Ask the customer to sign in; if they cannot, call escalate_to_human.",
            category="permission",
            code="not_signed_in",
            outcome="not_executed",
        )
    return who


def refused(code: str, text: str) -> ToolError:
    """A rule of the shop says no; nothing happened."""
    return ToolError(text, category="business", code=code, outcome="not_executed")


def not_theirs(text: str) -> ToolError:
    """It belongs to somebody else; nothing happened, and nothing about it is told."""
    return ToolError(text, category="permission", code="not_yours", outcome="not_executed")


def unavailable(what: str, error: DeskUnavailable) -> ToolError:
    """An access failure: not an answer, and never to be mistaken for an empty one."""
    unknown = error.outcome == "unknown"
    return ToolError(
        f"The {what} cannot be reached now. This says nothing about what is in it."
        + (" Call lookup_order to see what happened." if unknown else " If it fails again, call escalate_to_human."),
        category="transient",
        code="unavailable",
        retryable=not unknown,
        outcome=error.outcome,
    )


def shown(order: Order) -> dict[str, Any]:
    """An order as lookup_order gives it."""
    open_for_refunds = order.state == "delivered"

    def refundable(line: int = WHOLE) -> int:
        return order.refundable_cents(line) if open_for_refunds and order.covering(line) is None else 0

    return {
        "order_id": order.id,
        "state": order.state,
        "placed_on": order.placed_on,
        "delivered_on" if open_for_refunds else "expected_on": order.expected_on,
        "currency": order.currency,
        "paid_cents": order.paid_cents,
        "refunded_cents": order.refunded_cents,
        "refundable_cents": refundable(),
        "lines": [
            {
                "line": line.line,
                "item": line.item,
                "quantity": line.quantity,
                "price_cents": line.cents,
                "refundable_cents": refundable(line.line),
            }
            for line in order.lines
        ],
        "refunds": [
            {"refund_id": each.reference, "line": each.line or None, "cents": each.cents, "paid_at": each.paid_at}
            for each in order.refunds
        ],
        "note": order.note,
    }


def paid(refund: Refund) -> dict[str, Any]:
    """What a refund's call returns, from its row alone: the same on every attempt."""
    return {
        "refund_id": refund.reference,
        "order_id": refund.order_id,
        "line": refund.line or None,
        "cents": refund.cents,
        "currency": refund.currency,
        "paid_at": refund.paid_at,
    }
