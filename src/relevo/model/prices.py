"""
What an answer costs, in US dollars.

A dated table of list prices per million tokens, exact in Decimal. A model, or a speed, that is not in it has an
unknown price: None, never 0.

Why not a library: genai-prices 0.2.3 (MIT, well kept) knows all of this and more, but brings a second HTTP client and
1.7 MB of other vendors' prices, and prices one request, not the iterations of an answer. The table was checked against
it. Sources: platform.claude.com pricing and prompt caching pages, read 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from relevo.model.capabilities import plain_id
from relevo.model.usage import Usage, read_shares

AS_OF = "2026-12-01"

_MILLION = Decimal(1_000_000)
BATCH = Decimal("0.5")
GEOGRAPHY = {"us": Decimal("1.1")}
"""Factor by `inference_geo`; others cost the plain price."""
WEB_SEARCH = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens, for prompts of more than `above_tokens`."""

    input: Decimal
    output: Decimal
    read_factor: Decimal
    """Of the input price, for tokens read from the cache. It differs from model to model."""
    above_tokens: int = 0

    def of(self, usage: Usage) -> Decimal:
        """Writes cost 1.25 times the input for five minutes, twice for an hour."""
        read = usage.input_tokens + usage.cache_read_tokens * self.read_factor
        written = usage.cache_write_5m_tokens * Decimal("1.25") + usage.cache_write_1h_tokens * 2
        return ((read + written) * self.input + usage.output_tokens * self.output) / _MILLION


def _price(entry: str, out: str, read: str = "0.1", above_tokens: int = 0) -> Price:
    return Price(Decimal(entry), Decimal(out), Decimal(read), above_tokens)


# The last tier whose `above_tokens` the prompt exceeds holds for every token of the request.
PRICES: dict[str, tuple[Price, ...]] = {
    "claude-fable-5-2": (_price("8", "40", "0.025"),),
    "claude-mythos-5-2": (_price("8", "40", "0.025"),),
    "claude-fable-5-1": (_price("10", "50", "0.025"),),
    "claude-fable-5": (_price("10", "50"),),
    "claude-opus-5-5": (_price("4", "20", "0.05"),),
    "claude-opus-5": (_price("5", "25"),),
    "claude-opus-4-8": (_price("5", "25"),),
    "claude-opus-4-7": (_price("5", "25"),),
    "claude-opus-4-6": (_price("5", "25"),),
    "claude-opus-4-5": (_price("5", "25"),),
    "claude-sonnet-5-5": (_price("2", "10", "0.05"),),
    "claude-sonnet-5": (_price("2", "10"),),
    "claude-sonnet-4-6": (_price("3", "15"),),
    "claude-sonnet-4-5": (_price("3", "15"), _price("6", "22.5", above_tokens=200_000)),
    "claude-haiku-5-5": (_price("0.1", "0.5"), _price("0.5", "2.5", above_tokens=100_000)),
    "claude-haiku-4-5": (_price("1", "5"),),
}


def price(model: str, prompt_tokens: int = 0) -> Price | None:
    """What a request of this size to `model` costs per token; None when we do not know."""
    tiers = PRICES.get(plain_id(model))
    if tiers is None:
        return None
    return next((tier for tier in reversed(tiers) if prompt_tokens > tier.above_tokens), tiers[0])


def cost(usage: Mapping[str, Any] | None, model: str, *, batch: bool = False) -> Decimal | None:
    """
    Dollars for the `usage` object of one answer by `model`; None when the tokens or a price are unknown.

    Every iteration is priced by its own model and its own size. `inference_geo` and `service_tier` are read from the
    usage itself.
    """
    shares = read_shares(usage, model)
    if shares is None or usage is None or usage.get("speed") not in (None, "standard"):
        return None
    factor = GEOGRAPHY.get(str(usage.get("inference_geo")), Decimal(1))
    if batch or usage.get("service_tier") == "batch":
        factor *= BATCH
    total = Decimal(0)
    for who, share in shares:
        at = price(who, share.prompt_tokens)
        if at is None:
            return None
        total += at.of(share) * factor + share.web_searches * WEB_SEARCH
    return total
