"""The rules that a request must keep, held against the simulator's, which were written from the same documents only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relevo.context.validate import Validator
from relevo.simulator import MODELS
from relevo.simulator.validate import Rulebook
from relevo.simulator.verdict import Verdict

RULES = Rulebook(models={model.id: model for model in MODELS})
TOOL = {"name": "look", "input_schema": {"type": "object"}}
OURS = {"M1", "M2", "M5", "M6", "M7", "M8", "M9", "M10", "M11", "M12", "M13", "M16", "M17", "M19"}
"""Rules that both judge. M14, M15 and M22 are about the last message, and the projection sees to them."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(tool_use_id: Any, name: Any = "look", given_: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": {} if given_ is None else given_}


def result(tool_use_id: str, content: Any = "fine") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def ours(messages: Sequence[dict[str, Any]], *, paused: bool = False) -> list[str]:
    validator = Validator()
    wrong = [each for message in messages for each in validator.admit(message)]
    validator.server_open = paused
    return wrong + validator.ready()


def theirs(messages: Sequence[dict[str, Any]]) -> list[str]:
    verdict = Verdict(body={"model": "claude-sonnet-5", "max_tokens": 9, "tools": [TOOL], "messages": list(messages)})
    RULES.message(verdict)
    return [each.rule for each in verdict.violations if each.rule in OURS]


calls = st.sampled_from(["a", "b", "c"]).map(call)
results = st.sampled_from(["a", "b", "c"]).map(result)
words = st.sampled_from(["hello", "hello", "", " "]).map(text)
messages = st.lists(
    st.one_of(
        st.lists(st.one_of(words, results, results, st.just(IMAGE), calls), max_size=3).map(lambda b: user(*b)),
        st.lists(st.one_of(words, calls, calls, st.just(THOUGHT), results), max_size=3).map(lambda b: assistant(*b)),
    ),
    max_size=5,
)


@settings(max_examples=500)
@given(messages)
def test_what_we_let_pass_the_simulator_lets_pass(messages: list[Any]) -> None:
    if not ours([user(text("hello")), *messages, user(text("and?"))]):
        assert theirs([user(text("hello")), *messages, user(text("and?"))]) == []


@settings(max_examples=500)
@given(st.data())
def test_legal_rounds_of_any_kind_pass_both(data: st.DataObject) -> None:
    conversation = [user(text("hello"))]
    for number in range(data.draw(st.integers(0, 4))):
        ids = [f"toolu_{number}_{place}" for place in range(data.draw(st.integers(0, 3)))]
        said = [THOUGHT, *map(call, ids)] if ids else [text("well")]
        conversation.append(assistant(*data.draw(st.permutations(said))))
        answers = [*map(result, data.draw(st.permutations(ids)))]
        more = data.draw(st.lists(st.sampled_from([text("and?"), IMAGE]), min_size=0 if ids else 1, max_size=2))
        split = data.draw(st.booleans())
        conversation += [user(*answers), user(*more)] if split and answers and more else [user(*answers, *more)]

    assert ours(conversation) == []
    assert theirs(conversation) == []


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "no message"),
        ([assistant(text("hello"))], "must be the user's"),
        ([user(text("hi")), assistant(text("hello"))], "last message"),
        ([{"role": "system", "content": "x"}], "neither user nor assistant"),
        ([user()], "no content"),
        ([{"role": "user"}], "no content"),
        ([user(text(""))], "blank"),
        ([user(text(" \n"))], "blank"),
        ([user({"type": "text"})], "blank"),
        ([user(call("a"))], "a tool_use block in a user message"),
        ([user(THOUGHT)], "a thinking block in a user message"),
        ([user(text("hi")), assistant(result("a")), user(text("x"))], "a tool_result block in an assistant message"),
        ([user(text("hi")), assistant(IMAGE), user(text("x"))], "an image|a image block in an assistant message"),
        ([user(text("hi")), assistant(call("a")), user(text("x"))], "without a result: a"),
        ([user(text("hi")), assistant(call("a"), call("b")), user(result("a"))], "without a result: b"),
        ([user(text("hi")), assistant(call("a"))], "without a result: a"),
        ([user(text("hi")), assistant(call("a")), user(text("x"), result("a"))], "before the results of a"),
        ([user(text("hi")), assistant(call("a")), user(result("a"), result("a"))], "nobody asked for here"),
        ([user(result("a"))], "nobody asked for here"),
        ([user(text("hi")), assistant(call("a"), call("a")), user(result("a"))], "stands twice"),
        ([user(text("hi")), assistant(call("")), user(result(""))], "id '' is not of the allowed form"),
        ([user(text("hi")), assistant(call("a\n")), user(result("a\n"))], "not of the allowed form"),
        ([user(text("hi")), assistant(call(None)), user(text("x"))], "not of the allowed form"),
        ([user(text("hi")), assistant(call("a", name="a b")), user(result("a"))], "name 'a b'"),
        ([user(text("hi")), assistant(call("a", given_=[])), user(result("a"))], "not an object"),
        ([user(text("hi")), assistant(call("a")), user(result("a", [call("b")]))], "in a tool result"),
        ([user(text("hi")), assistant(call("a")), user(result("a", [text("")]))], "blank"),
    ],
)
def test_a_broken_rule_is_named(messages: list[Any], complaint: str) -> None:
    assert any(part in each for each in ours(messages) for part in complaint.split("|"))


def test_B013_a_result_whose_call_was_cut_away_is_an_orphan() -> None:
    assert ours([user(result("toolu_A")), assistant(text("ok")), user(text("next"))])
    assert "M6" in theirs([user(result("toolu_A")), assistant(text("ok")), user(text("next"))])


def test_B001_a_missing_result_is_seen_before_anything_is_sent() -> None:
    broken = [user(text("go")), assistant(call("t1"), call("t2")), user(result("t1")), user(text("carry on"))]

    assert ours(broken)
    assert "M5" in theirs(broken)


def test_B029_a_result_needs_no_content() -> None:
    bare = {"type": "tool_result", "tool_use_id": "a"}

    assert ours([user(text("hi")), assistant(call("a")), user(bare)]) == []


def test_a_plain_string_is_content() -> None:
    assert ours([{"role": "user", "content": "hello"}]) == []


def test_a_paused_turn_may_stand_last() -> None:
    server = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}

    assert ours([user(text("hi")), assistant(server)], paused=True) == []
    assert ours([user(text("hi")), assistant(server)]) != []
