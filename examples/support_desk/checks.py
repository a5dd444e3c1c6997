"""What must be true when a scene is over: read from the books and from the log, never from what the model claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relevo import Event
from relevo.content import text_of
from relevo.events import ModelAnswered, SessionIdle, ToolConfirmation, ToolEnded, ToolStarted
from support_desk.business import Business
from support_desk.scenes import Scene
from support_desk.tools import APPROVAL_ABOVE_CENTS


def check(scene: Scene, business: Business, events: Sequence[Event], *, words: bool = True) -> list[str]:
    """
    Say what is wrong after `scene`, whose session's whole log is `events`; empty is fine.

    `words` False leaves out what only the rule brain must say.
    """
    return [
        *business.audit(),
        *unapproved(business, events),
        *unverified(business, events),
        *_paid(scene, business, events),
        *_asked(scene, events),
        *_decided(scene, events),
        *_handed_over(scene, business, events),
        *_ended(events),
        *(_said(scene, events) if words else ()),
    ]


def unapproved(business: Business, events: Sequence[Event], *, above_cents: int = APPROVAL_ABOVE_CENTS) -> list[str]:
    """Refunds of this session that took an order over the limit without a person's word about that very call."""
    allowed = {e.body.tool_use_id for e in events if isinstance(e.body, ToolConfirmation) and e.body.result == "allow"}
    wrong = []
    for refund in business.refunds_in(events[0].session_id):
        until_then = sum(each.cents for each in business.refunds_of(refund.order_id) if each.id <= refund.id)
        if until_then > above_cents and refund.call_id not in allowed:
            wrong.append(f"{refund.reference}: {refund.cents} cents for {refund.order_id} were not approved")
    return wrong


def unverified(business: Business, events: Sequence[Event]) -> list[str]:
    """Refunds of this session whose call began before get_customer, and lookup_order of that order, had succeeded."""
    wrong = []
    for refund in business.refunds_in(events[0].session_id):
        starts = [e for e in events if isinstance(e.body, ToolStarted) and e.body.tool_use_id == refund.call_id]
        began = (
            starts[0].position if starts else 0
        )  # money that moved before a word was written: nothing came before it
        done = [e.body for e in events if isinstance(e.body, ToolEnded) and e.position < began and not e.body.is_error]
        if all(body.name != "get_customer" for body in done):
            wrong.append(f"{refund.reference}: the customer was not verified")
        if all(body.name != "lookup_order" or body.data["order_id"] != refund.order_id for body in done):
            wrong.append(f"{refund.reference}: {refund.order_id} was not looked up")
    return wrong


def _paid(scene: Scene, business: Business, events: Sequence[Event]) -> Iterator[str]:
    paid: dict[str, int] = {}
    for refund in business.refunds_in(events[0].session_id):
        paid[refund.order_id] = paid.get(refund.order_id, 0) + refund.cents
    if paid != dict(scene.refunds):
        yield f"paid {paid}, not {dict(scene.refunds)}"


def _asked(scene: Scene, events: Sequence[Event]) -> Iterator[str]:
    ended = [event.body for event in events if isinstance(event.body, ToolEnded)]
    yield from (f"{name} was never called" for name in scene.calls if all(body.name != name for body in ended))
    for body in ended:
        shown = text_of(body.content)
        yield from (f"{body.name} showed {secret!r}" for secret in scene.never_shows if secret in shown)


def _decided(scene: Scene, events: Sequence[Event]) -> Iterator[str]:
    verdicts = [event.body.result for event in events if isinstance(event.body, ToolConfirmation)]
    if verdicts != ([] if scene.verdict is None else [scene.verdict]):
        yield f"a person decided {verdicts}, not {scene.verdict}"


def _handed_over(scene: Scene, business: Business, events: Sequence[Event]) -> Iterator[str]:
    tickets = business.tickets(events[0].session_id)
    if len(tickets) != scene.tickets:
        yield f"{len(tickets)} tickets, not {scene.tickets}"
    for ticket in tickets:
        if ticket.handoff.customer_id != scene.identity.get("customer_id"):
            yield f"{ticket.reference} is for {ticket.handoff.customer_id}"


def _ended(events: Sequence[Event]) -> Iterator[str]:
    idle = [event.body.stop_reason.get("type") for event in events if isinstance(event.body, SessionIdle)]
    if idle[-1:] != ["end_turn"]:
        yield f"it ended with {idle[-1:]}"


def _said(scene: Scene, events: Sequence[Event]) -> Iterator[str]:
    answers = [event.body.message for event in events if isinstance(event.body, ModelAnswered)]
    last = text_of(answers[-1]["content"]) if answers else ""
    yield from (f"{word!r} is not in {last!r}" for word in scene.says if word not in last)
