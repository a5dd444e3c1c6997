"""Every stop reason has its meaning, also the one nobody knows yet."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from anthropic.types import StopReason
from anthropic.types.beta import BetaStopReason
from hypothesis import given
from hypothesis import strategies as st

from relevo.stops import STOP_REASONS, Reading, holds_back, read

TEXT = {"type": "text", "text": "hello"}
BLANK = {"type": "text", "text": " \n"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
BLOCKS = st.lists(st.sampled_from([TEXT, BLANK, THOUGHT, CALL, SERVER, FOUND, {"type": "mystery"}, {}]))


def answer(stop: Any, *content: Any) -> dict[str, Any]:
    return {"stop_reason": stop, "content": list(content)}


def test_law_5_the_table_is_the_sdks_list() -> None:
    assert set(STOP_REASONS) == set(get_args(BetaStopReason))
    assert set(get_args(StopReason)) <= set(STOP_REASONS)


@pytest.mark.parametrize("stop", [None, "", "brand_new_reason", "END_TURN", "None", 7, [], {}])
@given(content=BLOCKS)
def test_B068_a_reason_nobody_knows_is_never_success(stop: Any, content: list[Any]) -> None:
    assert read(answer(stop, *content)) is Reading.UNSUPPORTED


@given(st.sampled_from([*STOP_REASONS, "brand_new", None]), BLOCKS)
def test_nothing_is_run_of_an_answer_that_did_not_hand_over(stop: str | None, content: list[Any]) -> None:
    runs = read(answer(stop, *content)) is Reading.CALLS

    assert runs == (stop in ("tool_use", "pause_turn", "compaction") and CALL in content)


@given(st.sampled_from(["end_turn", "stop_sequence"]), BLOCKS)
def test_B041_a_finished_turn_is_read_by_what_it_holds(stop: str, content: list[Any]) -> None:
    reading = read(answer(stop, *content))

    says = any(block not in (BLANK, THOUGHT) for block in content)
    assert reading is (Reading.STRAY_CALLS if CALL in content else Reading.DONE if says else Reading.EMPTY)


@pytest.mark.parametrize(
    ("stop", "content", "reading"),
    [
        ("end_turn", [TEXT], Reading.DONE),
        ("stop_sequence", [TEXT], Reading.DONE),
        ("end_turn", [], Reading.EMPTY),
        ("end_turn", [THOUGHT, BLANK], Reading.EMPTY),
        ("tool_use", [TEXT, CALL], Reading.CALLS),
        ("tool_use", [TEXT], Reading.DONE),
        ("tool_use", [], Reading.EMPTY),
        ("pause_turn", [SERVER], Reading.PAUSED),
        ("pause_turn", [], Reading.PAUSED),
        ("compaction", [{"type": "compaction", "content": "x"}], Reading.PAUSED),
        ("max_tokens", [TEXT, CALL], Reading.CUT),
        ("max_tokens", [], Reading.CUT),
        ("refusal", [TEXT, CALL], Reading.REFUSED),
        ("model_context_window_exceeded", [TEXT, CALL], Reading.CONTEXT_FULL),
    ],
)
def test_tutorial_1_1_each_reason_and_content_has_its_reading(stop: str, content: list[Any], reading: Reading) -> None:
    assert read(answer(stop, *content)) is reading


def test_an_answer_without_content_is_read() -> None:
    assert read({"stop_reason": "end_turn"}) is Reading.EMPTY
    assert read({"stop_reason": "tool_use", "content": None}) is Reading.EMPTY
    assert read({}) is Reading.UNSUPPORTED


@pytest.mark.parametrize(
    ("stop", "content", "holds"),
    [
        ("tool_use", [SERVER, CALL], True),
        ("tool_use", [SERVER, FOUND, CALL], False),
        ("tool_use", [FOUND, SERVER, CALL], False),
        ("end_turn", [SERVER, CALL], True),
        ("pause_turn", [SERVER], True),
        ("pause_turn", [{**SERVER, "type": "mcp_tool_use"}], True),
        ("pause_turn", [SERVER, FOUND], False),
        ("pause_turn", [TEXT], False),
        ("end_turn", [SERVER, TEXT], False),
        ("max_tokens", [SERVER], False),
        ("refusal", [SERVER], False),
        ("model_context_window_exceeded", [SERVER], False),
        ("brand_new", [SERVER], False),
        ("end_turn", [], False),
    ],
)
def test_text_waits_only_while_a_server_tool_of_a_turn_that_goes_on_is_open(
    stop: str, content: list[Any], holds: bool
) -> None:
    assert holds_back(answer(stop, *content)) is holds
