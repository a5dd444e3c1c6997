"""JSON values and blocks: what passed the door can always be written and read back."""

from __future__ import annotations

import enum
import json
import math
import re
from collections import OrderedDict
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import (
    MAX_DEPTH,
    MAX_IMAGES,
    calls_of,
    canonical,
    checked,
    clean,
    decode,
    encode,
    says_something,
    sha256,
    text_block,
    text_of,
    user_content,
)
from relevo.errors import InvalidMessage, NotJson

any_text = st.text(st.characters())  # lone surrogates too
plain_text = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | plain_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=4),
    max_leaves=12,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.binary(max_size=3) | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(any_text | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


class Color(str, enum.Enum):  # noqa: UP042  str() of its members is their name, not their text
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


def nested(depth: int, value: Any = 1) -> Any:
    for _ in range(depth):
        value = [value]
    return value


class TestEncoding:
    @given(json_values)
    def test_what_was_encoded_is_decoded(self, value: Any) -> None:
        assert decode(encode(value)) == value

    @given(json_values)
    def test_the_form_is_compact_utf8_and_plain_json(self, value: Any) -> None:
        assert json.loads(encode(value)) == value
        assert encode(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    def test_keys_keep_their_order_on_the_wire(self) -> None:
        assert encode({"b": 1, "a": 2}) == b'{"b":1,"a":2}'

    @pytest.mark.parametrize(
        "text", ["NaN", "Infinity", "-Infinity", '{"a":NaN}', "1e999", "-1e999", "[1e400]", "", "{", "1 2", "'a'"]
    )
    def test_what_is_not_json_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError):
            decode(text)

    def test_nesting_without_end_is_a_ValueError_not_a_dead_process(self) -> None:
        with pytest.raises(ValueError):
            decode("[" * 200_000)

    @given(json_values)
    def test_what_is_decoded_always_passes_the_door(self, value: Any) -> None:
        assert checked(decode(encode(value))) == value


class TestCanonical:
    @given(json_values, json_values)
    def test_equal_bytes_mean_equal_values(self, one: Any, other: Any) -> None:
        if canonical(one) == canonical(other):
            assert one == other

    @given(st.dictionaries(plain_text, json_values), st.randoms())
    def test_the_order_of_keys_does_not_count(self, value: dict[str, Any], random: Any) -> None:
        items = list(value.items())
        random.shuffle(items)

        assert canonical(dict(items)) == canonical(value)
        assert sha256(dict(items)) == sha256(value)

    def test_values_that_only_python_holds_equal_differ(self) -> None:
        assert len({sha256(value) for value in (1, 1.0, True, "1")}) == 4

    def test_a_hash_never_changes_between_releases(self) -> None:
        assert sha256({"b": [1, None], "a": "é"}) == "3d92f6368f93f3cb36a4e7a721098054dfbfd705e31fa50409f2d99e0727a08c"


class TestClean:
    @given(any_text)
    def test_the_result_can_be_written(self, text: str) -> None:
        assert clean(text).encode("utf-8").decode("utf-8") == clean(text)

    @given(plain_text)
    def test_text_that_can_be_written_stays_itself(self, text: str) -> None:
        assert clean(text) is text

    @given(any_text)
    def test_it_is_done_once(self, text: str) -> None:
        assert clean(clean(text)) == clean(text)

    @given(any_text)
    def test_pairs_are_joined_and_halves_replaced(self, text: str) -> None:
        pair = re.compile("[\ud800-\udbff][\udc00-\udfff]")
        joined = pair.sub(lambda found: found.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)

        assert clean(text) == re.sub("[\ud800-\udfff]", "\ufffd", joined)

    def test_B117_halves_that_arrived_apart_are_one_character(self) -> None:
        assert clean("\ud83d" + "\ude00") == "😀"


class TestChecked:
    @given(anything)
    def test_the_result_can_be_encoded_or_the_place_is_named(self, value: Any) -> None:
        try:
            plain = checked(value)
        except NotJson:
            return
        assert decode(encode(plain)) == plain

    @given(json_values)
    def test_json_stays_itself_and_is_copied(self, value: Any) -> None:
        copy = checked(value)

        assert copy == value
        assert encode(copy) == encode(value)
        if isinstance(value, dict | list):
            assert copy is not value

    @given(anything)
    def test_it_is_done_once(self, value: Any) -> None:
        try:
            plain = checked(value)
        except NotJson:
            return
        assert checked(plain) == plain

    @pytest.mark.parametrize(
        ("value", "plain"),
        [
            ((1, (2,)), [1, [2]]),
            (OrderedDict(a=1), {"a": 1}),
            (MappingProxyType({"a": 1}), {"a": 1}),
            (Color.RED, "red"),
            ({Color.RED: 1}, {"red": 1}),
            (Level.HIGH, 3),
            (True, True),
            ("a\udc80", "a\ufffd"),
            ({"a\udc80": 1}, {"a\ufffd": 1}),
        ],
    )
    def test_what_has_a_plain_form_gets_it(self, value: Any, plain: Any) -> None:
        result = checked(value)

        assert result == plain
        assert encode(result) == encode(plain)
        assert type(result) is type(plain)

    @pytest.mark.parametrize(
        ("value", "path"),
        [
            (math.nan, "$"),
            ({"a": [0, math.inf]}, "$.a[1]"),
            ({"a": {1: 2}}, "$.a"),
            ({"a": b"x"}, "$.a"),
            ([datetime(2026, 12, 1)], "$[0]"),  # noqa: DTZ001
            ({"a": Decimal(1)}, "$.a"),
            ({1, 2}, "$"),
            (dict.fromkeys(["a\udc80", "a\ufffd"], 1), "$"),
        ],
    )
    def test_what_has_none_is_refused_with_its_place(self, value: Any, path: str) -> None:
        with pytest.raises(NotJson) as error:
            checked(value)

        assert error.value.path == path

    @pytest.mark.parametrize("digits", [4200, 4300, 4301, 10_000])
    def test_B130_an_integer_that_passes_can_be_printed(self, digits: int) -> None:
        huge = 10**digits
        if digits > 4200:
            with pytest.raises(NotJson):
                checked({"n": huge})
        else:
            assert decode(encode(checked({"n": huge}))) == {"n": huge}

    def test_nesting_has_an_end(self) -> None:
        assert checked(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
        assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
        with pytest.raises(NotJson):
            checked(nested(MAX_DEPTH + 1))

    def test_tutorial_1_4_a_value_that_holds_itself_is_refused(self) -> None:
        circle: list[Any] = []
        circle += [circle, circle]

        with pytest.raises(NotJson, match="cyclic"):
            checked(circle)


class TestBlocks:
    @given(st.lists(plain_text))
    def test_all_text_is_joined_whatever_stands_between(self, words: list[str]) -> None:
        blocks = [block for word in words for block in ({"type": "thinking", "thinking": "no"}, text_block(word))]

        assert text_of(blocks) == "".join(words)

    def test_text_may_be_a_plain_string_or_missing(self) -> None:
        assert text_of("hello") == "hello"
        assert text_of([{"type": "text"}, {"type": "text", "text": None}, {}]) == ""

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ([], False),
            ([{"type": "text", "text": " \n"}], False),
            ([{"type": "text"}], False),
            ([{"type": "thinking", "thinking": "much"}], False),
            ([{"type": "redacted_thinking", "data": "x"}], False),
            ([{"type": "text", "text": "."}], True),
            ([{"type": "tool_use"}], True),
            ([{"type": "mystery"}], True),
        ],
    )
    def test_B072_thinking_and_blank_text_say_nothing(self, content: Any, says: bool) -> None:
        assert says_something(content) is says

    def test_calls_are_those_of_the_client_numbered_by_their_place(self) -> None:
        content = [
            text_block("x"),
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "tool_use"},
        ]

        first, second = calls_of(content, "sevt_1_2")

        assert (first.id, first.tool_use_id, first.name, first.input, first.index) == (
            "sevt_1_2.1",
            "t1",
            "look",
            {"a": 1},
            1,
        )
        assert (second.id, second.tool_use_id, second.name, second.input) == ("sevt_1_2.3", "", "", None)


IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
PAPER: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "x"},
}
FOUND = {"type": "search_result", "source": "https://example.org", "title": "t", "content": [text_block("x")]}
WHOLE = [
    text_block("x"),
    IMAGE,
    PAPER,
    {**PAPER, "title": "t", "context": "c", "citations": {"enabled": True}},
    {"type": "document", "source": {"type": "content", "content": [text_block("x"), IMAGE]}},
    {"type": "document", "source": {"type": "content", "content": "x"}},
    FOUND,
    {**FOUND, "citations": {"enabled": False}},
]


class TestUserContent:
    @given(plain_text.filter(str.strip))
    def test_text_becomes_a_block(self, text: str) -> None:
        assert user_content(text) == [text_block(text)]

    @pytest.mark.parametrize("whole", WHOLE, ids=lambda block: block["type"])
    def test_what_a_person_may_say_stays_as_it_is(self, whole: Any) -> None:
        assert user_content([whole]) == [whole]

    @pytest.mark.parametrize("whole", WHOLE, ids=lambda block: block["type"])
    def test_a_field_the_api_does_not_know_is_left_out_wherever_it_stands(self, whole: Any) -> None:
        odd = {"alt": "x", "annotations": None, "cache_control": {"type": "ephemeral"}}
        source = whole.get("source")
        marked = {**whole, **odd, **({"source": {**source, **odd}} if isinstance(source, dict) else {})}

        assert user_content([marked]) == [whole]

    @pytest.mark.parametrize(
        "wrong", [{"title": 5}, {"title": " "}, {"context": []}, {"citations": 5}, {"citations": {"enabled": "yes"}}]
    )
    def test_an_optional_field_that_is_not_as_it_must_be_is_left_out(self, wrong: Any) -> None:
        assert user_content([{**PAPER, **wrong}]) == [PAPER]

    @pytest.mark.parametrize(
        ("block", "why"),
        [
            ({"type": "text", "text": None}, "text without text"),
            ({"type": "image"}, "image without source"),
            ({"type": "image", "source": "x"}, "image without source"),
            ({"type": "image", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}, "type 'text'"),
            ({"type": "image", "source": {"type": ["url"]}}, "source of type"),
            ({"type": "image", "source": {"type": "url", "url": ""}}, "without url"),
            ({"type": "document", "source": {"type": "file"}}, "without file_id"),
            ({"type": "document", "source": {**PAPER["source"], "media_type": "text/html"}}, "text/plain"),
            ({"type": "document", "source": {"type": "content", "content": [PAPER]}}, "not text or image"),
            ({**FOUND, "title": None}, "search_result without title"),
            ({**FOUND, "source": {}}, "search_result without source"),
            ({**FOUND, "content": "x"}, "search_result without content"),
            ({**FOUND, "content": [text_block(" ")]}, "search_result without content"),
            ({**FOUND, "content": [IMAGE]}, "not text"),
            ({**FOUND, "content": ["x"]}, "may be"),
        ],
    )
    def test_a_block_must_be_whole(self, block: Any, why: str) -> None:
        with pytest.raises(InvalidMessage, match=why):
            user_content([text_block("look"), block])

    def test_a_message_has_no_more_images_than_a_request_takes(self) -> None:
        album = {"type": "document", "source": {"type": "content", "content": [IMAGE] * 50}}

        assert len(user_content([IMAGE] * MAX_IMAGES)) == MAX_IMAGES
        assert user_content([album, album])
        for many in ([IMAGE] * (MAX_IMAGES + 1), [album, album, IMAGE]):
            with pytest.raises(InvalidMessage, match="101 images"):
                user_content(many)

    def test_where_to_cache_is_not_for_a_person_to_say(self) -> None:
        assert user_content([{**IMAGE, "cache_control": {"type": "ephemeral"}}]) == [IMAGE]

    def test_B030_a_blank_part_is_dropped_before_it_is_stored(self) -> None:
        assert user_content([IMAGE, text_block("")]) == [IMAGE]

    @pytest.mark.parametrize("blank", ["", "  ", "\n\t", [], (), [text_block("")], [text_block(" "), text_block("")]])
    def test_B025_a_message_that_says_nothing_is_refused(self, blank: Any) -> None:
        with pytest.raises(InvalidMessage):
            user_content(blank)

    @pytest.mark.parametrize(
        "wrong",
        [
            None,
            5,
            b"hello",
            {"type": "text", "text": "a block, not a list of them"},
            ["hello"],
            [None],
            [{}],
            [{"type": "tool_result", "tool_use_id": "t1"}],
            [{"type": "tool_use", "id": "t1", "name": "n", "input": {}}],
            [{"type": "thinking", "thinking": "x", "signature": "s"}],
            [{"type": "text"}],
            [{"type": "text", "text": 5}],
            [{"type": ["text"]}],
            [{"type": "text", "text": "x", "n": math.nan}],
        ],
    )
    def test_what_no_person_may_say_is_refused(self, wrong: Any) -> None:
        with pytest.raises(InvalidMessage):
            user_content(wrong)

    @given(st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "image", "tool_use"]), "text": any_text})))
    def test_whatever_is_said_can_be_stored_or_is_refused(self, blocks: list[Any]) -> None:
        try:
            said = user_content(blocks)
        except InvalidMessage:
            return
        assert said
        assert decode(encode(said)) == said
