"""What the table says of models."""

from __future__ import annotations

from typing import get_args

import pytest
from anthropic.types.model_param import ModelParam
from hypothesis import given
from hypothesis import strategies as st

from relevo.model.capabilities import (
    EFFORTS,
    MODELS,
    THINKING_MODES,
    UNKNOWN,
    capabilities,
    default_max_tokens,
    default_thinking,
    max_output,
    plain_id,
)

NAMED = [name for part in get_args(ModelParam) for name in get_args(part)]


@pytest.mark.parametrize("model", NAMED)
def test_every_model_that_the_sdk_names_is_known(model: str) -> None:
    assert capabilities(model).known


@pytest.mark.parametrize(
    ("model", "plain"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-opus-5", "claude-opus-5"),
        ("anthropic/claude-fable-5-2", "claude-fable-5-2"),
        ("claude-mythos-preview", "claude-mythos-preview"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("qwen2.5-coder", "qwen2.5-coder"),
    ],
)
def test_an_id_is_found_in_every_providers_spelling(model: str, plain: str) -> None:
    assert plain_id(model) == plain


@given(st.text())
def test_an_unknown_model_gets_cautious_values(model: str) -> None:
    if model in MODELS:
        return
    can = capabilities("local-" + model)

    assert can is UNKNOWN
    assert (can.window_tokens, can.max_output_tokens, can.known) == (200_000, 8_192, False)
    assert default_thinking("local-" + model) is None


@pytest.mark.parametrize("model", MODELS)
def test_every_row_is_sound(model: str) -> None:
    can = MODELS[model]

    assert set(can.thinking) <= set(THINKING_MODES)
    assert list(can.efforts) == [effort for effort in EFFORTS if effort in can.efforts]
    assert can.default_effort in (can.efforts or (None,))
    assert can.max_output_tokens < can.window_tokens
    assert "adaptive" in can.thinking or can.prefill


@given(st.sampled_from([*MODELS, "unknown"]), st.sampled_from([None, *EFFORTS]))
def test_the_default_room_fits_the_model_and_hard_thinking_gets_64k(model: str, effort: str | None) -> None:
    room = default_max_tokens(model, effort)

    assert 0 < room <= max_output(model)
    if effort in ("xhigh", "max"):
        assert room == min(64_000, max_output(model))


def test_old_models_are_not_asked_to_think_adaptively() -> None:
    assert default_thinking("claude-haiku-4-5") is None
    assert default_thinking("claude-opus-5-5") == "adaptive"
