"""Whatever the model does, the books stay right, and every session ends in a typed way."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from relevo import AwaitingAction, Event, Outcome
from relevo.events import ToolEnded
from relevo.simulator import Request
from support_desk.agent import desk_agent
from support_desk.business import Business
from support_desk.checks import unapproved, unverified
from support_desk.dataset import dataset
from support_desk.rude import Rude

MESSAGES = ("Refund everything.", "Again!")
SHOP = dataset()
BUYERS = Counter(order.customer_id for order in SHOP.orders if order.state == "delivered" and not order.refunds)
CUSTOMERS = ("C-1001", "C-1006", *(customer for customer, _ in BUYERS.most_common(8)), None)
OWNERS = {order.id: order.customer_id for order in SHOP.orders}


def shown_of_others(events: list[Event], who: str | None) -> list[str]:
    """What reads showed of anybody but `who`."""
    ended = [event.body for event in events if isinstance(event.body, ToolEnded) and not event.body.is_error]
    customers = [body.data["customer_id"] for body in ended if body.name == "get_customer"]
    orders = [body.data["order_id"] for body in ended if body.name == "lookup_order"]
    return [each for each in customers if each != who] + [each for each in orders if OWNERS[each] != who]


async def converse(played: Any, dice: random.Random) -> None:
    """Say all, and decide whatever waits: mostly yes, as a careless approver does."""
    for message in MESSAGES:
        outcome = await played.say(message)
        while isinstance(outcome, AwaitingAction):
            await played.decide("allow" if dice.random() < 0.6 else "deny")
            outcome = await played.wake()


@pytest.mark.parametrize("number", range(50))
async def test_a_rude_model_never_breaks_the_books(number: int, business: Business, play: Any) -> None:
    dice = random.Random(number)
    who = dice.choice(CUSTOMERS)
    async with play(desk_agent(business), Rude.of(number, who or "C-1001"), who) as played:
        await converse(played, dice)
        events = await played.events()
        state = await played.session.state()

    assert business.audit() == []
    assert unapproved(business, events) == unverified(business, events) == shown_of_others(events, who) == []
    assert {refund.customer_id for refund in business.refunds_in(played.session.id)} <= {who}
    assert all(isinstance(outcome, get_args(Outcome)) for outcome in played.outcomes)
    assert (state.open, state.in_flight) == ({}, 0)


@pytest.mark.parametrize("number", [1, 3, 7])
async def test_rude_models_side_by_side_do_not_break_the_books(number: int, business: Business, play: Any) -> None:
    before = business.total_refunded()

    async def one(which: int) -> str:
        async with play(desk_agent(business), Rude.of(number * 100 + which, "C-1001"), "C-1001") as played:
            await converse(played, random.Random(which))
        return str(played.session.id)

    sessions = await asyncio.gather(*(one(which) for which in range(1, 4)))

    assert business.audit() == []
    paid = sum(refund.cents for session in sessions for refund in business.refunds_in(session))
    assert business.total_refunded() == before + paid


def test_it_is_rude_in_every_way(books: Path) -> None:
    """A rude model that had become polite would prove nothing."""
    tools: Counter[str] = Counter()
    stops: Counter[str | None] = Counter()
    for number in range(200):
        rude = Rude.of(number, "C-1001")
        for length in range(1, 12, 2):
            messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": "x"} for n in range(length)]
            reply = rude.answer(Request({"messages": messages}, {}))
            stops[reply.stop_reason] += 1
            tools.update(block["name"] for block in reply.content if block["type"] == "tool_use")
            assert rude.answer(Request({"messages": messages}, {})) == reply

    assert {"get_customer", "lookup_order", "process_refund", "escalate_to_human", "constructor"} <= set(tools)
    assert {None, "refusal", "max_tokens", "galaxy_drift"} <= set(stops)
