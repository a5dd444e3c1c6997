from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.simulator import (
    BrainMistake,
    Canned,
    CleanEnd,
    HttpError,
    Reply,
    Request,
    Rules,
    Script,
    Simulator,
    call,
    raw,
    say,
    think,
    when_result,
    when_said,
)
from relevo.simulator.__main__ import brain_of
from relevo.simulator.brains.sample import sample
from relevo.simulator.schemas import fits

from .asking import ask, made, request, result, text, tool

YAML = """
steps:
  - think: First the customer.
    say: I will look.
    calls:
      - tool: get_order
        input: {id: 7}
        id: toolu_one
  - content:
      - call: get_order
      - type: hologram
        depth: 3
    stop_reason: teleported
    usage: {output_tokens: 9}
    fault: {end: {at: message_delta}}
  - fault: 529
"""


def asked(*turns: Any, **more: Any) -> Request:
    return Request(request(*turns, **more), {})


def test_a_script_file_says_the_same_as_python(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(YAML)

    assert Script.read(file).steps == (
        think("First the customer.") + say("I will look.") + call("get_order", {"id": 7}, id="toolu_one"),
        (call("get_order") + raw({"type": "hologram", "depth": 3})).but(
            stop_reason="teleported", usage={"output_tokens": 9}, fault=CleanEnd("message_delta")
        ),
        Reply(fault=HttpError(529)),
    )


@pytest.mark.parametrize("step", [{"sing": "la"}, {"content": [{"hum": "m"}]}], ids=["step", "block"])
def test_an_unknown_word_in_a_script_is_named(step: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"sing|hum"):
        Script([step])


def test_a_file_without_steps_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text("7")

    with pytest.raises(ValueError, match="no list of steps"):
        Script.read(file)


def test_a_script_that_runs_out_says_what_came() -> None:
    script = Script(["one"])
    script.answer(asked("Hi"))

    with pytest.raises(BrainMistake, match="unexpected request 1"):
        script.answer(asked("What now?"))


def test_a_script_knows_what_nobody_asked_for() -> None:
    script = Script(["one", "two"])
    script.answer(asked())

    assert script.unused == 1
    with pytest.raises(AssertionError, match="1 of 2"):
        script.finish()


def test_each_conversation_can_play_the_script_for_itself() -> None:
    script = Script(["one", lambda request: f"turn {request.turn}"], per_conversation=True)

    assert [script.answer(asked(opening)) for opening in ("A", "B")] == ["one", "one"]
    assert script.answer(asked("A", "one", "more")) == "turn 2"
    assert script.unused == 1


async def test_a_brain_may_be_a_function_that_waits() -> None:
    async def brain(request: Request) -> str:
        return f"{request.last_user_text}!"

    assert (await ask(Simulator(brain), request("Hi"))).json["content"] == [text("Hi!")]


async def test_a_brain_that_answers_nonsense_is_told_so() -> None:
    brain: Any = lambda _: 7  # noqa: E731

    assert (await ask(Simulator(brain), request())).status == 500


def test_a_request_answers_what_a_brain_asks() -> None:
    body = asked(
        "First",
        [text("ok"), made("toolu_1", input={"id": 1}), made("toolu_2", "other")],
        [result("toolu_1", "one"), result("toolu_2", [text("two")], is_error=True), text("and hurry")],
        system=[text("Be.")],
        tools=[tool(), tool("other")],
    )

    assert body.tool_names == ("get_order", "other")
    assert (body.turn, body.system, body.first_user_text, body.last_user_text) == (2, "Be.", "First", "and hurry")
    assert [(one.name, one.text, one.is_error) for one in body.new_results] == [
        ("get_order", "one", False),
        ("other", "two", True),
    ]
    assert body.results_of("get_order")[0].call.input == {"id": 1}


def test_rules_are_asked_in_order_and_the_last_word_is_otherwise() -> None:
    brain = Rules(
        [
            when_result("get_order", then=lambda request: f"Order: {request.new_results[0].text}"),
            when_said("order", then=lambda _: call("get_order", {"id": 7})),
        ],
        otherwise="What?",
    )

    assert brain.answer(asked("Where is my ORDER?")) == call("get_order", {"id": 7})
    assert brain.answer(asked("order", [made()], [result(content="sent")])) == say("Order: sent")
    assert brain.answer(asked("Hello")) == say("What?")
    with pytest.raises(BrainMistake):
        Rules([], otherwise=None).answer(asked())


def test_the_command_line_names_brains(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text("[]")

    assert isinstance(brain_of("canned"), Canned)
    assert isinstance(brain_of("canned", script=str(file)), Script)
    with pytest.raises(ValueError, match="oracle"):
        brain_of("oracle")


schemas = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "minLength": 9},
            {"type": "integer", "minimum": 4},
            {"type": "number", "maximum": -2},
            {"type": "boolean"},
            {"type": "null"},
            {"enum": ["x", 1]},
            {"const": 5},
            {"type": ["null", "string"]},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items, "minItems": 1}, inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda fields: {
                "type": "object",
                "properties": fields,
                "required": list(fields),
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        ),
    ),
    max_leaves=6,
)


@given(schemas)
def test_the_sample_of_a_schema_fits_it(schema: dict[str, Any]) -> None:
    assert fits(sample(schema), schema)
