"""Events to a message."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relevo.content import checked, encode
from relevo.errors import ModelError
from relevo.model.sse import SseReader
from relevo.model.stream import Accumulator, whole

from .events import build_from, closed, ended, frames, grown, opened, started, text, tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def input_of(*pieces: str, **more: Any) -> tuple[Any, bool]:
    message, malformed = build_from([started(), *tool(0, *pieces, **more), *ended("tool_use")])
    return message["content"][0]["input"], 0 in malformed


def refused(*events: dict[str, Any]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        build_from(events)
    return caught.value


class TestBlocks:
    def test_text_is_joined_in_order(self) -> None:
        message, _ = build_from([started(), *text(0, "a", "", "b"), *text(1, "c"), *ended()])

        assert [block["text"] for block in message["content"]] == ["ab", "c"]

    def test_interleaved_blocks_are_kept_apart_by_their_index(self) -> None:
        events = [
            started(),
            opened(1, type="text", text="x"),
            opened(0, type="text", text=""),
            grown(0, "text_delta", text="a"),
            grown(1, "text_delta", text="y"),
            closed(0),
            closed(1),
            *ended(),
        ]

        assert [block["text"] for block in build_from(events)[0]["content"]] == ["a", "xy"]

    def test_each_thinking_block_keeps_its_own_signature_b082_b083(self) -> None:
        events = [started()]
        for index in (0, 1):
            events += [
                opened(index, type="thinking", thinking="", signature=""),
                grown(index, "thinking_delta", thinking=f"t{index}"),
                grown(index, "thinking_delta", thinking="!"),
                grown(index, "signature_delta", signature=f"s{index}"),
                closed(index),
            ]

        assert build_from([*events, *ended()])[0]["content"] == [
            {"type": "thinking", "thinking": "t0!", "signature": "s0"},
            {"type": "thinking", "thinking": "t1!", "signature": "s1"},
        ]

    @pytest.mark.parametrize("start", [{}, {"signature": ""}, {"signature": None}])
    def test_a_signature_that_was_not_sent_is_absent_b085(self, start: dict[str, Any]) -> None:
        events = [started(), opened(0, type="thinking", thinking="hm", **start), closed(0), *ended()]

        assert build_from(events)[0]["content"] == [{"type": "thinking", "thinking": "hm"}]

    def test_thinking_without_a_visible_delta_keeps_its_signature(self) -> None:
        events = [
            started(),
            opened(0, type="thinking", thinking="", signature=""),
            grown(0, "signature_delta", signature="sig"),
            closed(0),
            *ended(),
        ]

        assert build_from(events)[0]["content"] == [{"type": "thinking", "thinking": "", "signature": "sig"}]

    @pytest.mark.parametrize("start", [{}, {"citations": None}, {"citations": []}])
    def test_citations_are_collected(self, start: dict[str, Any]) -> None:
        events = [
            started(),
            opened(0, type="text", text="", **start),
            grown(0, "citations_delta", citation={"n": 1}),
            grown(0, "citations_delta", citation={"n": 2}),
            closed(0),
            *ended(),
        ]

        assert build_from(events)[0]["content"][0]["citations"] == [{"n": 1}, {"n": 2}]
        assert events[1]["content_block"] == {"type": "text", "text": "", **start}

    def test_a_compaction_arrives_in_one_delta(self) -> None:
        events = [
            started(),
            opened(0, type="compaction", content=None, signature="s"),
            grown(0, "compaction_delta", content="sum", encrypted_content="x"),
            closed(0),
            *ended("compaction"),
        ]

        assert build_from(events)[0]["content"] == [
            {"type": "compaction", "content": "sum", "signature": "s", "encrypted_content": "x"}
        ]

    def test_a_fallback_block_changes_the_model_of_the_message(self) -> None:
        block = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
        message, _ = build_from([started(), opened(0, **block), closed(0), *ended()])

        assert (message["model"], message["content"]) == ("b", [block])

    def test_an_unknown_block_is_kept_as_it_came_b094(self) -> None:
        block = {"type": "brand_new_tool_result", "x": 1, "input": "not ours", "deep": [{"y": None}]}
        events = [started(), opened(0, **block), grown(0, "brand_new_delta", z=1), closed(0), *ended()]

        assert build_from(events) == (build_from(events)[0], frozenset())
        assert build_from(events)[0]["content"] == [block]

    def test_an_unknown_block_grows_by_deltas_we_know(self) -> None:
        events = [started(), opened(0, type="new", text="a"), grown(0, "text_delta", text="b"), closed(0), *ended()]

        assert build_from(events)[0]["content"] == [{"type": "new", "text": "ab"}]

    def test_a_delta_of_another_kind_does_not_touch_a_block_we_know(self) -> None:
        wrong = [grown(0, "thinking_delta", thinking="x"), grown(0, "signature_delta", signature="x")]
        events = [started(), opened(0, type="text", text="a"), *wrong, closed(0), *ended()]

        assert build_from(events)[0]["content"] == [{"type": "text", "text": "a"}]

    def test_a_block_that_is_still_open_at_the_end_is_closed(self) -> None:
        events = [started(), opened(0, type="text", text=""), grown(0, "text_delta", text="a"), *ended()]

        assert build_from(events)[0]["content"] == [{"type": "text", "text": "a"}]

    def test_lone_surrogates_are_replaced_and_split_pairs_joined(self) -> None:
        message, _ = build_from([started(), *text(0, "a\ud83d", "\ude00b\udc00"), *ended()])

        assert message["content"][0]["text"] == "a😀b�"
        assert encode(message)


class TestToolInput:
    @given(JSON.filter(lambda value: isinstance(value, dict)), st.data())
    def test_an_object_cut_anywhere_arrives_whole(self, value: Any, data: st.DataObject) -> None:
        raw = json.dumps(value)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
        pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]

        assert input_of(*pieces) == (checked(value), False)

    @pytest.mark.parametrize("pieces", [(), ("",), ("", " ")])
    @pytest.mark.parametrize("start", [{}, {"input": None}])
    def test_an_input_that_was_never_streamed_is_an_empty_object_b032(
        self, pieces: tuple[str, ...], start: dict[str, Any]
    ) -> None:
        assert input_of(*pieces, **start) == ({}, False)

    def test_an_input_that_came_with_the_start_is_kept(self) -> None:
        assert input_of(input={"a": 1}) == ({"a": 1}, False)

    @given(JSON.filter(lambda value: not isinstance(value, dict)))
    def test_json_that_is_no_object_is_marked_b033(self, value: Any) -> None:
        raw = json.dumps(value, ensure_ascii=True)

        assert input_of(raw) == ({"_raw": raw}, True)
        assert whole({"content": [{"type": "tool_use", "input": value}]})[1] == {0}

    @pytest.mark.parametrize(
        "raw",
        [
            '{"q":"x","ids":[4556]</parameter>',
            '{"a": 1',
            '{"a": NaN}',
            '{"a": 1e999}',
            '{"a":' + "[" * 300 + "]" * 300 + "}",
            "[" * 100_000,
            '{"a": ' + "9" * 5000 + "}",
            '{"a":1}{"a":2}',
            "{} x",
        ],
    )
    def test_malformed_json_is_kept_raw_and_the_message_can_be_sent_again_b036(self, raw: str) -> None:
        message, malformed = build_from([started(), *text(0, "Hm"), *tool(1, raw), *ended("tool_use")])

        assert malformed == {1}
        assert message["content"][1]["input"] == {"_raw": raw}
        assert checked(json.loads(encode(message))) == message

    @pytest.mark.parametrize("second", ['{"a":1}', ' {"a": 1}\n'])
    def test_an_input_sent_twice_is_a_broken_stream_b035(self, second: str) -> None:
        error = refused(started(), *tool(0, '{"a":  1}', second), *ended())

        assert (error.type, error.retryable) == ("protocol", True)

    def test_keys_that_look_like_a_wrapped_call_are_only_keys_b042(self) -> None:
        value = {"id": 7, "function": "sum", "arguments": {}}

        assert input_of(json.dumps(value)) == (value, False)

    def test_the_inputs_of_server_tools_are_read_too(self) -> None:
        assert input_of('{"query":', '"x"}', type="server_tool_use") == ({"query": "x"}, False)

    def test_two_megabytes_in_twenty_thousand_deltas_take_less_than_a_second_b037(self) -> None:
        pieces = ['{"code":"', *(["x" * 100] * 20_000), '"}']
        data = frames([started(), *tool(0, *pieces), *ended("tool_use")])
        begin = time.process_time()

        reader, built = SseReader(), Accumulator()
        for start in range(0, len(data), 4096):
            for event in reader.feed(data[start : start + 4096]):
                built.add(event)
        message, malformed = built.finish()

        assert time.process_time() - begin < 1
        assert (len(message["content"][0]["input"]["code"]), malformed) == (2_000_000, frozenset())


class TestOrder:
    def test_a_closed_block_takes_no_more_deltas_b035(self) -> None:
        assert refused(started(), *text(0, "a"), grown(0, "text_delta", text="b")).type == "protocol"

    @pytest.mark.parametrize(
        "events",
        [
            text(0, "a"),
            ended(),
            [{"type": "message_stop"}],
            [started(), started()],
            [{"type": "message_start"}],
            [started(), opened(0, type="text"), opened(0, type="text")],
            [started(), {"type": "content_block_start", "index": 0}],
            [started(), opened(0, type="text"), {"type": "content_block_delta", "index": 0}],
            [started(), closed(0)],
            [started(), {**closed(0), "index": [0]}],
            [started(), {**opened(0, type="text"), "index": None}],
        ],
    )
    def test_events_in_an_impossible_order_break_the_protocol(self, events: list[dict[str, Any]]) -> None:
        error = refused(*events)

        assert (error.type, error.status, error.retryable) == ("protocol", 200, True)

    @settings(max_examples=50)
    @given(st.lists(st.fixed_dictionaries({"type": JSON, "index": JSON, "delta": JSON, "content_block": JSON})))
    def test_whatever_comes_the_answer_is_a_message_or_a_model_error(self, events: list[dict[str, Any]]) -> None:
        for known in ("content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"):
            try:
                build_from([started(), *({**event, "type": known} for event in events), *events, *ended()])
            except ModelError as error:
                assert error.retryable  # noqa: PT017  most draws raise nothing

    def test_pings_and_unknown_events_are_no_progress_and_no_harm_b054(self) -> None:
        built = Accumulator()

        assert [built.add(event) for event in ({"type": "ping"}, {"type": "foo"}, started(), {"type": "ping"})] == [
            False,
            False,
            True,
            False,
        ]


class TestEnd:
    @pytest.mark.parametrize("cut", range(1, 6))
    def test_a_stream_without_its_end_is_cut_and_its_usage_is_kept_b047(self, cut: int) -> None:
        error = refused(*[started(), *text(0, "a"), *ended()][: cut - 6])

        assert (error.type, error.retryable) == ("cut_stream", True)
        assert error.usage is None or error.usage["input_tokens"] == 25

    def test_a_stream_without_any_event_is_cut_too(self) -> None:
        assert refused().usage is None

    @pytest.mark.parametrize(
        ("kind", "retryable"),
        [("overloaded_error", True), ("api_error", True), ("invalid_request_error", False)],
    )
    def test_an_error_event_ends_the_attempt_b046(self, kind: str, *, retryable: bool) -> None:
        event = {"type": "error", "error": {"type": kind, "message": "no"}, "request_id": "req_1"}
        error = refused(started(), opened(0, type="text", text=""), event)

        assert (error.status, error.type, error.retryable, error.request_id) == (200, kind, retryable, "req_1")
        assert error.usage == {"input_tokens": 25}

    def test_the_message_delta_is_merged_and_its_unknown_fields_are_kept(self) -> None:
        delta = {"stop_reason": "refusal", "stop_sequence": None, "stop_details": {"type": "refusal"}, "new": 1}
        end = {
            "type": "message_delta",
            "delta": {**delta, "container": {"id": "c"}},
            "usage": {"output_tokens": 9, "input_tokens": None, "iterations": [{"type": "message"}]},
            "context_management": {"applied_edits": []},
            "newer": {"a": 1},
        }
        message, _ = build_from([started(), end, {"type": "message_stop"}])

        assert message["usage"] == {"input_tokens": 25, "output_tokens": 9, "iterations": [{"type": "message"}]}
        assert message["context_management"] == {"applied_edits": []}
        assert (message["newer"], message["new"], message["type"]) == ({"a": 1}, 1, "message")
        assert message["container"] == {"id": "c"}

    def test_a_null_does_not_wipe_out_what_is_known(self) -> None:
        nothing = {"type": "message_delta", "delta": {"stop_reason": None, "container": None}, "usage": None}
        end = [{**ended()[0], "delta": {"stop_reason": "end_turn"}}, nothing, {"type": "message_stop"}]

        assert build_from([started(container={"id": "c"}), *end])[0]["stop_reason"] == "end_turn"
        assert build_from([started(container={"id": "c"}), *end])[0]["container"] == {"id": "c"}

    def test_an_answer_without_usage_is_an_answer_b113(self) -> None:
        events = [started(usage=None), *text(0, "a"), {**ended()[0], "usage": None}, {"type": "message_stop"}]

        assert build_from(events)[0]["usage"] is None

    def test_a_number_that_json_cannot_say_breaks_the_protocol(self) -> None:
        assert refused(started(strange=float("inf")), *ended()).type == "protocol"


class TestWhole:
    def test_a_message_in_one_piece_is_kept_as_it_came(self) -> None:
        message = {"type": "message", "content": [{"type": "tool_use", "input": {"a": 1}, "x": 2}], "y": None}

        assert whole(message) == (message, frozenset())

    def test_an_input_that_json_cannot_say_is_marked(self) -> None:
        message, malformed = whole({"content": [{"type": "tool_use", "input": {"a": float("inf")}}]})

        assert malformed == {0}
        assert message["content"][0]["input"] == {"_raw": "unreadable"}

    def test_a_message_without_content_breaks_the_protocol(self) -> None:
        with pytest.raises(ModelError, match="content"):
            whole({"type": "message"})


class TestShape:
    """Whatever leaves this door, everything behind it can read."""

    ODD: tuple[Any, ...] = (5, True, [], {}, [1], {"a": 1})

    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("text", "text"),
            ("thinking", "thinking"),
            ("thinking", "signature"),
            ("tool_use", "id"),
            ("tool_use", "name"),
            ("server_tool_use", "id"),
            ("web_search_tool_result", "tool_use_id"),
        ],
    )
    def test_a_field_of_a_block_that_must_be_text_is_text_or_there_is_no_answer(
        self, kind: str, name: str, odd: Any
    ) -> None:
        assert refused(started(), opened(0, type=kind, **{name: odd}), *ended()).type == "protocol"
        with pytest.raises(ModelError, match=name):
            whole({"content": [{"type": kind, name: odd}]})

    @pytest.mark.parametrize(
        "block", [1, "x", None, {}, {"type": []}, {"type": 5}, {"type": "image"}, {"type": "tool_result"}]
    )
    def test_a_block_that_no_answer_holds_is_a_broken_protocol(self, block: Any) -> None:
        with pytest.raises(ModelError, match="block 0"):
            whole({"content": [block]})
        assert refused(started(content=[block]), *ended()).retryable

    @pytest.mark.parametrize("content", ["hello", 5, {"a": 1}])
    def test_content_is_a_list_b001(self, content: Any) -> None:
        assert refused(started(content=content), *ended()).type == "protocol"

    @pytest.mark.parametrize("name", ["stop_reason", "usage", "stop_details"])
    def test_what_the_loop_reads_of_a_message_has_its_shape(self, name: str) -> None:
        with pytest.raises(ModelError, match=name):
            whole({"content": [], name: 5})

    def test_a_signature_that_comes_late_is_text_too(self) -> None:
        events = [started(), opened(0, type="thinking", thinking=""), grown(0, "signature_delta", signature=5)]

        assert refused(*events, closed(0), *ended()).type == "protocol"

    @given(st.dictionaries(st.text(), JSON))
    def test_a_block_of_an_unknown_kind_may_hold_anything(self, fields: dict[str, Any]) -> None:
        block = {**fields, "type": "mystery"}

        assert whole({"content": [block]})[0]["content"] == checked([block])


class TestUsageOfABrokenStream:
    def test_an_output_that_began_and_was_not_counted_has_no_count(self) -> None:
        built = Accumulator()
        built.add(started())
        assert built.usage == {"input_tokens": 25, "output_tokens": 1}
        built.add(opened(0, type="text", text=""))
        assert built.usage == {"input_tokens": 25}
        built.add(ended()[0])
        assert built.usage == {"input_tokens": 25, "output_tokens": 15}
