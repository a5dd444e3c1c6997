from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_desk.order import WHOLE, Line, Order, Refund, refusal


def refund(line: int = WHOLE, cents: int = 100, **more: Any) -> Refund:
    given = {
        "id": 7, "request_key": "k", "order_id": "ORD-1", "line": line, "cents": cents, "currency": "EUR",
        "reason": "late", "customer_id": "C-1", "session_id": "", "call_id": "", "paid_at": "2026-12-01T09:00:00+00:00",
    }  # fmt: skip
    return Refund(**{**given, **more})


def order(**more: Any) -> Order:
    given: dict[str, Any] = {
        "id": "ORD-1", "customer_id": "C-1", "state": "delivered", "currency": "EUR", "placed_on": "2026-11-01",
        "expected_on": None, "note": None, "paid_cents": 500, "refunds": (),
        "lines": (Line(line=1, item="Mug", quantity=2, unit_cents=100), Line(line=2, item="Pan", quantity=1, unit_cents=300)),
    }  # fmt: skip
    return Order(**{**given, **more})


def code(of: Order | None, *, customer: str = "C-1", line: int = WHOLE, cents: int = 100) -> str | None:
    found = refusal(of, "ORD-1", customer_id=customer, line=line, cents=cents)
    return None if found is None else found.code


def test_an_order_nobody_knows_is_not_refunded() -> None:
    assert code(None) == "order_not_found"


def test_of_anothers_order_nothing_is_told() -> None:
    found = refusal(order(state="shipped", refunds=(refund(),)), "ORD-1", customer_id="C-2", line=9, cents=10**9)

    assert found is not None
    assert (found.code, found.reason) == ("not_yours", "Order ORD-1 does not belong to the signed-in customer.")


@pytest.mark.parametrize("state", ["processing", "shipped", "cancelled"])
def test_only_delivered_orders_are_refunded(state: str) -> None:
    assert code(order(state=state)) == "not_delivered"


@pytest.mark.parametrize("line", [3, -1, 2**70])
def test_only_lines_of_the_order_are_refunded(line: int) -> None:
    assert code(order(), line=line) == "no_such_line"


@pytest.mark.parametrize("cents", [0, -1, 501, 2**70])
def test_a_refund_is_at_least_one_cent_and_at_most_what_was_paid(cents: int) -> None:
    assert code(order(), cents=cents) == "too_much"
    assert code(order(), cents=1) is None
    assert code(order(), cents=500) is None


def test_a_refund_of_a_line_is_at_most_its_price() -> None:
    assert code(order(), line=1, cents=200) is None
    assert code(order(), line=1, cents=201) == "too_much"


def test_what_was_paid_with_a_discount_is_the_most_for_a_line_too() -> None:
    assert code(order(paid_cents=250), line=2, cents=251) == "too_much"


def test_an_order_nobody_paid_for_is_not_refunded() -> None:
    assert code(order(paid_cents=0), cents=1) == "too_much"


@pytest.mark.parametrize(("before", "again"), [(0, 0), (1, 1), (0, 1), (1, 0)])
def test_the_same_thing_is_refunded_once_and_the_whole_is_the_same_as_its_lines(before: int, again: int) -> None:
    found = refusal(order(refunds=(refund(before),)), "ORD-1", customer_id="C-1", line=again, cents=1)

    assert found is not None
    assert found.code == "already_refunded"
    assert "R-00007" in found.reason


def test_another_line_may_be_refunded_too() -> None:
    assert code(order(refunds=(refund(1),)), line=2, cents=300) is None


@given(
    lines=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 1000)), min_size=1, max_size=4),
    discount=st.integers(0, 500),
    asked=st.lists(st.tuples(st.integers(0, 5), st.integers(-5, 3000))),
)
def test_whatever_is_asked_never_more_is_given_than_was_paid(
    lines: list[tuple[int, int]], discount: int, asked: list[tuple[int, int]]
) -> None:
    made = tuple(Line(line=n, item="x", quantity=q, unit_cents=c) for n, (q, c) in enumerate(lines, start=1))
    now = order(lines=made, paid_cents=max(0, sum(line.cents for line in made) - discount))
    for line, cents in asked:
        if code(now, line=line, cents=cents) is None:
            now = order(lines=made, paid_cents=now.paid_cents, refunds=(*now.refunds, refund(line, cents)))

    assert 0 <= now.refunded_cents <= now.paid_cents
    assert all(each.cents > 0 for each in now.refunds)
    assert len({each.line for each in now.refunds}) == len(now.refunds)
    assert WHOLE not in {each.line for each in now.refunds} or len(now.refunds) == 1
