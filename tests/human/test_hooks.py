"""An operator's rules around a call: what they may say, in which order, and that they fail closed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import InvalidAgent
from relevo.human.hooks import (
    Confirm,
    Deny,
    Guide,
    Hook,
    Note,
    Proceed,
    Replace,
    ToolCall,
    Transform,
    after_call,
    before_call,
)
from relevo.state import State
from relevo.tools.context import ToolContext
from relevo.tools.endings import Failed, Returned

STATE = State(session_id="sesn_1")
CALL = ToolCall(
    name="refund", input={"amount": 5}, effect="irreversible", context=ToolContext(session_id="sesn_1", call_id="c")
)
SAYS: Any = st.sampled_from(
    [None, Proceed(), Deny("no"), Guide("ask first"), Confirm("large"), Transform({"amount": 1}), "yes", 1, True]
)


def before(*answers: Any) -> list[Hook]:
    def saying(answer: Any) -> Any:
        return lambda call, state: answer

    return [Hook(name=f"h{n}", before=saying(answer)) for n, answer in enumerate(answers)]


def after(*answers: Any) -> list[Hook]:
    def saying(answer: Any) -> Any:
        return lambda call, ending, state: answer

    return [Hook(name=f"h{n}", after=saying(answer)) for n, answer in enumerate(answers)]


def raising(*_: Any) -> Any:
    raise KeyError("a bug in a rule")


class TestBefore:
    def test_a_hook_that_says_nothing_changes_nothing(self) -> None:
        verdict = before_call(before(None, Proceed()), CALL, STATE)

        assert (verdict.input, verdict.denied, verdict.confirm) == (CALL.input, None, None)

    def test_the_first_denial_has_the_last_word(self) -> None:
        asked: list[str] = []
        hooks = [*before(Deny("no"), Guide("other")), Hook(name="spy", before=lambda call, state: asked.append("spy"))]
        verdict = before_call(hooks, CALL, STATE)

        assert verdict.denied == Deny("no")
        assert asked == []

    def test_a_hook_sees_what_the_ones_before_it_left(self) -> None:
        seen: list[Any] = []
        hooks = [
            *before(Transform({"amount": 1})),
            Hook(name="spy", before=lambda call, state: seen.append(dict(call.input))),
        ]
        verdict = before_call(hooks, CALL, STATE)

        assert seen == [{"amount": 1}]
        assert verdict.input == {"amount": 1}

    @pytest.mark.parametrize("answer", [True, "allow", 1, {"amount": 1}, Note("n"), Replace("r")])
    def test_an_answer_that_no_hook_may_give_denies(self, answer: Any) -> None:
        assert isinstance(before_call(before(answer), CALL, STATE).denied, Deny)

    def test_a_hook_that_raises_denies_without_saying_what_it_knew(self) -> None:
        denied = before_call([Hook(name="limit", before=raising)], CALL, STATE).denied

        assert isinstance(denied, Deny)
        assert "limit" in denied.reason
        assert "bug in a rule" not in denied.reason

    @pytest.mark.parametrize("value", [{"amount": object()}, {1: 2}, {"a": float("nan")}, None, [("a",)]])
    def test_an_input_that_is_no_json_denies(self, value: Any) -> None:
        assert isinstance(before_call(before(Transform(value)), CALL, STATE).denied, Deny)

    @given(st.lists(SAYS, max_size=5))
    def test_what_a_person_settled_is_neither_changed_nor_asked_about_again_but_may_be_denied(
        self, answers: list[Any]
    ) -> None:
        new, settled = (before_call(before(*answers), CALL, STATE, settled=each) for each in (False, True))

        assert settled.input == CALL.input
        assert settled.confirm is None
        assert settled.denied == new.denied

    def test_only_the_tools_it_is_about_are_judged(self) -> None:
        hook = Hook(name="h", before=lambda call, state: Deny("no"), tools={"pay"})

        assert before_call([hook], CALL, STATE).denied is None


class TestAfter:
    def test_a_replaced_result_is_what_model_and_programs_see(self) -> None:
        ending, notes = after_call(
            after(Replace("hidden", {"card": None})),
            CALL,
            Returned("4111 1111", {"card": "4111"}),
            STATE,
            max_chars=999,
        )

        assert ending == Returned("hidden", {"card": None})
        assert notes == []

    def test_notes_are_kept_in_order(self) -> None:
        ending, notes = after_call(after(Note("one"), None, Note("two")), CALL, Returned("r"), STATE, max_chars=999)

        assert (ending, notes) == (Returned("r"), ["one", "two"])

    @pytest.mark.parametrize("hook", [Hook(name="h", after=raising), *after(Deny("no"), True, Transform({}))])
    def test_a_hook_that_fails_hides_the_result_and_says_that_it_happened(self, hook: Hook) -> None:
        ending, _ = after_call([hook], CALL, Returned("4111 1111"), STATE, max_chars=999)

        assert isinstance(ending, Failed)
        assert (ending.code, ending.outcome) == ("hook_failed", "executed")
        assert "4111" not in ending.content

    def test_a_failure_hidden_keeps_what_became_of_the_effect(self) -> None:
        failure = Failed(message="Bang.", category="internal", outcome="unknown")
        ending, _ = after_call([Hook(name="h", after=raising)], CALL, failure, STATE, max_chars=999)

        assert isinstance(ending, Failed)
        assert ending.outcome == "unknown"

    def test_a_replacement_is_cut_like_any_result(self) -> None:
        ending, _ = after_call(after(Replace("x" * 5_000)), CALL, Returned("r"), STATE, max_chars=400)

        assert len(str(ending.content)) <= 400


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": " "}, {"name": "h"}, {"name": "h", "before": raising, "tools": "refund"}]
)
def test_a_hook_that_cannot_work_is_refused_when_it_is_made(wrong: Any) -> None:
    with pytest.raises(InvalidAgent):
        Hook(**wrong)
