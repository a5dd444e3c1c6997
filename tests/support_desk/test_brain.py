"""The rule brain reacts to what tools say as a careful model does. What it needs is all in the conversation."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import Any

import pytest

from relevo.simulator import Reply, Request
from support_desk import phrases
from support_desk.brain import brain
from support_desk.phrases import money, phrase

Turn = tuple[Any, ...]
"""A call: tool, input, result; a text as result is an error."""

TOOLS = [{"name": name} for name in ("get_customer", "lookup_order", "process_refund", "escalate_to_human")]
ANA: Turn = ("get_customer", {}, {"customer_id": "C-1001", "orders": ["ORD-1", "ORD-2"]})
ORDER: dict[str, Any] = {
    "order_id": "ORD-1", "state": "delivered", "delivered_on": "2026-11-20", "currency": "EUR", "paid_cents": 4990,
    "refundable_cents": 4990, "lines": [{"line": 1, "item": "Mug", "refundable_cents": 4990}], "refunds": [],
}  # fmt: skip
LOOK = ("lookup_order", {"order_id": "ORD-1"}, ORDER)
PAID_ORDER = {
    **ORDER,
    "refundable_cents": 0,
    "refunds": [{"refund_id": "R-1", "cents": 4990, "paid_at": "2026-12-01T09"}],
}
PAY = ("process_refund", {"order_id": "ORD-1", "cents": 4990, "reason": "other"})
RECEIPT = {"refund_id": "R-1", "order_id": "ORD-1", "line": None, "cents": 4990, "currency": "EUR"}
LATER = "The order system cannot be reached now.\nThe same call may succeed later."
UNKNOWN = "process_refund failed unexpectedly.\nIt is unknown whether it took effect: check before you do it again."
NEEDS = "Not executed: {} needs a successful {} first. Call it."


def talk(*turns: str | Turn, tools: Any = TOOLS) -> Reply:
    """The brain's answer to texts of the person and calls with their results."""
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": "user", "content": turn})
            continue
        name, given, came = turn
        messages.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]}
        )
        content = came if isinstance(came, str) else json.dumps(came)
        block = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": content,
            "is_error": isinstance(came, str),
        }
        messages.append({"role": "user", "content": [block]})
    return brain.answer(Request({"messages": messages, "tools": tools}, {}))


def calls(reply: Reply) -> list[tuple[str, Mapping[str, Any]]]:
    return [(block["name"], block["input"]) for block in reply.content if block["type"] == "tool_use"]


def text(reply: Reply) -> str:
    assert calls(reply) == []
    return "".join(block["text"] for block in reply.content if block["type"] == "text")


class TestSteps:
    def test_first_the_customer_with_what_they_said_and_the_order_in_the_same_answer(self) -> None:
        assert calls(talk("I'm a@example.com, refund ORD-1")) == [
            ("get_customer", {"email": "a@example.com"}),
            ("lookup_order", {"order_id": "ORD-1"}),
        ]

    def test_two_orders_are_read_side_by_side(self) -> None:
        assert calls(talk("Where are ORD-1 and ORD-2?", ANA)) == [
            ("lookup_order", {"order_id": "ORD-1"}),
            ("lookup_order", {"order_id": "ORD-2"}),
        ]

    def test_calls_come_after_a_thought(self) -> None:
        assert [block["type"] for block in talk("Refund ORD-1").content] == ["thinking", "tool_use", "tool_use"]

    def test_pay_what_is_refundable(self) -> None:
        assert calls(talk("Refund ORD-1", ANA, LOOK)) == [
            ("process_refund", {"order_id": "ORD-1", "cents": 4990, "reason": "other"})
        ]

    def test_pay_what_was_asked_for_if_that_is_less(self) -> None:
        (call,) = calls(talk("Refund 10 EUR of ORD-1", ANA, LOOK))

        assert call[1]["cents"] == 1000

    def test_more_than_is_refundable_is_not_even_tried(self) -> None:
        assert "49.90 EUR at most" in text(talk("Refund 60 EUR of ORD-1", ANA, LOOK))

    def test_only_what_a_result_says_is_claimed(self) -> None:
        assert text(talk("Refund ORD-1", ANA, LOOK, (*PAY, RECEIPT))) == (
            "I have refunded 49.90 EUR for order ORD-1; the reference is R-1."
        )

    def test_the_answer_is_in_the_language_of_the_question(self) -> None:
        assert "49,90 EUR" in text(talk("Hola, quiero un reembolso de ORD-1", ANA, LOOK, (*PAY, RECEIPT)))

    def test_who_was_verified_before_is_not_asked_again(self) -> None:
        assert calls(talk("Where is ORD-1?", ANA, LOOK, "And ORD-2?")) == [("lookup_order", {"order_id": "ORD-2"})]

    def test_who_says_to_be_another_is_looked_up_again(self) -> None:
        asked = calls(talk("Where is ORD-1?", ANA, LOOK, "I am b@example.com in fact, refund ORD-1"))

        assert asked[0] == ("get_customer", {"email": "b@example.com"})

    def test_the_only_order_needs_no_naming(self) -> None:
        one: Turn = ("get_customer", {}, {"customer_id": "C-1", "orders": ["ORD-7"]})

        assert calls(talk("Refund my order please", one)) == [("lookup_order", {"order_id": "ORD-7"})]

    def test_of_several_orders_the_customer_names_one(self) -> None:
        assert "ORD-1, ORD-2" in text(talk("Refund my order please", ANA))

    def test_an_order_without_a_payment_is_for_a_person(self) -> None:
        unpaid = ("lookup_order", {"order_id": "ORD-1"}, {**ORDER, "refundable_cents": 0})

        assert calls(talk("Refund ORD-1", ANA, unpaid))[0][0] == "escalate_to_human"

    @pytest.mark.parametrize(
        ("said", "answer"), [("Hello", "Hello!"), ("Hola", "¡Hola!"), ("Thanks", "You are welcome.")]
    )
    def test_small_talk_needs_no_tool(self, said: str, answer: str) -> None:
        assert text(talk(said)).startswith(answer)

    def test_without_the_tools_of_the_desk_it_is_another_brains_turn(self) -> None:
        assert text(talk("Refund ORD-1", tools=TOOLS[:2])) == "I have nothing to add."


class TestReactions:
    def test_a_person_is_asked_for_once_and_at_once(self) -> None:
        ((name, given),) = calls(talk("A human please! ORD-1 is late and cost me 20 EUR"))

        assert (name, given["order_id"], given["amount_cents"], given["priority"]) == (
            "escalate_to_human",
            "ORD-1",
            2000,
            "high",
        )
        assert "T-1" in text(talk("A human please!", ("escalate_to_human", {}, {"ticket_id": "T-1"})))

    def test_what_must_come_first_is_called_and_then_the_rest(self) -> None:
        first = (*PAY, NEEDS.format("process_refund", "lookup_order"))

        assert calls(talk("Refund ORD-1", ANA, LOOK, first)) == [("lookup_order", {"order_id": "ORD-1"})]
        assert calls(talk("Refund ORD-1", ANA, LOOK, first, LOOK))[0][0] == "process_refund"

    def test_a_tool_that_stays_refused_is_for_a_person(self) -> None:
        first = (*PAY, NEEDS.format("process_refund", "lookup_order"))

        assert calls(talk("Refund ORD-1", ANA, LOOK, first, LOOK, first, LOOK, first))[0][0] == "escalate_to_human"

    def test_what_is_not_theirs_is_not_tried_again(self) -> None:
        refused = ("lookup_order", {"order_id": "ORD-1"}, "Order ORD-1 does not belong to the signed-in customer.")

        assert "sorry" in text(talk("Refund ORD-1", ANA, refused))

    def test_an_access_failure_is_tried_once_more_and_then_handed_over(self) -> None:
        down = ("lookup_order", {"order_id": "ORD-1"}, LATER)

        assert calls(talk("Where is ORD-1?", ANA, down)) == [("lookup_order", {"order_id": "ORD-1"})]
        assert calls(talk("Where is ORD-1?", ANA, down, down))[0][0] == "escalate_to_human"

    def test_when_the_queue_fails_too_the_customer_is_told(self) -> None:
        down = ("escalate_to_human", {"category": "other"}, LATER)

        assert calls(talk("A human please!", down)) == [("escalate_to_human", {"category": "other"})]
        assert "cannot be reached" in text(talk("A human please!", down, down))

    def test_a_denial_is_told(self) -> None:
        assert "not approved" in text(talk("Refund ORD-1", ANA, LOOK, (*PAY, "Not executed: a person denied it.")))

    def test_of_an_unknown_outcome_nothing_is_said_before_a_look(self) -> None:
        lost, paid = (*PAY, UNKNOWN), ("lookup_order", {"order_id": "ORD-1"}, PAID_ORDER)

        assert calls(talk("Refund ORD-1", ANA, LOOK, lost)) == [("lookup_order", {"order_id": "ORD-1"})]
        assert "I have refunded 49.90 EUR" in text(talk("Refund ORD-1", ANA, LOOK, lost, paid))
        assert calls(talk("Refund ORD-1", ANA, LOOK, lost, LOOK))[0][0] == "escalate_to_human"

    def test_what_somebody_else_refunded_meanwhile_is_looked_up_and_told(self) -> None:
        taken = (*PAY, "Order ORD-1 was refunded already: R-1. Do not refund it again.")
        paid = ("lookup_order", {"order_id": "ORD-1"}, PAID_ORDER)

        assert calls(talk("Refund ORD-1", ANA, LOOK, taken)) == [("lookup_order", {"order_id": "ORD-1"})]
        assert "was refunded already" in text(talk("Refund ORD-1", ANA, LOOK, taken, paid))

    def test_an_error_nobody_foresaw_is_for_a_person(self) -> None:
        assert calls(talk("Refund ORD-1", ANA, LOOK, (*PAY, "The moon is full.")))[0][0] == "escalate_to_human"


class TestPhrases:
    @pytest.mark.parametrize("name", sorted(phrases._PHRASES))
    def test_every_sentence_exists_in_both_languages_with_the_same_blanks(self, name: str) -> None:
        blanks = {
            language: {field for _, field, _, _ in string.Formatter().parse(sentence) if field}
            for language, sentence in phrases._PHRASES[name].items()
        }

        assert blanks["en"] == blanks["es"]
        assert phrase(name, "es", **dict.fromkeys(blanks["es"], "x"))

    def test_money_is_written_as_people_do(self) -> None:
        assert (money(4990, "EUR", "en"), money(5, "USD", "en"), money(100_001, "EUR", "es")) == (
            "49.90 EUR", "0.05 USD", "1000,01 EUR",
        )  # fmt: skip
