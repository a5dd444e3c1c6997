from __future__ import annotations

from typing import Any

import pytest

from relevo.simulator import Call, Request, Result
from support_desk.talk import Talk, data_of, kind_of, needed_tool, read


def heard(*said: str) -> Talk:
    return Talk(said, (), ())


def result(text: str, *, is_error: bool = True) -> Result:
    return Result(Call("toolu_1", "lookup_order", {"order_id": "ORD-1"}), text, is_error, text)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("I want to talk to a person", "person"),
        ("A HUMAN please, about my refund", "person"),
        ("Quiero hablar con una persona", "person"),
        ("My order arrived broken, please refund it", "refund"),
        ("I want my money back", "refund"),
        ("Quiero un reembolso", "refund"),
        ("Where is ORD-2003?", "status"),
        ("¿Dónde está mi pedido?", "status"),
        ("Thanks a lot!", "thanks"),
        ("Gracias", "thanks"),
        ("Hello", None),
        ("Humanity is great, and personal", None),
    ],
)
def test_what_the_person_wants(text: str, wish: str | None) -> None:
    assert heard(text).wish == wish


def test_a_text_without_a_wish_leaves_the_one_before() -> None:
    assert heard("Refund ORD-1 please", "My e-mail is a@example.com").wish == "refund"


@pytest.mark.parametrize(
    ("said", "language"),
    [
        (["Where is my order?"], "en"),
        (["¿Dónde está mi pedido?"], "es"),
        (["Hola, quiero un reembolso", "ORD-2001"], "es"),
        (["Hola", "Sorry, I want the refund"], "en"),
        (["ORD-2001"], "en"),
    ],
)
def test_the_language_is_that_of_the_newest_text_that_shows_one(said: list[str], language: str) -> None:
    assert heard(*said).language == language


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I'm ana.torres@example.com.", {"email": "ana.torres@example.com"}),
        ("My number is C-1001", {"customer_id": "C-1001"}),
        ("Hi, I'm Maria Garcia. Hello", {"name": "Maria Garcia"}),
        ("Soy Luis Ortega y quiero algo", {"name": "Luis Ortega"}),
        ("I'm Maria Garcia, maria@example.com", {"email": "maria@example.com"}),
        ("I am very angry", {}),
    ],
)
def test_who_the_person_says_they_are(text: str, found: dict[str, str]) -> None:
    assert heard(text, "hello?").identifiers == found
    assert heard("hello?", text).names_somebody is bool(found)


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("Refund 12.50 EUR", 1250), ("$20 back", 2000), ("12,50 € por favor", 1250), ("give me 3 euros", 300),
        ("ORD-2001", None), ("two mugs", None),
    ],
)  # fmt: skip
def test_the_amount_the_person_names(text: str, cents: int | None) -> None:
    assert heard(text).cents == cents


def test_orders_are_those_of_the_newest_text_that_names_any() -> None:
    assert heard("ORD-1 and ord-2, ORD-1 again", "yes please").order_ids == ["ORD-1", "ORD-2"]
    assert heard("ORD-1", "no, ORD-3").order_ids == ["ORD-3"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("it arrived broken", "damaged"), ("the bottle leaks", "defective"), ("wrong size", "wrong_item"), ("llegó tarde", "late"), ("no", "other")],
)  # fmt: skip
def test_why_they_want_their_money_back(text: str, reason: str) -> None:
    assert heard(text).reason == reason


def test_a_line_is_meant_when_one_of_several_is_named() -> None:
    order = {"lines": [{"line": 1, "item": "Water bottle"}, {"line": 2, "item": "Lunch box"}]}

    assert heard("My water bottle leaks").line_of(order) == order["lines"][0]
    assert heard("The bottle and the lunch box are broken").line_of(order) is None
    assert heard("All of it is broken").line_of(order) is None
    assert heard("My water bottle leaks").line_of({"lines": order["lines"][:1]}) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Not executed: process_refund needs a successful lookup_order first for the same order_id.", "needs"),
        ("Not executed: a person denied it.", "denied"),
        ("Not executed: nobody approved it in time.", "denied"),
        ("The outcome of process_refund is unknown: it was interrupted.", "unknown"),
        ("Failed: X.\nIt is unknown whether it took effect: check before you do it again.", "unknown"),
        ("The order system cannot be reached now.\nThe same call may succeed later.", "transient"),
        ("Order ORD-1 does not belong to the signed-in customer.", "not_yours"),
        ("Line 1 of order ORD-1 was refunded already: R-00001.", "already"),
        ("The moon is full.", "other"),
    ],
)
def test_what_an_error_means(text: str, kind: str) -> None:
    assert kind_of(result(text)) == kind
    assert kind_of(result(text, is_error=False)) == "ok"


def test_the_tool_that_must_come_first_is_named_in_the_error() -> None:
    assert needed_tool(result("x needs a successful get_customer first.")) == "get_customer"
    assert needed_tool(result("something else")) == ""


def test_data_stands_before_whatever_the_harness_adds() -> None:
    assert data_of(result('{"a": 1}\n\n(The same call gave the same result 2 times.)')) == {"a": 1}
    assert data_of(result("words")) == data_of(result("[1]")) == {}


def use(number: int) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": f"t{number}", "name": "lookup_order", "input": {}}],
    }


def answered(number: int, *more: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": str(number)}, *more],
    }


def test_results_count_since_the_person_last_spoke() -> None:
    messages = [
        {"role": "user", "content": "one"}, use(1), answered(1), {"role": "assistant", "content": "done"},
        {"role": "user", "content": [{"type": "text", "text": "two"}]}, use(2), answered(2),
    ]  # fmt: skip
    talk = read(Request({"messages": messages}, {}))

    assert (talk.said, [r.text for r in talk.results], [r.text for r in talk.before]) == (["one", "two"], ["2"], ["1"])


def test_what_was_said_while_a_tool_was_at_work_does_not_hide_its_result() -> None:
    messages = [{"role": "user", "content": "one"}, use(1), answered(1, {"type": "text", "text": "hello?"})]
    talk = read(Request({"messages": messages}, {}))

    assert (talk.said, [r.text for r in talk.results]) == (["one", "hello?"], ["1"])
