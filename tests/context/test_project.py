"""What the model sees, judged by the projection's own rules and by the simulator's, which share no code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relevo.content import calls_of
from relevo.context.project import MAX_INPUT_BYTES, Projection
from relevo.errors import InvalidRequest
from relevo.events import (
    Event,
    LoopNudged,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionUpdated,
    ToolEnded,
    UserMessage,
)
from relevo.phases import Phase
from relevo.simulator import MODELS
from relevo.simulator.validate import Rulebook
from relevo.simulator.verdict import Verdict
from relevo.stops import Reading, read
from tests.worlds import MODEL, OTHER_MODEL, Sent, World, log_of, message, project, soups, state_of, worlds

MANY = settings(max_examples=200)
BETAS = ("compact-2026-01-12", "server-side-fallback-2026-07-01", "mcp-client-2025-11-20")
RULES = Rulebook(models={model.id: model for model in MODELS})

BEGUN = SessionCreated(agent={"name": "helper", "model": MODEL})
ASKED = RequestStarted(model=MODEL, max_tokens=100)
SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def said(*words: str) -> UserMessage:
    return UserMessage(content=[text(each) for each in words])


def call(tool_use_id: Any = "toolu_1", given: Any = None, name: Any = "look") -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": {"key": "a"} if given is None else given}


def answered(*content: Any, stop: str = "end_turn") -> ModelAnswered:
    return ModelAnswered(message=message(content, stop))


def ended(call_id: str, content: Any = "fine", **more: Any) -> ToolEnded:
    return ToolEnded(tool_use_id=call_id, name="look", content=content, **more)


def sent_by(*bodies: Any) -> list[dict[str, Any]]:
    """The messages after these bodies."""
    return [json.loads(each) for each in project(log_of(*bodies)).messages]


def ready(*bodies: Any) -> list[dict[str, Any]]:
    """The messages of the request that these bodies end in, which both judges accept."""
    projection = project(log_of(*bodies))
    projection.check(has_tools=True)
    messages = [json.loads(each) for each in projection.messages]
    assert violations({"model": MODEL, "max_tokens": 9, "tools": [TOOL], "messages": messages}) == []
    return messages


ODD_VALUES: st.SearchStrategy[Any] = st.sampled_from([None, 5, "x", "", [], {}, [1]])
ODD: st.SearchStrategy[Any] = ODD_VALUES | st.fixed_dictionaries(
    {
        "type": ODD_VALUES
        | st.sampled_from(["text", "thinking", "tool_use", "server_tool_use", "x_tool_result", "image"])
    },
    optional=dict.fromkeys(("text", "thinking", "signature", "id", "tool_use_id", "name", "input"), ODD_VALUES),
)

TOOL = {"name": "look", "input_schema": {"type": "object"}}


def violations(body: Any) -> list[str]:
    """The rules of the API that a request breaks. Blocks nobody knows yet go back as they came: they are let pass."""
    verdict = Verdict(body=body, betas=BETAS)
    RULES.message(verdict)
    return [
        f"{each.rule}: {each.message}"
        for each in verdict.violations
        if not (each.rule == "M18" and "'mystery'" in each.message)
    ]


def turns(of: Sent | Projection) -> list[tuple[str, list[dict[str, Any]]]]:
    """Its messages, those of one role in a row joined."""
    joined: list[tuple[str, list[dict[str, Any]]]] = []
    for each in map(json.loads, of.messages):
        if joined and joined[-1][0] == each["role"]:
            joined[-1][1].extend(each["content"])
        else:
            joined.append((each["role"], list(each["content"])))
    return joined


def texts_of(bodies: Iterator[Any]) -> Counter[str]:
    return Counter(block["text"] for blocks in bodies for block in blocks if block["type"] == "text")


class TestEveryWorld:
    @MANY
    @given(worlds())
    def test_every_request_keeps_the_rules_of_an_independent_judge(self, world: World) -> None:
        assert {sent.position: violations(json.loads(sent.body)) for sent in world.sent} == {
            sent.position: [] for sent in world.sent
        }

    @MANY
    @given(worlds(people=0.7, crashes=0.1, failures=0.4))
    def test_B001_also_when_everybody_meddles_and_processes_die_all_the_time(self, world: World) -> None:
        assert [violations(json.loads(sent.body)) for sent in world.sent] == [[] for _ in world.sent]

    @MANY
    @given(worlds())
    def test_the_projection_of_a_shorter_log_is_a_byte_prefix_of_a_longer_ones(self, world: World) -> None:
        whole = project(world.log).messages
        projection = Projection()
        for event in world.log:
            projection.apply(event)

            assert whole[: len(projection.messages)] == projection.messages

    @given(worlds(updates=True, people=0.5))
    def test_only_a_change_of_model_changes_what_was_sent_before(self, world: World) -> None:
        projection = Projection()
        before: list[bytes] = []
        for event in world.log:
            projection.apply(event)
            if not isinstance(event.body, SessionUpdated):
                assert projection.messages[: len(before)] == before
            before = list(projection.messages)

    @given(worlds(updates=True, people=0.5))
    def test_B088_after_a_change_of_model_no_request_holds_thinking_of_another(self, world: World) -> None:
        model = MODEL
        thoughts: dict[str, str] = {}
        for event in world.log:
            match event.body:
                case SessionUpdated(agent=agent) if agent is not None:
                    model = str(agent["model"])
                case ModelAnswered(message=answer):
                    thoughts |= {
                        block["signature"]: model for block in answer["content"] if block["type"] == "thinking"
                    }
                case _:
                    pass

        for sent in world.sent:
            found = [block for _, blocks in turns(sent) for block in blocks if block["type"] == "thinking"]
            assert {thoughts[block["signature"]] for block in found} <= {sent.model}
        assert [violations(json.loads(sent.body)) for sent in world.sent] == [[] for _ in world.sent]

    @MANY
    @given(worlds(chatter=0.9))
    def test_B018_every_call_has_one_result_directly_after_it_first_and_in_the_models_order(self, world: World) -> None:
        for sent in world.sent:
            joined = turns(sent)
            for place, (role, blocks) in enumerate(joined):
                asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
                if role == "assistant":
                    results = joined[place + 1][1][: len(asked)] if asked else []
                    assert [block.get("tool_use_id") for block in results] == asked
                given_ = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
                before = joined[place - 1][1] if place else []
                assert given_ == [block["id"] for block in before if block["type"] == "tool_use" and role == "user"]

    @MANY
    @given(worlds(people=0.6))
    def test_B020_every_message_is_heard_exactly_once_also_an_equal_one(self, world: World) -> None:
        if world.state.phase is not Phase.QUIET or world.state.unheard:
            return
        nudges = [event.body.text for event in world.log if isinstance(event.body, LoopNudged)]
        spoken = texts_of(event.body.content for event in world.log if isinstance(event.body, UserMessage))

        heard = texts_of(blocks for role, blocks in turns(project(world.log)) if role == "user")

        assert heard - Counter(nudges) == spoken

    @MANY
    @given(worlds(people=0.6))
    def test_messages_are_heard_in_the_order_in_which_they_were_said(self, world: World) -> None:
        spoken = [block["text"] for e in world.log if isinstance(e.body, UserMessage) for block in e.body.content[:1]]
        nudges = {event.body.text for event in world.log if isinstance(event.body, LoopNudged)}
        for sent in world.sent:
            heard = [
                block["text"]
                for role, blocks in turns(sent)
                for block in blocks
                if role == "user" and block["type"] == "text" and block["text"] not in nudges
            ]
            assert heard == spoken[: len(heard)]

    @given(worlds(wild=False, chatter=0.8))
    def test_B076_what_the_model_said_goes_back_as_it_came(self, world: World) -> None:
        answers = [event.body.message for event in world.log if isinstance(event.body, ModelAnswered)]
        whole = [each["content"] for each in answers if read(each) in (Reading.DONE, Reading.CALLS, Reading.PAUSED)]
        cut = [block for each in answers for block in each["content"] if each["content"] not in whole]
        for said_ in map(json.loads, world.sent[-1].messages if world.sent else ()):
            if said_["role"] == "assistant" and said_["content"] not in whole:
                assert all(block in cut and block["type"] != "tool_use" for block in said_["content"])

    @given(soups())
    def test_a_soup_gives_messages_or_an_InvalidRequest(self, events: list[Event]) -> None:
        projection = Projection()
        try:
            for event in events:
                projection.apply(event)
            projection.check(has_tools=True)
        except InvalidRequest:
            pass

    @given(worlds())
    def test_the_projection_and_the_fold_agree_on_what_is_open(self, world: World) -> None:
        for place in range(len(world.log)):
            state, memory = state_of(world.log[:place]), project(world.log[:place]).memory

            assert list(state.open) == [each.id for each in memory.calls if each.id not in memory.results]
            assert state.holds_back == memory.holds_back


class TestOrphans:
    def test_B002_text_that_comes_while_a_call_is_open_follows_its_result(self) -> None:
        messages = ready(
            BEGUN,
            said("go"),
            ASKED,
            answered(call(), stop="tool_use"),
            said("continue"),
            ended("sevt_world_4.0"),
            ASKED,
        )

        assert [block["type"] for block in messages[-1]["content"]] == ["tool_result", "text"]

    def test_B002_no_text_while_a_server_tool_of_that_turn_is_open(self) -> None:
        bodies = [
            *(BEGUN, said("go"), ASKED, answered(SERVER, call(), stop="tool_use"), said("continue")),
            *(ended("sevt_world_4.1"), ASKED),
        ]
        assert [block["type"] for block in ready(*bodies)[-1]["content"]] == ["tool_result"]

        later = ready(*bodies, answered(text("found")), ASKED)

        assert later[-1] == {"role": "user", "content": [text("continue")]}

    @given(st.permutations(range(4)))
    def test_B018_results_stand_in_the_models_order_whatever_the_finishing_order(self, order: list[int]) -> None:
        calls = [call(f"toolu_{place}") for place in range(4)]

        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(*calls, stop="tool_use")),
            *(ended(f"sevt_world_4.{place}", f"r{place}") for place in order),
            ASKED,
        )

        assert [block["content"] for block in messages[-1]["content"]] == ["r0", "r1", "r2", "r3"]

    def test_B008_an_id_that_the_model_repeats_is_changed_in_call_and_result(self) -> None:
        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(call("same"), call("same"), stop="tool_use")),
            *(ended("sevt_world_4.1", "second"), ended("sevt_world_4.0", "first"), ASKED),
        )

        first, second = (block["id"] for block in messages[-2]["content"])
        assert first == "same" != second
        assert [(block["tool_use_id"], block["content"]) for block in messages[-1]["content"]] == [
            ("same", "first"),
            (second, "second"),
        ]

    def test_an_id_that_we_would_make_up_may_be_the_models_own_already(self) -> None:
        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(call("toolu_4_1"), call(""), stop="tool_use")),
            *(ended("sevt_world_4.0"), ended("sevt_world_4.1"), ASKED),
        )

        assert len({block["id"] for block in messages[-2]["content"]}) == 2

    @pytest.mark.parametrize("bad", ["", "an id", "tóolu", "id\n", None, 7, {}])
    def test_an_id_that_a_request_may_not_hold_is_replaced(self, bad: Any) -> None:
        ready(BEGUN, said("go"), ASKED, answered(call(bad), stop="tool_use"), ended("sevt_world_4.0"), ASKED)

    @pytest.mark.parametrize("bad", ["", "a tool!", "x" * 200, "look\n", None, 7])
    def test_a_name_that_a_request_may_not_hold_is_replaced(self, bad: Any) -> None:
        ready(BEGUN, said("go"), ASKED, answered(call(name=bad), stop="tool_use"), ended("sevt_world_4.0"), ASKED)

    @pytest.mark.parametrize("bad", [[], 1, "s", True, None])
    def test_B033_B036_an_input_that_is_no_object_goes_back_as_one(self, bad: Any) -> None:
        block = {**call(), "input": bad}

        messages = ready(BEGUN, said("go"), ASKED, answered(block, stop="tool_use"), ended("sevt_world_4.0"), ASKED)

        assert messages[-2]["content"][0]["input"] == {"_raw": bad}

    def test_B040_a_giant_input_is_shown_as_a_marker(self) -> None:
        block = call(given={"code": "x" * (2 * MAX_INPUT_BYTES)})

        messages = ready(BEGUN, said("go"), ASKED, answered(block, stop="tool_use"), ended("sevt_world_4.0"), ASKED)

        assert len(json.dumps(messages)) < 1000

    def test_B042_an_input_with_keys_like_a_calls_is_not_unwrapped(self) -> None:
        given_ = {"id": 7, "function": "sum", "arguments": {}}

        messages = ready(
            BEGUN, said("go"), ASKED, answered(call(given=given_), stop="tool_use"), ended("sevt_world_4.0"), ASKED
        )

        assert messages[-2]["content"][0]["input"] == given_

    def test_a_result_for_nobody_and_a_second_one_are_left_out(self) -> None:
        bodies = [BEGUN, said("go"), ASKED, answered(call(), stop="tool_use"), ended("nobody"), ended("sevt_world_4.0")]

        assert sent_by(*bodies) == sent_by(*bodies, ended("sevt_world_4.0", "again"))


class TestBlanks:
    def test_B024_B009_blank_text_beside_a_call_is_left_out_and_the_call_stays(self) -> None:
        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(THOUGHT, text(""), text(" \n"), call(), stop="tool_use")),
            *(ended("sevt_world_4.2"), ended("sevt_world_4.3"), ASKED),
        )

        assert messages[-2]["content"] == [THOUGHT, call()]

    @pytest.mark.parametrize("empty", ["", "   ", "\n", [], [text("")], [text(" ")]])
    def test_B025_a_result_that_says_nothing_has_no_content(self, empty: Any) -> None:
        result = ready(
            BEGUN, said("go"), ASKED, answered(call(), stop="tool_use"), ended("sevt_world_4.0", empty), ASKED
        )

        assert result[-1]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1"}]

    @pytest.mark.parametrize("empty", ["", []])
    def test_an_error_that_says_nothing_says_so(self, empty: Any) -> None:
        failed = ended("sevt_world_4.0", empty, is_error=True)

        messages = ready(BEGUN, said("go"), ASKED, answered(call(), stop="tool_use"), failed, ASKED)

        assert messages[-1]["content"][0]["content"] == "(no message)"

    @pytest.mark.parametrize(("content", "shown"), [("a", "a\n\nn"), ([text("a")], [text("a"), text("n")])])
    def test_a_note_follows_the_content(self, content: Any, shown: Any) -> None:
        noted = ended("sevt_world_4.0", content, note="n")

        messages = ready(BEGUN, said("go"), ASKED, answered(call(), stop="tool_use"), noted, ASKED)

        assert messages[-1]["content"][0]["content"] == shown

    def test_B023_images_of_a_result_stay_inside_it(self) -> None:
        image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}

        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(call("a"), text("fetching"), call("b"), stop="tool_use")),
            *(ended("sevt_world_4.0", [image]), ended("sevt_world_4.2"), ASKED),
        )

        assert [block["type"] for block in messages[-1]["content"]] == ["tool_result", "tool_result"]

    def test_B026_a_paused_text_that_stands_last_does_not_end_in_white_space(self) -> None:
        messages = sent_by(BEGUN, said("go"), ASKED, answered(text("Here:\n"), stop="pause_turn"), ASKED)

        assert messages[-1]["content"] == [text("Here:")]

    def test_B026_elsewhere_white_space_stays(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(text("Here:\n")), said("and?"), ASKED)

        assert messages[1]["content"] == [text("Here:\n")]


class TestStops:
    @pytest.mark.parametrize("content", [[], [THOUGHT], [text(" ")]])
    def test_B072_an_empty_answer_is_not_sent_back(self, content: Any) -> None:
        nudge = LoopNudged(reason="empty", text="go on")

        messages = ready(BEGUN, said("go"), ASKED, answered(*content), nudge, ASKED)

        assert [each["role"] for each in messages] == ["user", "user"]

    def test_B069_a_refused_answer_is_not_sent_back_and_its_call_needs_no_result(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(text("I will"), call(), stop="refusal"), said("so?"), ASKED)

        assert [each["role"] for each in messages] == ["user", "user"]

    def test_tutorial_1_2_of_a_cut_answer_asked_again_nothing_is_kept(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(text("half"), call(), stop="max_tokens"), ASKED)

        assert [each["role"] for each in messages] == ["user"]

    def test_B044_of_a_cut_answer_that_is_continued_only_whole_text_and_thinking_are_kept(self) -> None:
        nudge = LoopNudged(reason="max_tokens", text="go on")
        unsigned = {"type": "thinking", "thinking": "hm"}

        messages = ready(
            BEGUN, said("go"), ASKED, answered(THOUGHT, text("half"), unsigned, call(), stop="max_tokens"), nudge, ASKED
        )

        assert messages[1]["content"] == [THOUGHT, text("half")]

    def test_a_cut_answer_without_text_leaves_nothing(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(THOUGHT, call(), stop="max_tokens"), said("so?"), ASKED)

        assert [each["role"] for each in messages] == ["user", "user"]

    @pytest.mark.parametrize("stop", ["model_context_window_exceeded", "brand_new_reason"])
    def test_B068_of_an_answer_nobody_can_act_on_its_text_is_kept(self, stop: str) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(text("half"), call(), stop=stop), said("so?"), ASKED)

        assert messages[1]["content"] == [text("half")]

    @pytest.mark.parametrize(
        "stop", ["max_tokens", "model_context_window_exceeded", "brand_new_reason", "end_turn", "refusal"]
    )
    def test_an_open_server_tool_of_a_turn_that_is_over_holds_nothing_back(self, stop: str) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(SERVER, text("half"), stop=stop), said("so?"), ASKED)

        assert messages[-1] == {"role": "user", "content": [text("so?")]}

    def test_a_paused_answer_goes_back_as_it_came_and_may_stand_last(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, answered(text("a"), SERVER, stop="pause_turn"), ASKED)

        assert messages[-1] == {"role": "assistant", "content": [text("a"), SERVER]}

    def test_B089_server_tools_and_unknown_blocks_come_back_in_order_and_untouched(self) -> None:
        result = {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [],
            "encrypted_content": "e",
        }
        cited = {"type": "text", "text": "so", "citations": [{"x": 1}]}
        content = [THOUGHT, SERVER, result, {"type": "mystery", "of": None}, cited, call()]

        messages = sent_by(BEGUN, said("go"), ASKED, answered(*content, stop="tool_use"), ended("sevt_world_4.5"))

        assert messages[1]["content"] == content

    def test_B093_a_compaction_block_goes_back(self) -> None:
        block = {"type": "compaction", "content": "so far", "encrypted_content": "e"}

        messages = ready(BEGUN, said("go"), ASKED, answered(block, stop="compaction"), ASKED)

        assert messages[-1]["content"] == [block]

    def test_B081_B083_thinking_goes_back_first_and_each_with_its_own_signature(self) -> None:
        other = {**THOUGHT, "signature": "other"}

        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(THOUGHT, text("a"), other, call(), stop="tool_use")),
            *(ended("sevt_world_4.3"), ASKED),
        )

        assert messages[-2]["content"] == [THOUGHT, text("a"), other, call()]

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "thinking", "signature": "sig"},
            {"type": "redacted_thinking"},
            {"type": "image", "source": {}},
            {"type": "tool_result", "tool_use_id": "x"},
            {"a": 1},
            {"type": ["x"]},
            {"type": "text", "text": 5},
            "hello",
            1,
        ],
    )
    @pytest.mark.parametrize("stop", ["end_turn", "pause_turn", "max_tokens"])
    def test_B085_what_no_request_may_hold_is_not_sent_back(self, block: Any, stop: str) -> None:
        messages = sent_by(BEGUN, said("go"), ASKED, answered(block, text("a"), stop=stop), said("and?"))

        assert all(message["content"] == [text("a")] for message in messages if message["role"] == "assistant")

    @pytest.mark.parametrize(
        ("block", "back"),
        [
            ({"type": "text", "text": "a", "foo": 1, "cache_control": {}, "citations": 5}, text("a")),
            ({**text("a"), "citations": None}, {**text("a"), "citations": None}),
            ({**call(), "foo": 1, "caller": 5}, call()),
            ({**call(), "caller": {"type": "direct"}}, {**call(), "caller": {"type": "direct"}}),
            ({"type": "mystery", "foo": 1}, {"type": "mystery", "foo": 1}),
        ],
    )
    def test_fields_that_requests_refuse_stay_in_the_log(self, block: Any, back: Any) -> None:
        events = log_of(BEGUN, said("go"), ASKED, answered(block))
        more = [ended(f"{events[-1].id}.0")] if block["type"] == "tool_use" else []
        messages = sent_by(BEGUN, said("go"), ASKED, answered(block), *more, said("and?"))

        assert messages[1]["content"] == [back]

    @given(st.lists(ODD), st.sampled_from(["end_turn", "tool_use", "pause_turn", "max_tokens", "refusal"]))
    def test_no_answer_that_a_log_holds_stops_its_reader(self, content: list[Any], stop: str) -> None:
        sent_by(BEGUN, said("go"), ASKED, answered(*content, stop=stop), said("and?"))


class TestOrder:
    def test_what_comes_while_a_request_is_under_way_follows_its_answer(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, said("wait"), answered(text("done")), ASKED)

        assert [(each["role"], each["content"][0]["text"]) for each in messages] == [
            ("user", "go"),
            ("assistant", "done"),
            ("user", "wait"),
        ]

    def test_what_comes_while_a_request_fails_is_in_the_next(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, said("wait"), ModelFailed(error={}, retry_in_seconds=1), ASKED)

        assert [each["content"][0]["text"] for each in messages] == ["go", "wait"]

    def test_what_comes_while_a_request_dies_with_its_process_is_in_the_next(self) -> None:
        messages = ready(BEGUN, said("go"), ASKED, said("wait"), ASKED)

        assert [each["content"][0]["text"] for each in messages] == ["go", "wait"]

    def test_B030_a_blank_part_of_a_message_is_not_sent(self) -> None:
        image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}

        messages = ready(BEGUN, UserMessage(content=[image, text("")]), ASKED)

        assert messages == [{"role": "user", "content": [image]}]


class TestChecking:
    def test_nothing_may_be_sent_before_somebody_spoke(self) -> None:
        with pytest.raises(InvalidRequest, match="no message"):
            project(log_of(BEGUN, ASKED)).check(has_tools=False)

    def test_calls_need_tools(self) -> None:
        projection = project(
            log_of(BEGUN, said("go"), ASKED, answered(call(), stop="tool_use"), ended("sevt_world_4.0"), ASKED)
        )

        with pytest.raises(InvalidRequest, match="no tool"):
            projection.check(has_tools=False)

    def test_a_finished_answer_may_not_stand_last(self) -> None:
        projection = project(log_of(BEGUN, said("go"), ASKED, answered(text("done")), ASKED))

        with pytest.raises(InvalidRequest, match="user's"):
            projection.check(has_tools=False)


class TestChangeOfModel:
    @pytest.mark.parametrize("model", [MODEL, OTHER_MODEL])
    def test_B088_whole_thinking_blocks_go_and_calls_stay_only_when_the_model_changes(self, model: str) -> None:
        messages = ready(
            *(BEGUN, said("go"), ASKED, answered(THOUGHT, call(), stop="tool_use"), ended("sevt_world_4.1"), ASKED),
            *(answered(THOUGHT, text("done")), SessionUpdated(agent={"model": model}), said("and?"), ASKED),
        )

        kinds = [[block["type"] for block in each["content"]] for each in messages]
        thinking = ["thinking"] if model == MODEL else []
        assert kinds == [["text"], [*thinking, "tool_use"], ["tool_result"], [*thinking, "text"], ["text"]]

    def test_a_call_of_ours_is_numbered_as_in_the_log(self) -> None:
        event = log_of(answered(text("x"), call("a"), call("b"), stop="tool_use"))[0]
        assert isinstance(event.body, ModelAnswered)

        assert [each.id for each in calls_of(event.body.message["content"], event.id)] == [
            "sevt_world_1.1",
            "sevt_world_1.2",
        ]
