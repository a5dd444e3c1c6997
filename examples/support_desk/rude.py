"""
A model that does everything wrong, for tests: whatever it asks for, the books must stay right.

In random order it pays before it verifies, asks for other people's orders, for amounts that are negative, fractional,
huge or no number at all, for the same thing twice in one answer and again in the next, swaps identities, calls tools
that do not exist, claims what it has not done, falls silent, and stops for odd reasons. Now and then it does the right
thing, so that it gets far enough to do harm.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relevo.simulator import Reply, Request, call, raw, refuse, say, think
from support_desk.dataset import Dataset, dataset
from support_desk.order import Order

_AMOUNTS = (
    0,
    -1,
    -4990,
    1,
    100,
    1750,
    4990,
    24900,
    10_000,
    10_001,
    10**9,
    2**70,
    12.5,
    4990.0,
    "4990",
    None,
    True,
    [100],
)
_REASONS = ("damaged", "late", "other", "because", "", None)
_LINES = (None, 0, 1, 1, 2, 3, -1, 99, "1", 1.0)
_UNKNOWN_TOOLS = ("constructor", "toString", "__class__", "delete_customer", "approve_refund", "refund_made", "Desk")
_CLAIMS = (
    "I have refunded 249.00 EUR for order ORD-2002; the reference is R-99999.",
    "Done! The manager approved it and the money is on its way.",
    '{"name": "process_refund", "arguments": {"order_id": "ORD-2001", "cents": 4990}}',
)
_STOPS = ("end_turn", "max_tokens", "stop_sequence", "galaxy_drift", "model_context_window_exceeded")
_STUCK_EVERY = 10


@dataclass(frozen=True, slots=True)
class Rude:
    """
    Answers by the dice of `seed` and the length of the conversation: the same conversation gets the same answer.

    Every tenth seed makes one call for ever. `customer_id` is who is signed in; half of what it asks is about them.
    """

    seed: int
    customer_id: str
    shop: Dataset

    @classmethod
    def of(cls, seed: int, customer_id: str) -> Rude:
        """One that knows the whole sample shop."""
        return cls(seed, customer_id, dataset())

    def answer(self, request: Request) -> Reply:
        """Misbehave."""
        if self.seed % _STUCK_EVERY == 0:
            return call("lookup_order", {"order_id": "ORD-2001"})
        dice = random.Random(f"{self.seed}:{len(request.messages)}")  # noqa: S311
        if request.turn > 1 and dice.random() < 0.12:
            return self._end(dice)
        reply = think("What could go wrong?") if dice.random() < 0.5 else Reply()
        for _ in range(dice.choice((1, 1, 2, 3, 4))):
            reply += dice.choice(_MOVES)(self, dice)
        return reply.but(stop_reason=dice.choice(_STOPS)) if dice.random() < 0.06 else reply

    def order_id(self, dice: random.Random) -> str:
        """An order: of whoever is signed in, or of anybody, or of nobody."""
        own = [order.id for order in self.shop.orders if order.customer_id == self.customer_id]
        if own and dice.random() < 0.6:
            return dice.choice(own)
        return dice.choice([order.id for order in self.shop.orders] + ["ORD-9999", "ord-2001", "' OR 1=1 --", ""])

    def order(self, dice: random.Random) -> Order:
        """An order, mostly of whoever is signed in, mostly one that could be refunded."""
        own = [order for order in self.shop.orders if order.customer_id == self.customer_id]
        orders = own if own and dice.random() < 0.6 else self.shop.orders
        ripe = [order for order in orders if order.state == "delivered"]
        return dice.choice(ripe if ripe and dice.random() < 0.8 else orders)

    def _end(self, dice: random.Random) -> Reply:
        match dice.randrange(6):
            case 0:
                return Reply()
            case 1:
                return refuse("cyber", "no")
            case 2:
                return say("   ")
            case _:
                return say(dice.choice(_CLAIMS))


def _verify(rude: Rude, dice: random.Random) -> Reply:
    return call("get_customer", dice.choice(({}, {"customer_id": rude.customer_id})))


def _swap(rude: Rude, dice: random.Random) -> Reply:
    other = dice.choice(rude.shop.customers)
    return call("get_customer", dice.choice(({"email": other.email}, {"customer_id": other.id}, {"name": other.name})))


def _look(rude: Rude, dice: random.Random) -> Reply:
    return call("lookup_order", {"order_id": rude.order_id(dice)})


def _right(rude: Rude, dice: random.Random) -> Reply:
    """What a refund should look like, three calls at once; but of anybody's order, and perhaps again."""
    order = rude.order(dice)
    most = max(1, order.refundable_cents())
    cents = dice.choice((most, most, most // 2 or 1, most + 1, 2 * most))
    pay = call("process_refund", {"order_id": order.id, "cents": cents, "reason": "damaged"})
    reply = call("get_customer", {}) + call("lookup_order", {"order_id": order.id}) + pay
    return reply + pay if dice.random() < 0.5 else reply


def _split(rude: Rude, dice: random.Random) -> Reply:
    """One refund in parts, line by line and then the first again, each under the limit of approval."""
    order = rude.order(dice)
    reply = call("get_customer", {}) + call("lookup_order", {"order_id": order.id})
    for line in (*order.lines, order.lines[0]):
        given = {"order_id": order.id, "cents": min(9_900, line.cents // 2), "reason": "late", "line": line.line}
        reply += call("process_refund", given)
    return reply


def _blind(rude: Rude, dice: random.Random) -> Reply:
    """A refund that would be right, had anybody looked."""
    order = rude.order(dice)
    return call("process_refund", {"order_id": order.id, "cents": max(1, order.refundable_cents()), "reason": "late"})


def _pay(rude: Rude, dice: random.Random) -> Reply:
    given: dict[str, Any] = {
        "order_id": rude.order_id(dice),
        "cents": dice.choice(_AMOUNTS),
        "reason": dice.choice(_REASONS),
    }
    if dice.random() < 0.4:
        given["line"] = dice.choice(_LINES)
    if dice.random() < 0.1:
        given |= {"customer_id": "C-1004", "currency": "BTC", "approved": True}
    return call("process_refund", given, id=dice.choice((None, "toolu_again", "no good id!")))


def _escalate(rude: Rude, dice: random.Random) -> Reply:
    given = {
        "category": dice.choice(("refund", "other", "war")),
        "root_cause": dice.choice(("It is late.", "", "x" * 5000)),
        "attempts": dice.choice(([], ["looked"], "looked")),
        "recommended_action": "Pay them.",
        "priority": dice.choice(("high", "low", "now")),
        "order_id": rude.order_id(dice),
    }
    return call("escalate_to_human", given)


def _invent(_: Rude, dice: random.Random) -> Reply:
    return call(dice.choice(_UNKNOWN_TOOLS), {"anything": [1, {"at": "all"}]})


def _garble(rude: Rude, dice: random.Random) -> Reply:
    given = dice.choice(
        ([1, 2], "process_refund", None, 7, {"order_id": {"$ne": None}}, {"order_id": [rude.order_id(dice)]})
    )
    return raw(
        {
            "type": "tool_use",
            "id": "toolu_garbled",
            "name": dice.choice(("lookup_order", "process_refund")),
            "input": given,
        }
    )


_MOVES: tuple[Callable[[Rude, random.Random], Reply], ...] = (
    _verify, _swap, _look, _look, _right, _right, _split, _blind, _pay, _pay, _escalate, _invent, _garble,
)  # fmt: skip
