"""The model is told that it goes in circles, in time and not before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import Call
from relevo.fold import call_hash, result_hash
from relevo.loop.repeats import note_for
from relevo.state import State, Turn

CALL = Call("c1", "toolu_1", "look", {"a": 1, "b": 2}, 0)


def after(times: int, content: Any = "same", *, is_error: bool = False) -> State:
    """A session in which the call gave this result so often in a row."""
    repeats = {call_hash(CALL): (result_hash(content, is_error=is_error), times)}
    return State(session_id="sesn_1", turn=Turn(repeats=repeats))


@pytest.mark.parametrize(("cap", "first"), [(1, 2), (2, 2), (3, 2), (4, 2), (5, 3), (10, 8)])
def test_B243_the_first_note_comes_two_before_the_cap_but_never_for_a_single_result(cap: int, first: int) -> None:
    noted = [times for times in range(1, 12) if note_for(after(times - 1), CALL, "same", is_error=False, cap=cap)]

    assert noted[0] == first


@given(st.integers(0, 50))
def test_without_a_cap_nothing_is_said(times: int) -> None:
    assert note_for(after(times), CALL, "same", is_error=False, cap=None) is None


@given(st.integers(2, 50), st.integers(1, 50))
def test_a_note_tells_how_often_and_when_it_ends(times: int, cap: int) -> None:
    note = note_for(after(times - 1), CALL, "same", is_error=False, cap=cap)

    assert note is None or (f"{times} times" in note and f"at {cap} " in note)


def test_B243_another_result_or_another_kind_of_result_begins_anew() -> None:
    assert note_for(after(9), CALL, "other", is_error=False, cap=5) is None
    assert note_for(after(9), CALL, "same", is_error=True, cap=5) is None


def test_B243_another_input_is_another_call_and_the_order_of_keys_is_not() -> None:
    assert note_for(after(9), replace(CALL, input={"a": 1}), "same", is_error=False, cap=5) is None
    assert note_for(after(9), replace(CALL, input={"b": 2, "a": 1}), "same", is_error=False, cap=5) is not None


def test_B243_the_models_id_for_the_call_does_not_count() -> None:
    assert note_for(after(9), replace(CALL, tool_use_id="toolu_2", id="c2"), "same", is_error=False, cap=5) is not None
