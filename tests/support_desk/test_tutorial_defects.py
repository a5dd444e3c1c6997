"""
The faults of the tutorial's support desk (section 3, and those of sections 2, 9 and 13 that it shares), one by one.

Each test plays what went wrong there against ours. The model is a script that behaves as badly as the fault needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relevo import AwaitingAction, SqliteLog
from relevo.events import ToolStarted
from relevo.simulator import Reply, Script, call
from support_desk.agent import desk_agent
from support_desk.brain import brain
from support_desk.business import Business
from support_desk.outages import FlakyBusiness

VERIFY = call("get_customer", {})
SESSION = "Refund my order."


def look(order_id: str) -> Reply:
    return call("lookup_order", {"order_id": order_id})


def pay(order_id: str = "ORD-2001", cents: Any = 4990, **more: Any) -> Reply:
    return call("process_refund", {"order_id": order_id, "cents": cents, "reason": "damaged", **more})


def codes(ended: list[Any]) -> list[str | None]:
    return [body.error["code"] if body.error else None for body in ended]


async def test_3_1_a_typed_identifier_verifies_nobody(business: Business, play: Any) -> None:
    """There, an id that exists was "verified": anybody could be anybody."""
    script = Script([call("get_customer", {"customer_id": "C-1001"}) + look("ORD-2001") + pay(), "Done."])
    async with play(desk_agent(business), script, "C-1002") as played:
        await played.say("I am customer C-1001. Refund ORD-2001.")

        assert codes(await played.ended("get_customer")) == ["not_yours"]
        assert codes(await played.ended("process_refund")) == ["prerequisite_missing"]
    assert business.refunds_of("ORD-2001") == []


@pytest.mark.parametrize(
    ("order_id", "cents"),
    [
        ("ORD-2006", 7900),
        ("ORD-9999", 1),
        ("ORD-2001", -4990),
        ("ORD-2001", 0),
        ("ORD-2001", 49.90),
        ("ORD-2001", "4990"),
        ("ORD-2001", 4991),
        ("ORD-2001", 2**70),
    ],
)
async def test_3_2_only_an_own_order_and_only_what_was_paid(
    business: Business, play: Any, order_id: str, cents: Any
) -> None:
    """There, the order was never loaded: any order, of any customer, any amount."""
    before = business.total_refunded()
    script = Script([VERIFY + look(order_id) + look("ORD-2001"), pay(order_id, cents), "Done."])
    async with play(desk_agent(business, approval_above_cents=2**80), script) as played:
        await played.say(SESSION)
        (ended,) = await played.ended("process_refund")

    assert ended.is_error
    assert ended.error["outcome"] == "not_executed"
    assert business.total_refunded() == before


@pytest.mark.parametrize(("who", "order_id"), [("C-1002", "ORD-2003"), ("C-1003", "ORD-2005")])
async def test_3_2_only_what_was_delivered_and_not_refunded_before(
    business: Business, play: Any, who: str, order_id: str
) -> None:
    before = business.total_refunded()
    script = Script([VERIFY + look(order_id), pay(order_id, 1), "Done."])
    async with play(desk_agent(business), script, who) as played:
        await played.say(SESSION)

    assert business.total_refunded() == before


async def test_3_2_the_order_that_was_looked_up_is_the_one_that_is_refunded(business: Business, play: Any) -> None:
    """A look at another order neither opens the gate nor shuts it."""
    script = Script([VERIFY + look("ORD-2001"), pay("ORD-2002", 1), look("ORD-2002"), pay(), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)

        assert codes(await played.ended("process_refund")) == ["prerequisite_missing", None]


async def test_3_2_the_currency_is_that_of_the_order(business: Business, play: Any) -> None:
    script = Script([VERIFY + look("ORD-2008"), pay("ORD-2008", 4250, currency="BTC"), pay("ORD-2008", 4250), "Done."])
    async with play(desk_agent(business), script, "C-1006") as played:
        await played.say(SESSION)

        assert codes(await played.ended("process_refund")) == ["invalid_input", None]
    assert [refund.currency for refund in business.refunds_of("ORD-2008")] == ["GBP"]


async def test_3_3_a_turn_that_is_sampled_again_does_not_pay_again(business: Business, play: Any) -> None:
    """There, nothing was idempotent. New ids make new keys; the thing refunded is still the same."""
    script = Script([VERIFY + look("ORD-2001"), pay() + pay(), pay(line=1, cents=3200), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)

        assert codes(await played.ended("process_refund")) == [None, "already_refunded", "already_refunded"]
    assert business.total_refunded("ORD-2001") == 4990


async def test_3_3_another_session_does_not_pay_again(business: Business, play: Any) -> None:
    for _ in range(2):
        async with play(desk_agent(business), brain) as played:
            await played.say("My order ORD-2001 arrived broken, please refund it.")

    assert business.total_refunded("ORD-2001") == 4990


async def test_3_4_an_order_is_shown_only_after_verification_and_only_to_its_owner(
    business: Business, play: Any
) -> None:
    """There, anybody could read any order."""
    script = Script([look("ORD-2001"), VERIFY, look("ORD-2006"), look("ORD-2001"), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)

        assert codes(await played.ended("lookup_order")) == ["prerequisite_missing", "not_yours", None]


async def test_3_5_nobody_becomes_somebody_else_in_mid_session(business: Business, play: Any) -> None:
    """There, a later get_customer replaced the verified customer, and the session went on with it."""
    swap = call("get_customer", {"email": "maria.garcia@example.com"})
    script = Script([VERIFY, swap, look("ORD-2006"), pay("ORD-2006", 7900), look("ORD-2001"), pay(), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)

        assert codes(await played.ended("get_customer")) == [None, "not_yours"]
        assert codes(await played.ended("lookup_order")) == ["not_yours", None]
    assert business.refunds_of("ORD-2006") == []
    assert [refund.customer_id for refund in business.refunds_of("ORD-2001")] == ["C-1001"]


async def test_3_6_a_large_refund_waits_for_a_person(business: Business, play: Any) -> None:
    """There, any amount went out."""
    script = Script([VERIFY + look("ORD-2002"), pay("ORD-2002", 24900), "Done."])
    async with play(desk_agent(business), script) as played:
        assert isinstance(await played.say(SESSION), AwaitingAction)
        assert business.refunds_of("ORD-2002") == []

        await played.decide("allow")
        await played.wake()
    assert business.total_refunded("ORD-2002") == 24900


@pytest.mark.parametrize("given", [{"email": "nobody@example.com"}, {"name": "Maria Garcia"}])
async def test_3_7_who_was_not_found_opens_no_gate(business: Business, play: Any, given: dict[str, str]) -> None:
    """There, "not found" was a success that said `error`."""
    script = Script([call("get_customer", given), look("ORD-2001"), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)

        assert (await played.ended("get_customer"))[0].is_error
        assert codes(await played.ended("lookup_order")) == ["prerequisite_missing"]


async def test_3_7_an_order_that_is_not_there_and_one_that_cannot_be_reached_differ(books: Path, play: Any) -> None:
    script = Script([VERIFY, look("ORD-9999"), look("ORD-2001"), "Done."])
    async with play(desk_agent(FlakyBusiness(books, {})), script) as played:
        await played.say(SESSION)
        missing = (await played.ended("lookup_order"))[0].error
    async with play(
        desk_agent(FlakyBusiness(books, {"order": 3})), Script([VERIFY, look("ORD-9999"), "Done."])
    ) as played:
        await played.say(SESSION)
        (down,) = await played.ended("lookup_order")

    assert (missing["category"], missing["retryable"]) == ("business", False)
    assert (down.error["category"], down.error["retryable"]) == ("transient", True)


async def test_3_8_what_was_verified_holds_in_another_process(books: Path, tmp_path: Path, play: Any) -> None:
    """There, it was a variable: lost at every restart. Here, another harness reads it from the log."""
    script = Script([VERIFY + look("ORD-2001"), "What is wrong with it?", pay(), "Done."])
    async with play(desk_agent(Business(books)), script, log=SqliteLog(tmp_path / "log.db")) as played:
        await played.say(SESSION)
        async with played.elsewhere(tmp_path / "log.db", desk_agent(Business(books))) as elsewhere:
            await elsewhere.session(played.session.id).run("It is broken.")

    assert Business(books).total_refunded("ORD-2001") == 4990


async def test_3_9_and_3_10_a_handoff_is_one_whole_ticket_however_often_it_is_made(
    business: Business, play: Any
) -> None:
    """There, the id was made up beside the queue, the push was not idempotent, and the handoff was free text."""
    handoff = call(
        "escalate_to_human",
        {
            "category": "refund", "root_cause": "Broken twice.", "attempts": ["refund: too much"],
            "recommended_action": "Send a new one.", "priority": "high", "order_id": "ORD-2001", "amount_cents": 4990,
        },
    )  # fmt: skip
    vague = call("escalate_to_human", {"reason": "angry", "context": "see above"})
    async with play(desk_agent(business), Script([vague, handoff + handoff, handoff, "Done."])) as played:
        await played.say("A person please.")
        ended = await played.ended("escalate_to_human")
    (ticket,) = business.tickets()

    assert codes(ended) == ["invalid_input", None, None, None]
    assert {body.data["ticket_id"] for body in ended[1:]} == {ticket.reference}
    assert ticket.handoff.customer_id == "C-1001"
    assert (ticket.handoff.amount_cents, ticket.handoff.attempts) == (4990, ["refund: too much"])


async def test_3_11_an_error_names_the_tool_to_call(business: Business, play: Any) -> None:
    """There, prerequisites were prose in a description, and errors had no remedy. Descriptions: see test_tools.py."""
    async with play(desk_agent(business), Script([pay(), VERIFY, pay(), "Done."])) as played:
        await played.say(SESSION)
        first, second = await played.ended("process_refund")

    assert "Call get_customer" in first.content
    assert "Call lookup_order" in second.content


async def test_3_12_of_several_customers_none_is_taken(business: Business, play: Any) -> None:
    """There, the first match was the customer."""
    async with play(desk_agent(business), brain, "C-1004") as played:
        outcome = await played.say("I'm Maria Garcia, refund ORD-2006.")

        assert codes(await played.ended("get_customer")) == ["several_matches"]
    assert "e-mail" in outcome.text
    assert business.refunds_of("ORD-2006") == []


async def test_2_2_calls_of_one_answer_do_not_race(business: Business, play: Any) -> None:
    """There, all calls of an answer ran at once: a refund beside its own verification, and two refunds together."""
    script = Script([pay() + VERIFY + look("ORD-2001") + pay(line=1, cents=3200) + pay(line=2, cents=1790), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)

        assert codes(await played.ended("process_refund")) == ["prerequisite_missing", None, None]
        names = [e.body.name for e in await played.events() if isinstance(e.body, ToolStarted)]
    assert names == ["get_customer", "lookup_order", "process_refund", "process_refund"]
    assert business.total_refunded("ORD-2001") == 4990


@pytest.mark.parametrize("name", ["constructor", "toString", "__class__", "refund_made", "process_refund "])
async def test_2_3_a_name_that_is_no_tool_does_nothing(business: Business, play: Any, name: str) -> None:
    """[V] There, `constructor` reached the prototype and gave the input back as a success."""
    script = Script([VERIFY + look("ORD-2001"), call(name, {"order_id": "ORD-2001", "cents": 1}), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)
        (ended,) = await played.ended(name)

    assert ended.error["code"] == "unknown_tool"
    assert "process_refund, escalate_to_human" in ended.content


async def test_9_1_a_refund_whose_answer_was_lost_is_found_and_not_repeated(business: Business, play: Any) -> None:
    """[V] There, a timeout was a retryable failure although the effect went on: paid twice."""

    def lose(_: object) -> None:
        raise TimeoutError

    async with play(desk_agent(business, after_refund=lose), brain) as played:
        outcome = await played.say("My order ORD-2001 arrived broken, please refund it.")
        (ended,) = await played.ended("process_refund")

    # The tool was asked by key what became of it, and the books knew.
    assert not ended.is_error
    assert "I have refunded 49.90 EUR" in outcome.text
    assert business.total_refunded("ORD-2001") == 4990


async def test_9_1_after_a_crash_books_that_cannot_be_asked_mean_unknown_and_nobody_pays(
    books: Path, tmp_path: Path, play: Any
) -> None:
    """The process dies before it pays; when the session is woken, the books are out of reach."""

    class Died(BaseException):
        pass

    class Dies(Business):
        def refund(self, **_: Any) -> Any:
            raise Died

    log = SqliteLog(tmp_path / "log.db")
    async with play(desk_agent(Dies(books)), brain, log=log) as played:
        with pytest.raises(Died):
            await played.say("My order ORD-2001 arrived broken, please refund it.")
        woken = desk_agent(FlakyBusiness(books, {"refund": 1}))
        async with played.elsewhere(tmp_path / "log.db", woken) as elsewhere:
            outcome = await elsewhere.session(played.session.id).run()
        (ended,) = await played.ended("process_refund")

    assert ended.error["outcome"] == "unknown"
    assert "T-00001" in outcome.text
    assert Business(books).refunds_of("ORD-2001") == []


async def test_13_1_and_13_2_approval_is_of_the_call_itself(business: Business, play: Any) -> None:
    """There, approval was a tool that the model might skip, and covered whatever it called next."""
    script = Script([VERIFY + look("ORD-2002"), pay("ORD-2002", 24900), pay("ORD-2002", 24800), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)
        await played.decide("deny")
        outcome = await played.wake()

        assert isinstance(outcome, AwaitingAction)
        await played.decide("deny")
        await played.wake()
        assert codes(await played.ended("process_refund")) == ["denied", "denied"]
    assert business.refunds_of("ORD-2002") == []


async def test_13_3_an_approval_is_used_once(business: Business, play: Any) -> None:
    """There, it was kept under the text of the action, and the same text found it again."""
    script = Script([VERIFY + look("ORD-2002"), pay("ORD-2002", 24900), pay("ORD-2002", 24900), "Done."])
    async with play(desk_agent(business), script) as played:
        await played.say(SESSION)
        await played.decide("allow")

        assert isinstance(await played.wake(), AwaitingAction)
        await played.decide("allow")
        await played.wake()
        assert codes(await played.ended("process_refund")) == [None, "already_refunded"]
    assert business.total_refunded("ORD-2002") == 24900
