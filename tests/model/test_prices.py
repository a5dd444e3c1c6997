"""What answers cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from relevo.model.capabilities import MODELS
from relevo.model.prices import PRICES, cost

MILLION = {"input_tokens": 1_000_000, "output_tokens": 1_000_000}


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-fable-5-2", "48"),
        ("claude-opus-5-5", "24"),
        ("claude-sonnet-5-5", "12"),
        ("claude-haiku-4-5-20251001", "6"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "30"),
    ],
)
def test_a_million_tokens_in_and_out_cost_what_the_page_says(model: str, dollars: str) -> None:
    assert cost(MILLION, model) == Decimal(dollars)


@pytest.mark.parametrize(
    ("usage", "model"),
    [
        (MILLION, "gpt-5"),
        (MILLION, "claude-mythos-preview"),
        (None, "claude-opus-5"),
        ({"output_tokens": 1}, "claude-opus-5"),
        ({**MILLION, "speed": "fast"}, "claude-opus-5"),
        ({"iterations": [{**MILLION, "model": "who"}]}, "claude-opus-5"),
    ],
)
def test_an_unknown_price_is_none_and_never_zero(usage: dict[str, Any] | None, model: str) -> None:
    assert cost(usage, model) is None


def test_a_cache_write_of_an_hour_costs_twice_the_input_and_of_five_minutes_a_quarter_more_b109() -> None:
    split = {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 1000}
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation": split, "cache_creation_input_tokens": 2000}

    assert cost(usage, "claude-opus-5") == Decimal("0.00625") + Decimal("0.01")


@pytest.mark.parametrize(
    ("model", "dollars"),
    [("claude-fable-5-2", "0.2"), ("claude-opus-5-5", "0.2"), ("claude-opus-5", "0.5"), ("claude-sonnet-5-5", "0.1")],
)
def test_reading_the_cache_has_its_own_factor_for_each_model(model: str, dollars: str) -> None:
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 1_000_000}

    assert cost(usage, model) == Decimal(dollars)


@pytest.mark.parametrize(("read", "dollars"), [(99_000, "0.00159"), (99_001, "0.00795005")])
def test_a_long_prompt_raises_the_price_of_all_its_tokens_on_haiku_5_5(read: int, dollars: str) -> None:
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": read, "output_tokens": 1_000}

    assert cost(usage, "claude-haiku-5-5") == Decimal(dollars)


def test_batches_and_places_have_their_factors() -> None:
    assert cost(MILLION, "claude-sonnet-5", batch=True) == Decimal(6)
    assert cost({**MILLION, "service_tier": "batch", "speed": "standard"}, "claude-sonnet-5") == Decimal(6)
    assert cost({**MILLION, "inference_geo": "us"}, "claude-sonnet-5") == Decimal("13.2")
    assert cost({**MILLION, "inference_geo": "global"}, "claude-sonnet-5") == Decimal(12)


def test_every_iteration_is_paid_to_its_own_model_and_searches_once() -> None:
    usage = {
        "iterations": [
            {"type": "message", **MILLION},
            {"type": "advisor_message", "model": "claude-opus-5", **MILLION},
        ],
        "server_tool_use": {"web_search_requests": 3},
        "inference_geo": "us",
    }

    assert cost(usage, "claude-sonnet-5") == (Decimal(12) + Decimal(30)) * Decimal("1.1") + Decimal("0.03")


def test_every_price_belongs_to_a_model_we_know() -> None:
    assert set(PRICES) <= set(MODELS)
