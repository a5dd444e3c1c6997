"""
A model for the simulator that behaves as Claude does at a support desk: `relevo sim --brain support_desk.brain:brain`.

It keeps nothing: each answer comes from the conversation alone, so any process may ask it. Each step looks at what is
still missing for what the person wants, asks one or two tools for it, and reacts to what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relevo.simulator import Reply, Request, Result, Rules, call, say, think
from support_desk.phrases import money, phrase, state_name
from support_desk.talk import Kind, Talk, data_of, kind_of, needed_tool, read

_TOOLS = {"get_customer", "lookup_order", "process_refund", "escalate_to_human"}
_TRIES = 2
"""How often the same call is made when it fails in passing."""


def desk_rule(request: Request) -> Reply | None:
    """The whole desk as one rule; None for a request without the desk's tools."""
    return _next(read(request)) if set(request.tool_names) >= _TOOLS else None


brain = Rules([desk_rule])
"""The brain of the demo."""


def _next(talk: Talk) -> Reply:
    if talk.wish == "person" or talk.of("escalate_to_human"):
        return _hand_over(talk, "The customer asked for a person.", "Call or write to the customer.", priority="high")
    if talk.wish == "thanks" and not talk.results:
        return _say(talk, "thanks")
    if talk.wish is None and not talk.order_ids:
        return _say(talk, "greeting")
    reply = _identify(talk) or _first_things_first(talk)
    if reply is not None:
        return reply
    order_ids = talk.order_ids or _only_order(talk)
    if not order_ids:
        return _say(talk, "which_order", orders=", ".join(_orders(talk)[:3]) or "-")
    reply = _look_up(talk, order_ids)
    if reply is not None:
        return reply
    if talk.wish == "refund":
        return _refund(talk, order_ids)
    return think("The order is there; say where it is.") + say(" ".join(_status(talk, each) for each in order_ids))


def _identify(talk: Talk) -> Reply | None:
    """Make sure of the customer; None: it is done."""
    asked = talk.of("get_customer")
    if not asked:
        known = any(result.name == "get_customer" and not result.is_error for result in talk.before)
        if known and not talk.names_somebody:
            return None
        reply = think("I must know the customer before anything else.") + call("get_customer", talk.identifiers)
        # Both are reads, and the harness runs them in the order that the second needs.
        return reply + _calls_lookup(talk.order_ids[:1])
    return _unless_ok(talk, asked)


def _look_up(talk: Talk, order_ids: list[str]) -> Reply | None:
    """Read the orders; None: all are read."""
    looks = {each: _taken(talk.of("lookup_order", each)) for each in order_ids}
    missing = [each for each in order_ids if not looks[each]]
    if missing:
        return think("Now the order itself.") + _calls_lookup(missing[:2])
    return next((reply for each in order_ids if (reply := _unless_ok(talk, looks[each])) is not None), None)


def _first_things_first(talk: Talk) -> Reply | None:
    """Call the tool that the newest result asks for; None: it asks for none."""
    if not talk.results or kind_of(talk.results[-1]) != "needs":
        return None
    refused = talk.results[-1]
    if sum(kind_of(each) == "needs" and each.name == refused.name for each in talk.results) > _TRIES:
        return _hand_over(talk, f"{refused.name} stays refused.", "Do it by hand.", priority="normal")
    needed = needed_tool(refused)
    given = talk.identifiers if needed == "get_customer" else {"order_id": refused.call.input.get("order_id")}
    return think(f"{needed} must come first.") + call(needed, given)


def _refund(talk: Talk, order_ids: list[str]) -> Reply:
    """Pay what is still unpaid, one order after the other, and then say what was done."""
    done: list[str] = []
    for order_id in order_ids:
        tried = _taken(talk.of("process_refund", order_id))
        look = talk.of("lookup_order", order_id)[-1]
        if not tried:
            reply = _pay(talk, data_of(look))
        elif kind_of(tried[-1]) in ("unknown", "already"):
            reply = _find_out(talk, tried[-1], look)
        else:
            reply = _unless_ok(talk, tried)
        if reply is not None:
            return reply
        done.append(_refund_sentence(talk, data_of(look), tried[-1] if tried else None))
    return think("Everything is settled; tell the customer.") + say(" ".join(done))


def _pay(talk: Talk, order: Mapping[str, Any]) -> Reply | None:
    """Ask for the refund; None: there is nothing to pay, and a sentence says why."""
    line = talk.line_of(order)
    most = int((line or order)["refundable_cents"])
    if most < 1:
        if order["state"] == "delivered" and not order["refunds"]:
            return _hand_over(talk, "Nothing was paid for the order.", "Check the payment.", priority="normal")
        return None
    cents = talk.cents or most
    if cents > most:
        return _say(talk, "too_much", order_id=order["order_id"], amount=money(most, order["currency"], talk.language))
    given = {"order_id": order["order_id"], "cents": cents, "reason": talk.reason}
    if line is not None:
        given["line"] = line["line"]
    return think("Verified, delivered and not refunded before: pay it back.") + call("process_refund", given)


def _find_out(talk: Talk, tried: Result, look: Result) -> Reply | None:
    """It may have been paid: look at the order again before a word is said. None: it was paid, or is known to be."""
    order_id = look.call.input["order_id"]
    if talk.results.index(look) < talk.results.index(tried):
        return think("It may have been paid. Look before saying anything.") + _calls_lookup([order_id])
    paid = [refund["cents"] for refund in data_of(look)["refunds"]]
    if kind_of(tried) == "already" or tried.call.input["cents"] in paid:
        return None
    root_cause = f"The outcome of a refund for {order_id} is unknown, and the order shows none."
    return _hand_over(talk, root_cause, "Check with the payment provider before paying again.", priority="high")


def _refund_sentence(talk: Talk, order: Mapping[str, Any], tried: Result | None) -> str:
    language, order_id = talk.language, order["order_id"]
    if tried is not None and kind_of(tried) == "denied":
        return phrase("denied", language, order_id=order_id)
    if tried is not None and kind_of(tried) == "ok":
        paid = data_of(tried)
        amount = money(paid["cents"], paid["currency"], language)
        return phrase("refunded", language, amount=amount, order_id=order_id, refund_id=paid["refund_id"])
    if order["refunds"]:
        paid = order["refunds"][-1]
        amount = money(paid["cents"], order["currency"], language)
        name = "refunded" if tried is not None and kind_of(tried) == "unknown" else "refunded_before"
        day = paid["paid_at"][:10]
        return phrase(name, language, amount=amount, order_id=order_id, day=day, refund_id=paid["refund_id"])
    return phrase("not_delivered", language, order_id=order_id, state=state_name(order["state"], language))


def _status(talk: Talk, order_id: str) -> str:
    order = data_of(talk.of("lookup_order", order_id)[-1])
    day = order.get("delivered_on") or order.get("expected_on")
    name = "status" if day is None else "status_delivered" if order["state"] == "delivered" else "status_expected"
    items = ", ".join(line["item"] for line in order["lines"])
    state = state_name(order["state"], talk.language)
    return phrase(name, talk.language, order_id=order_id, items=items, state=state, day=day)


def _unless_ok(talk: Talk, results: list[Result]) -> Reply | None:
    """What to do about the newest of these results; None: it is fine, or a person's last word."""
    result = results[-1]
    kind = kind_of(result)
    if kind in ("ok", "denied"):
        return None
    if kind == "transient" and sum(kind_of(each) == "transient" for each in results) < _TRIES:
        return think("That was an access failure, not an answer. Once more.") + call(result.name, result.call.input)
    react = _REACTIONS.get(kind)
    if react is not None:
        return react(talk, result)
    return _hand_over(talk, f"{result.name} does not work: {result.text[:200]}", "Do it by hand.", priority="normal")


def _hand_over(talk: Talk, root_cause: str, recommended_action: str, *, priority: str) -> Reply:
    """Escalate once, with everything that is known, and say the ticket."""
    tried = talk.of("escalate_to_human")
    if tried and kind_of(tried[-1]) == "ok":
        return think("A person has it now.") + _say(talk, "handed_over", ticket_id=data_of(tried[-1])["ticket_id"])
    if len(tried) >= _TRIES:
        return _say(talk, "nothing_works")
    if tried:
        return think("The queue did not answer. Once more.") + call("escalate_to_human", tried[-1].call.input)
    category = {"refund": "refund", "status": "delivery", "person": "complaint"}.get(talk.wish or "", "other")
    given: dict[str, Any] = {
        "category": category,
        "root_cause": f"{root_cause} They wrote: {talk.said[-1][:300]}",
        "attempts": [f"{result.name}: {'failed' if result.is_error else 'done'}" for result in talk.results],
        "recommended_action": recommended_action,
        "priority": priority,
    }
    if talk.order_ids:
        given["order_id"] = talk.order_ids[0]
    if talk.cents:
        given["amount_cents"] = talk.cents
    return think("This is for a person.") + call("escalate_to_human", given)


def _taken(results: list[Result]) -> list[Result]:
    """Without those that were refused because another tool had to come first: they are as good as never made."""
    return [result for result in results if kind_of(result) != "needs"]


def _calls_lookup(order_ids: list[str]) -> Reply:
    return sum((call("lookup_order", {"order_id": order_id}) for order_id in order_ids), Reply())


def _only_order(talk: Talk) -> list[str]:
    orders = _orders(talk)
    return orders if len(orders) == 1 else []


def _orders(talk: Talk) -> list[str]:
    """The customer's orders, as get_customer told them last."""
    told = [result for result in (*talk.before, *talk.results) if result.name == "get_customer" and not result.is_error]
    return list(data_of(told[-1]).get("orders") or []) if told else []


def _say(talk: Talk, name: str, **values: Any) -> Reply:
    return say(phrase(name, talk.language, **values))


_REACTIONS: Mapping[Kind, Callable[[Talk, Result], Reply]] = {
    "not_yours": lambda talk, _: think("Not theirs. Do not try again.") + _say(talk, "not_yours"),
    "not_signed_in": lambda talk, _: _say(talk, "not_signed_in"),
    "several": lambda talk, _: _say(talk, "several"),
    "no_customer": lambda talk, _: _say(talk, "no_customer"),
    "no_order": lambda talk, result: _say(talk, "no_order", order_id=result.call.input["order_id"]),
}
