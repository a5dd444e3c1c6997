"""Counting tokens."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.model.answer import Answer
from relevo.model.usage import Usage, context_tokens, read_shares, read_usage

USAGES = st.builds(Usage, **{field.name: st.integers(0, 10**9) for field in fields(Usage)})
RUBBISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["input_tokens", "output_tokens", "iterations", "cache_creation", "server_tool_use", "model", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)

COMPACTED = {
    "input_tokens": 2_000,
    "output_tokens": 100,
    "iterations": [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "cache_read_input_tokens": 1_000, "output_tokens": 1_000},
        {"type": "advisor_message", "model": "claude-fable-5", "input_tokens": 500, "output_tokens": 50},
    ],
    "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": None},
    "output_tokens_details": {"thinking_tokens": 40},
}


@given(USAGES, USAGES, USAGES)
def test_adding_is_associative_and_leaves_the_summands_alone_b111(a: Usage, b: Usage, c: Usage) -> None:
    before = (repr(a), repr(b), repr(c))

    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Usage() == a
    assert (repr(a), repr(b), repr(c)) == before


@pytest.mark.parametrize("raw", [None, {}, {"input_tokens": None, "output_tokens": None}, [], "x"])
def test_an_answer_without_usage_counts_as_uncounted_b113(raw: Any) -> None:
    assert read_usage(raw) == Usage(answers=1, uncounted=1)
    assert context_tokens(raw) is None


@given(RUBBISH)
def test_strange_usage_is_never_a_crash_b113(raw: Any) -> None:
    assert read_usage(raw).answers == 1
    assert (context_tokens(raw) or 0) >= 0


def test_nulls_and_unknown_keys_beside_the_counts_are_fine() -> None:
    raw = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": None, "new": {"nested": 1}}

    assert read_usage(raw) == Usage(answers=1, input_tokens=10, output_tokens=5)


def test_cache_writes_are_told_apart_by_their_lifetime_b109() -> None:
    split = {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 700}
    raw = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 1000, "cache_creation": split}

    assert read_usage(raw) == Usage(
        answers=1, input_tokens=1, output_tokens=1, cache_write_5m_tokens=300, cache_write_1h_tokens=700
    )
    assert read_usage({**raw, "cache_creation": None}).cache_write_5m_tokens == 1000


def test_the_context_is_filled_once_by_every_token_b108() -> None:
    raw = {
        "input_tokens": 10,
        "cache_read_input_tokens": 90_000,
        "cache_creation_input_tokens": 5_000,
        "output_tokens": 20,
    }

    assert context_tokens(raw) == 95_030
    assert read_usage(raw).prompt_tokens == 95_010


def test_the_bill_is_the_sum_of_the_iterations_and_the_context_is_the_last_message() -> None:
    assert read_usage(COMPACTED) == Usage(
        answers=1,
        input_tokens=203_500,
        output_tokens=4_550,
        cache_read_tokens=1_000,
        thinking_tokens=40,
        web_searches=2,
    )
    assert context_tokens(COMPACTED) == 25_000


def test_each_share_names_the_model_that_sampled_it() -> None:
    shares = read_shares(COMPACTED, "claude-opus-5-5")

    assert shares is not None
    assert [model for model, _ in shares] == ["claude-opus-5-5", "claude-opus-5-5", "claude-fable-5"]


def test_an_answer_reads_its_message() -> None:
    answer = Answer(message={"stop_reason": "end_turn", "content": [{"type": "text"}], "usage": COMPACTED})
    empty = Answer(message={})

    assert (answer.stop_reason, answer.content) == ("end_turn", [{"type": "text"}])
    assert answer.usage == read_usage(COMPACTED)
    assert (empty.stop_reason, empty.content, empty.usage.uncounted) == (None, [], 1)


def test_of_an_answer_whose_output_nobody_counted_the_prompt_is_a_lower_bound() -> None:
    assert read_usage({"input_tokens": 5}) == Usage(answers=1, uncounted=1, input_tokens=5)
    assert context_tokens({"input_tokens": 5}) is None
