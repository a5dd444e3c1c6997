"""How a turn can end, there and back."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.outcome import (
    AwaitingAction,
    ContextFull,
    Empty,
    Ended,
    Interrupted,
    Limit,
    LimitReached,
    ModelUnavailable,
    Outcome,
    Refused,
    Truncated,
    UnsupportedStop,
    from_wire,
    to_wire,
)

words = st.text(st.characters(codec="utf-8"), max_size=8)
maybe = st.none() | words
errors = st.dictionaries(words, st.none() | st.integers() | words | st.lists(st.integers()), max_size=3)

outcomes: st.SearchStrategy[Any] = st.one_of(
    st.builds(Ended, text=words, stop_sequence=maybe),
    st.builds(AwaitingAction, text=words, event_ids=st.lists(words).map(tuple)),
    st.builds(Refused, text=words, category=maybe, explanation=maybe),
    st.builds(Truncated, text=words),
    st.builds(Empty, text=words),
    st.builds(ContextFull, text=words),
    st.builds(LimitReached, text=words, limit=st.sampled_from(get_args(Limit))),
    st.builds(ModelUnavailable, text=words, error=errors),
    st.builds(Interrupted, text=words, reason=maybe),
    st.builds(UnsupportedStop, text=words, stop_reason=words),
)


def test_every_outcome_is_tried() -> None:
    assert {kind.type for kind in get_args(Outcome)} == {
        "end_turn",
        "requires_action",
        "refusal",
        "max_tokens",
        "empty",
        "context_full",
        "limit_reached",
        "retries_exhausted",
        "interrupted",
        "unsupported_stop",
    }


@given(outcomes)
def test_what_was_written_is_read(outcome: Any) -> None:
    stored = json.loads(json.dumps(to_wire(outcome)))

    assert from_wire(stored, outcome.text) == outcome


@given(outcomes)
def test_the_text_stays_where_it_was_said(outcome: Any) -> None:
    assert "text" not in to_wire(outcome)


@given(words, words)
def test_B068_a_type_from_a_newer_machine_is_not_success(kind: str, text: str) -> None:
    known = {each.type for each in get_args(Outcome)}

    outcome = from_wire({"type": f"new_{kind}"}, text)

    assert f"new_{kind}" not in known
    assert outcome == UnsupportedStop(stop_reason=f"new_{kind}", text=text)


@pytest.mark.parametrize("kind", ["requires_action", "limit_reached", "unsupported_stop"])
def test_one_that_does_not_say_what_it_must_is_unsupported(kind: str) -> None:
    assert isinstance(from_wire({"type": kind}, "so far"), UnsupportedStop)


def test_fields_from_a_newer_machine_are_left_out() -> None:
    assert from_wire({"type": "end_turn", "mood": "good", "text": "not this"}, "this") == Ended(text="this")


@pytest.mark.parametrize("junk", [{}, {"type": None}, {"type": 3}, {"type": []}, {"kind": "end_turn"}])
def test_reading_never_raises(junk: Any) -> None:
    assert isinstance(from_wire(junk, ""), UnsupportedStop)
