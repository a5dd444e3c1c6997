"""What shapes a request, checked before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from relevo.errors import InvalidValue
from relevo.model.settings import NOT_EXTRA, Settings


def parameters(**settings: Any) -> dict[str, Any]:
    return Settings(**{"model": "claude-opus-5-5", **settings}).parameters()


def test_nothing_is_sent_that_nobody_asked_for() -> None:
    assert parameters(thinking=None) == {"model": "claude-opus-5-5"}
    assert parameters(model="qwen") == {"model": "qwen"}


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("default", {"type": "adaptive"}),
        ("adaptive", {"type": "adaptive"}),
        ({"type": "adaptive", "display": "summarized"}, {"type": "adaptive", "display": "summarized"}),
    ],
)
def test_thinking_is_adaptive_unless_told_otherwise(thinking: Any, sent: Any) -> None:
    assert parameters(thinking=thinking)["thinking"] == sent


def test_every_setting_has_its_place_on_the_wire() -> None:
    body = parameters(
        system="Be kind.",
        tools=[{"name": "b", "input_schema": {}}, {"name": "a", "input_schema": {}}],
        effort="max",
        tool_choice={"type": "auto"},
        stop_sequences=["END"],
        user_id="u1",
        extra={"service_tier": "auto", "output_config": {"format": {"type": "json_schema"}}},
    )

    assert body == {
        "model": "claude-opus-5-5",
        "system": [{"type": "text", "text": "Be kind."}],
        "tools": [{"name": "b", "input_schema": {}}, {"name": "a", "input_schema": {}}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "adaptive"},
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u1"},
        "service_tier": "auto",
        "output_config": {"effort": "max", "format": {"type": "json_schema"}},
    }


def test_betas_are_merged_unique_and_sorted_b276() -> None:
    assert Settings(model="m", betas=("b", "a", "b")).betas == ("a", "b")


@pytest.mark.parametrize("name", ["temprature", "betas_", "max_token"])
def test_an_unknown_option_is_refused_early_b276(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        parameters(**{name: 1})


@pytest.mark.parametrize("name", NOT_EXTRA)
def test_extra_cannot_smuggle_what_has_a_place_or_none_b276(name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        Settings(model="m", extra={name: 1})


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"model": ""}, "model"),
        ({"effort": "extreme"}, "extreme"),
        ({"model": "claude-haiku-4-5", "effort": "high"}, "none"),
        ({"model": "claude-opus-4-6", "effort": "xhigh"}, "low, medium, high, max"),
        ({"model": "qwen", "effort": "extreme"}, "extreme"),
        ({"thinking": "disabled"}, "adaptive"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "enabled"),
        ({"model": "qwen", "thinking": "deep"}, "deep"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"extra": {"output_config": {"effort": "low"}}}, "effort"),
        ({"tools": [{"name": object()}]}, "JSON"),
        ({"extra": {"x": float("nan")}}, "JSON"),
    ],
)
def test_what_the_model_is_known_to_refuse_is_refused_here(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidValue, match=word):
        parameters(**settings)


def test_a_model_we_do_not_know_gets_what_the_caller_asks_for() -> None:
    body = parameters(model="qwen", effort="low", thinking="enabled", tool_choice={"type": "any"})

    assert (body["output_config"], body["thinking"]) == ({"effort": "low"}, {"type": "enabled"})


def test_system_blocks_that_say_nothing_are_dropped_b104() -> None:
    assert "system" not in parameters(system=" ")
    assert parameters(system=[{"type": "text", "text": ""}, {"type": "text", "text": "a"}])["system"] == [
        {"type": "text", "text": "a"}
    ]
