"""
How the rule brain reads a conversation: what the person wants, and what the tools said since.

Texts only, as a model has them: no error code, no session, no database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from relevo.simulator import Request, Result

Language = Literal["en", "es"]
Wish = Literal["person", "refund", "status", "thanks"]

Kind = Literal[
    "ok",
    "needs",
    "denied",
    "unknown",
    "transient",
    "not_yours",
    "not_signed_in",
    "several",
    "no_customer",
    "no_order",
    "already",
    "other",
]
"""What a result means to the one who reads it."""

_ORDER_ID = re.compile(r"\bORD-\d+\b", re.IGNORECASE)
_CUSTOMER_ID = re.compile(r"\bC-\d+\b")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NAME = re.compile(
    r"(?i:\b(?:I'm|I am|my name is|this is|soy|me llamo))\s+((?:[A-ZÁÉÍÓÚÑ][\w'-]+\s+)+[A-ZÁÉÍÓÚÑ][\w'-]+)"
)
_AMOUNT = re.compile(
    r"[€$£]\s?(\d+(?:[.,]\d\d)?)|\b(\d+(?:[.,]\d\d)?)\s?(?:€|(?:eur|euros?|usd|dollars?|gbp|pounds?)\b)", re.IGNORECASE
)
_WISHES: Mapping[Wish, re.Pattern[str]] = {
    "person": re.compile(r"\b(human|a person|real person|representative|supervisor|manager|humano|una persona)\b"),
    "refund": re.compile(r"refund|money back|reimburs|reembols|devoluci|devuelv"),
    "status": re.compile(r"\b(where|status|track|when|arriv\w*|dónde|donde|estado|cuándo|llega\w*)\b"),
    "thanks": re.compile(r"^\W*(thanks|thank you|gracias)\b"),
}
_SPANISH = re.compile(r"[¿¡ñ]|\b(hola|pedido|quiero|dónde|está|soy|una|por favor|gracias|necesito|llegó|mi)\b")
_ENGLISH = re.compile(r"\b(the|my|is|i|where|want|please|order|hi|hello|would|thanks)\b")
_REASONS: Mapping[str, re.Pattern[str]] = {
    "wrong_item": re.compile(r"wrong|equivocad"),
    "damaged": re.compile(r"broken|damag|crack|roto|rota|dañad"),
    "defective": re.compile(r"work|leak|fault|defect|crackl|funciona"),
    "late": re.compile(r"\blate\b|tarde"),
}
_NEEDS = re.compile(r"needs a successful (\w+) first")
_KINDS: Sequence[tuple[Kind, str]] = (
    ("needs", _NEEDS.pattern),
    ("denied", r"a person denied it|nobody approved it in time"),
    ("unknown", r"outcome of \w+ is unknown|unknown whether it took effect"),
    ("transient", r"same call may succeed later"),
    ("not_yours", r"does not belong to the signed-in customer|not the customer who is signed in"),
    ("not_signed_in", r"Nobody is signed in"),
    ("several", r"customers match"),
    ("no_customer", r"No customer has"),
    ("no_order", r"There is no order"),
    ("already", r"was refunded already"),
)


def kind_of(result: Result) -> Kind:
    """Read a result."""
    if not result.is_error:
        return "ok"
    for kind, pattern in _KINDS:
        if re.search(pattern, result.text):
            return kind
    return "other"


def needed_tool(result: Result) -> str:
    """The tool that must be called before the one that gave this `needs`."""
    found = _NEEDS.search(result.text)
    return found[1] if found else ""


def data_of(result: Result) -> dict[str, Any]:
    """The object that a result begins with; empty when it begins with something else."""
    try:
        found, _ = json.JSONDecoder().raw_decode(result.text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, read."""

    said: Sequence[str]
    """What the person said, oldest first."""
    results: Sequence[Result]
    """What the tools said since the person last spoke, oldest first."""
    before: Sequence[Result]
    """And before that."""

    @property
    def language(self) -> Language:
        """The language of the newest text that shows one; English when none does."""
        for text in reversed([text.casefold() for text in self.said]):
            spanish, english = len(_SPANISH.findall(text)), len(_ENGLISH.findall(text))
            if spanish != english:
                return "es" if spanish > english else "en"
        return "en"

    @property
    def wish(self) -> Wish | None:
        """What the person wants, by their newest text that says so."""
        for text in reversed([text.casefold() for text in self.said]):
            for wish, pattern in _WISHES.items():
                if pattern.search(text):
                    return wish
        return None

    @property
    def order_ids(self) -> list[str]:
        """The orders of the newest text that names any."""
        for text in reversed(self.said):
            if found := _ORDER_ID.findall(text):
                return list(dict.fromkeys(each.upper() for each in found))
        return []

    @property
    def names_somebody(self) -> bool:
        """Whether the person said in their newest text who they are."""
        return bool(self.said and _identifiers(self.said[-1]))

    @property
    def identifiers(self) -> dict[str, str]:
        """Who the person says they are, as get_customer takes it; empty when they never said."""
        return next((found for text in reversed(self.said) if (found := _identifiers(text))), {})

    @property
    def cents(self) -> int | None:
        """The amount that the newest text names."""
        found = _AMOUNT.search(self.said[-1]) if self.said else None
        if found is None:
            return None
        whole, _, part = (found[1] or found[2]).replace(",", ".").partition(".")
        return int(whole) * 100 + int(part or 0)

    @property
    def reason(self) -> str:
        """Why they want the money back, in the words of process_refund."""
        text = " ".join(self.said).casefold()
        return next((reason for reason, pattern in _REASONS.items() if pattern.search(text)), "other")

    def line_of(self, order: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The one line of several that the person talks about; None: the order as a whole."""
        lines: list[Mapping[str, Any]] = order.get("lines") or []
        words = set(re.findall(r"\w{4,}", " ".join(self.said).casefold()))
        words |= {word.removesuffix("s") for word in words}
        named = [line for line in lines if words & set(re.findall(r"\w{4,}", str(line.get("item")).casefold()))]
        return named[0] if len(lines) > 1 and len(named) == 1 else None

    def of(self, tool: str, order_id: str | None = None) -> list[Result]:
        """Results of a tool since the person last spoke; with `order_id`, those about that order."""
        return [
            result
            for result in self.results
            if result.name == tool and (order_id is None or result.call.input.get("order_id") == order_id)
        ]


def read(request: Request) -> Talk:
    """
    Read a request.

    Results that came together with a text count as said after it: the person spoke while the tools were at work.
    """
    said: list[str] = []
    new = before = 0
    for message in request.messages:
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if text.strip():
            said.append(text)
            before, new = before + new, 0
        new += sum(block.get("type") == "tool_result" for block in blocks)
    return Talk(said, request.results[before:], request.results[:before])


def _identifiers(text: str) -> dict[str, str]:
    if found := _EMAIL.search(text):
        return {"email": found[0].rstrip(".")}
    if found := _CUSTOMER_ID.search(text):
        return {"customer_id": found[0]}
    if found := _NAME.search(text):
        return {"name": found[1]}
    return {}
