from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from relevo import Done, NotDone, Tool, ToolContext, ToolError
from support_desk.business import Business, DeskUnavailable
from support_desk.outages import FlakyBusiness
from support_desk.tools import Desk

NAMES = ["get_customer", "lookup_order", "process_refund", "escalate_to_human"]
HANDOFF: dict[str, Any] = {
    "category": "refund", "root_cause": "Arrived broken.", "attempts": ["process_refund: refused"],
    "recommended_action": "Pay it.", "priority": "high", "order_id": "ORD-2001", "amount_cents": 4990,
}  # fmt: skip


@pytest.fixture
def ana(context: Any) -> ToolContext:
    made: ToolContext = context("C-1001")
    return made


def error_of(call: Any, *given: Any, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call(*given, **more)
    return caught.value


def named(desk: Desk, name: str) -> Tool[..., Any]:
    return next(each for each in desk.tools() if each.name == name)


class TestDeclarations:
    def test_the_tools_are_always_the_same_bytes_in_the_same_order(self, desk: Desk) -> None:
        assert [each.name for each in desk.tools()] == NAMES
        assert [each.definition() for each in desk.tools()] == [each.definition() for each in desk.tools()]

    @pytest.mark.parametrize("name", NAMES)
    def test_a_description_says_what_when_and_what_next_and_every_parameter_is_explained(
        self, desk: Desk, name: str
    ) -> None:
        definition = named(desk, name).definition()

        assert len(re.findall(r"[.!?](?:\s|$)", definition["description"])) >= 4
        assert "Call it" in definition["description"]
        assert "Returns" in definition["description"]
        assert all(field["description"] for field in definition["input_schema"]["properties"].values())

    def test_nothing_about_who_is_served_can_be_set_by_the_model_when_money_moves(self, desk: Desk) -> None:
        fields = named(desk, "process_refund").input_schema["properties"]

        assert set(fields) == {"order_id", "cents", "reason", "line"}

    def test_what_a_call_does_to_the_world_is_declared(self, desk: Desk) -> None:
        assert [each.effect for each in desk.tools()] == ["read", "read", "irreversible", "idempotent"]
        assert named(desk, "process_refund").reconcile is not None

    @pytest.mark.parametrize("cents", [0, -1, 12.5, "4990", True, None, 2**70, [1]])
    def test_an_amount_is_a_whole_number_of_cents_over_nothing(self, desk: Desk, cents: Any) -> None:
        given = {"order_id": "ORD-2001", "cents": cents, "reason": "damaged"}

        assert error_of(named(desk, "process_refund").validate, given).category == "validation"


class TestGetCustomer:
    @pytest.mark.parametrize(
        "given", [{}, {"email": "Ana.Torres@example.com"}, {"customer_id": "C-1001"}, {"name": "ana torres"}]
    )
    def test_the_signed_in_customer_is_found_by_whatever_they_say(
        self, desk: Desk, ana: ToolContext, given: dict[str, str]
    ) -> None:
        assert desk.get_customer(ana, **given) == {
            "customer_id": "C-1001",
            "name": "Ana Torres",
            "email": "ana.torres@example.com",
            "orders": ["ORD-2002", "ORD-2001"],
        }

    @pytest.mark.parametrize(
        "given", [{"email": "luis.ortega@example.com"}, {"customer_id": "C-1002"}, {"name": "Luis Ortega"}]
    )
    def test_nobody_else_is_ever_shown(self, desk: Desk, ana: ToolContext, given: dict[str, str]) -> None:
        error = error_of(desk.get_customer, ana, **given)

        assert (error.category, error.retryable, error.outcome) == ("permission", False, "not_executed")
        assert "Luis" not in error.message
        assert "C-1002" not in error.message

    @pytest.mark.parametrize(
        "identity", [None, {"customer_id": ""}, {"customer_id": 1001}, {"customer_id": ["C-1001"]}]
    )
    def test_without_a_signed_in_customer_nobody_is_shown(self, desk: Desk, context: Any, identity: Any) -> None:
        error = error_of(desk.get_customer, context(identity), email="ana.torres@example.com")

        assert (error.category, error.code) == ("permission", "not_signed_in")

    def test_several_matches_ask_for_another_identifier_and_show_none(self, desk: Desk, context: Any) -> None:
        error = error_of(desk.get_customer, context("C-1004"), name="Maria Garcia")

        assert (error.category, error.code) == ("business", "several_matches")
        assert "call get_customer again" in error.message
        assert "@" not in error.message

    def test_a_second_identifier_settles_it(self, desk: Desk, context: Any) -> None:
        found = desk.get_customer(context("C-1004"), name="Maria Garcia", email="maria.garcia@example.com")

        assert found["customer_id"] == "C-1004"

    def test_not_found_is_an_error_that_says_what_to_do(self, desk: Desk, ana: ToolContext) -> None:
        error = error_of(desk.get_customer, ana, email="nobody@example.com")

        assert (error.category, error.code, error.retryable) == ("business", "customer_not_found", False)
        assert "call get_customer again" in error.message

    def test_no_access_is_not_the_same_as_nobody(self, books: Path, ana: ToolContext) -> None:
        desk = Desk(FlakyBusiness(books, {"customers": 1}))
        error = error_of(desk.get_customer, ana)

        assert (error.category, error.code, error.retryable) == ("transient", "unavailable", True)
        assert "says nothing" in error.message
        assert desk.get_customer(ana)["customer_id"] == "C-1001"


class TestLookupOrder:
    def test_an_order_is_shown_in_cents_with_what_can_be_refunded(self, desk: Desk, ana: ToolContext) -> None:
        shown = desk.lookup_order(ana, "ORD-2001")

        assert (shown["state"], shown["currency"], shown["paid_cents"], shown["refundable_cents"]) == (
            "delivered",
            "EUR",
            4990,
            4990,
        )
        assert [(line["item"], line["refundable_cents"]) for line in shown["lines"]] == [
            ("Ceramic mug set", 3200),
            ("Tea towel", 1790),
        ]

    def test_after_a_refund_of_a_line_the_other_is_left(self, desk: Desk, ana: ToolContext) -> None:
        desk.process_refund(ana, "ORD-2001", 3200, "damaged", line=1)
        shown = desk.lookup_order(ana, "ORD-2001")

        assert (shown["refunded_cents"], shown["refundable_cents"]) == (3200, 0)
        assert [line["refundable_cents"] for line in shown["lines"]] == [0, 1790]
        assert [refund["cents"] for refund in shown["refunds"]] == [3200]

    def test_before_delivery_nothing_is_refundable(self, desk: Desk, context: Any) -> None:
        shown = desk.lookup_order(context("C-1002"), "ORD-2003")

        assert (shown["refundable_cents"], shown["expected_on"]) == (0, "2026-12-04")

    def test_an_order_of_somebody_else_shows_nothing(self, desk: Desk, ana: ToolContext) -> None:
        error = error_of(desk.lookup_order, ana, "ORD-2006")

        assert (error.category, error.code) == ("permission", "not_yours")
        assert "Headphones" not in error.message
        assert "Do not try again" in error.message

    def test_an_unknown_order_is_an_error_that_says_what_to_do(self, desk: Desk, ana: ToolContext) -> None:
        error = error_of(desk.lookup_order, ana, "ORD-9999")

        assert (error.category, error.code) == ("business", "order_not_found")
        assert "call lookup_order" in error.message

    def test_no_access_is_not_the_same_as_no_order(self, tmp_path: Path, ana: ToolContext) -> None:
        error = error_of(Desk(Business(tmp_path / "gone.db")).lookup_order, ana, "ORD-2001")

        assert (error.category, error.retryable) == ("transient", True)


class TestProcessRefund:
    def test_a_refund_pays_in_the_currency_of_the_order(self, desk: Desk, context: Any) -> None:
        paid = desk.process_refund(context("C-1006"), "ORD-2008", 1850, "defective", line=1)

        assert (paid["cents"], paid["currency"], paid["line"]) == (1850, "GBP", 1)
        assert [each.reference for each in desk.business.refunds_of("ORD-2008")] == [paid["refund_id"]]

    def test_a_second_run_with_the_same_key_gives_the_same_result_and_pays_nothing(
        self, desk: Desk, context: Any
    ) -> None:
        first = desk.process_refund(context("C-1001", key="k"), "ORD-2001", 4990, "damaged")

        assert desk.process_refund(context("C-1001", key="k"), "ORD-2001", 4990, "damaged") == first
        assert desk.business.total_refunded("ORD-2001") == 4990

    @pytest.mark.parametrize(
        ("who", "order_id", "cents", "code", "next_tool"),
        [
            ("C-1001", "ORD-9999", 1, "order_not_found", "lookup_order"),
            ("C-1003", "ORD-2001", 1, "not_yours", "escalate_to_human"),
            ("C-1002", "ORD-2003", 1, "not_delivered", "escalate_to_human"),
            ("C-1003", "ORD-2005", 1, "already_refunded", "escalate_to_human"),
            ("C-1001", "ORD-2001", 4991, "too_much", "lookup_order"),
        ],
    )
    def test_a_refusal_names_what_to_call_next(
        self, desk: Desk, context: Any, who: str, order_id: str, cents: int, code: str, next_tool: str
    ) -> None:
        error = error_of(desk.process_refund, context(who), order_id, cents, "other")

        assert (error.code, error.outcome, error.retryable) == (code, "not_executed", False)
        assert error.category == ("permission" if code == "not_yours" else "business")
        assert next_tool in error.message

    def test_what_could_not_begin_may_be_tried_again(self, books: Path, ana: ToolContext) -> None:
        desk = Desk(FlakyBusiness(books, {"refund": 1}))
        error = error_of(desk.process_refund, ana, "ORD-2001", 4990, "damaged")

        assert (error.category, error.retryable, error.outcome) == ("transient", True, "not_executed")

    def test_what_broke_at_its_end_is_unknown_and_not_to_be_repeated(self, books: Path, ana: ToolContext) -> None:
        class BreaksLate(Business):
            def refund(self, **_: Any) -> Any:
                raise DeskUnavailable("disk I/O error", outcome="unknown")

        error = error_of(Desk(BreaksLate(books)).process_refund, ana, "ORD-2001", 4990, "damaged")

        assert (error.retryable, error.outcome) == (False, "unknown")
        assert "Call lookup_order" in error.message

    @pytest.mark.parametrize(("cents", "asks"), [(10_000, False), (10_001, True)])
    def test_a_person_decides_over_the_limit(self, desk: Desk, ana: ToolContext, cents: int, asks: bool) -> None:
        refund = named(desk, "process_refund")
        given = refund.validate({"order_id": "ORD-2002", "cents": cents, "reason": "defective"})

        assert (refund.approval_reason(given, ana) is not None) is asks

    def test_splitting_a_large_refund_does_not_avoid_the_person(self, books: Path, ana: ToolContext) -> None:
        desk = Desk(Business(books), approval_above_cents=4000)
        refund = named(desk, "process_refund")
        first = refund.validate({"order_id": "ORD-2001", "cents": 3200, "reason": "damaged", "line": 1})
        second = refund.validate({"order_id": "ORD-2001", "cents": 1790, "reason": "damaged", "line": 2})

        assert refund.approval_reason(first, ana) is None
        desk.process_refund(ana, "ORD-2001", 3200, "damaged", line=1)
        assert (
            refund.approval_reason(second, ana)
            == "refund of 1790 cents for ORD-2001 after 3200 cents before: over 4000 cents"
        )

    def test_when_the_books_cannot_say_what_was_paid_before_a_person_is_asked(
        self, books: Path, ana: ToolContext
    ) -> None:
        refund = named(Desk(FlakyBusiness(books, {"refund": 1})), "process_refund")
        given = refund.validate({"order_id": "ORD-2001", "cents": 1, "reason": "damaged"})

        assert refund.approval_reason(given, ana) is not None

    def test_after_a_crash_the_books_know_by_key_whether_it_paid(self, desk: Desk, context: Any) -> None:
        given: dict[str, Any] = {"order_id": "ORD-2001", "cents": 4990, "reason": "damaged", "line": None}

        assert desk.refund_made(given, context("C-1001", key="k")) == NotDone()
        paid = desk.process_refund(context("C-1001", key="k"), **given)
        assert desk.refund_made(given, context("C-1001", key="k")) == Done(paid)

    def test_the_seam_sees_a_refund_that_is_in_the_books(self, business: Business, ana: ToolContext) -> None:
        seen: list[int] = []
        desk = Desk(business, after_refund=lambda refund: seen.append(business.total_refunded(refund.order_id)))
        desk.process_refund(ana, "ORD-2001", 4990, "damaged")

        assert seen == [4990]


class TestEscalateToHuman:
    def test_a_handoff_is_whole_and_its_customer_is_who_is_signed_in(self, desk: Desk, ana: ToolContext) -> None:
        told = desk.escalate_to_human(ana, **HANDOFF)
        (ticket,) = desk.business.tickets()

        assert told == {"ticket_id": ticket.reference, "new": True, "priority": "high"}
        assert ticket.handoff.customer_id == "C-1001"
        assert (ticket.handoff.root_cause, ticket.handoff.amount_cents) == ("Arrived broken.", 4990)
        assert (ticket.handoff.attempts, ticket.handoff.recommended_action) == (["process_refund: refused"], "Pay it.")

    def test_a_second_run_opens_no_second_ticket(self, desk: Desk, context: Any) -> None:
        first = desk.escalate_to_human(context("C-1001", key="k"), **HANDOFF)
        again = desk.escalate_to_human(context("C-1001", key="k"), **HANDOFF)

        assert again["ticket_id"] == first["ticket_id"]
        assert len(desk.business.tickets()) == 1

    def test_a_person_can_be_reached_by_somebody_who_is_not_signed_in(self, desk: Desk, context: Any) -> None:
        desk.escalate_to_human(context(None), **HANDOFF)

        assert desk.business.tickets()[0].handoff.customer_id is None

    def test_a_queue_that_cannot_be_reached_says_so(self, books: Path, ana: ToolContext) -> None:
        error = error_of(Desk(FlakyBusiness(books, {"ticket": 1})).escalate_to_human, ana, **HANDOFF)

        assert (error.category, error.retryable) == ("transient", True)
