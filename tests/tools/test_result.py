from __future__ import annotations

import base64
import dataclasses
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import MAX_IMAGES, encode
from relevo.tools import Failed, Returned, Waiting
from relevo.tools.result import MAX_DATA_CHARS, ending_of

from .test_images import png

IMAGE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png()).decode()},
}
TEXT = {"type": "text", "text": "hello"}
SEARCH = {"type": "search_result", "source": "https://x", "title": "t", "content": [{"type": "text", "text": "x"}]}


def end(value: Any, max_chars: Any = 100_000) -> Any:
    return ending_of(value, tool="t", max_chars=max_chars)


def test_tutorial_1_5_a_text_is_passed_through_unquoted() -> None:
    assert end("texto") == Returned("texto")
    assert end('{"a": 1}') == Returned('{"a": 1}')


@pytest.mark.parametrize("value", [None, "", "  \n", [], (), set(), [{"type": "text", "text": " "}]])
def test_b025_what_says_nothing_becomes_a_marker(value: Any) -> None:
    ending = end(value)

    assert isinstance(ending, Returned)
    assert ending.content == "(no output)"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (0, "0"),
        (False, "false"),
        ({}, "{}"),
        (1.5, "1.5"),
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ([1], "[1]"),
        ([""], '[""]'),
    ],
)
def test_a_value_is_compact_json_for_the_model_and_data_for_gates(value: Any, content: Any) -> None:
    assert end(value) == Returned(content, value)


def test_b122_a_broken_text_is_mended() -> None:
    assert end("ok \ud83d") == Returned("ok �")


def test_b129_blocks_stay_blocks() -> None:
    assert end([TEXT, IMAGE]) == Returned([TEXT, IMAGE])
    assert end((SEARCH,)) == Returned([SEARCH])
    assert end(["see:", IMAGE]) == Returned([{"type": "text", "text": "see:"}, IMAGE])
    assert end(IMAGE) == Returned([IMAGE])
    assert end(png()) == Returned([IMAGE])


def test_a_reference_to_a_tool_becomes_its_name_for_no_tool_is_deferred() -> None:
    assert end([{"type": "tool_reference", "tool_name": "x"}]) == Returned([{"type": "text", "text": "x"}])


DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}


@pytest.mark.parametrize("block", [TEXT, IMAGE, SEARCH, DOCUMENT], ids=lambda block: block["type"])
def test_a_field_the_api_does_not_know_never_reaches_it(block: Any) -> None:
    assert end([{**block, "annotations": None, "alt": "x", "citations": [{"type": "x"}]}]) == Returned([block])


@pytest.mark.parametrize(
    "block",
    [
        {key: item for key, item in SEARCH.items() if key != "title"},
        {**SEARCH, "content": [IMAGE]},
        {**SEARCH, "content": []},
        {"type": "image", "source": {"type": "blob"}},
        {"type": "image", "source": {"type": "url"}},
        {"type": "document", "source": {"type": "content", "content": [{**IMAGE, "source": {"type": "base64"}}]}},
    ],
)
def test_a_block_the_api_would_refuse_is_a_failure_after_the_effect(block: Any) -> None:
    ending = end([TEXT, block])

    assert isinstance(ending, Failed)
    assert (ending.code, ending.outcome) == ("result_not_encodable", "executed")
    assert "block 1, " in ending.message


def test_an_image_inside_a_document_is_checked_like_any() -> None:
    wrong = {**IMAGE, "source": {**IMAGE["source"], "media_type": "image/jpeg"}}
    inside = [{"type": "document", "source": {"type": "content", "content": [part]}} for part in (IMAGE, wrong)]

    assert end(inside[:1]) == Returned(inside[:1])
    assert isinstance(end(inside), Failed)


def test_a_result_has_no_more_images_than_a_request_takes() -> None:
    assert end([IMAGE] * MAX_IMAGES) == Returned([IMAGE] * MAX_IMAGES)
    assert isinstance(end([IMAGE] * (MAX_IMAGES + 1)), Failed)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "text": "a row of a table"},
        [{"type": "text"}],
        [{"type": "image", "source": "camera 4"}],
        [TEXT, {"type": "note"}],
        [TEXT, 5],
        [{"type": "search_result", "source": "x"}],
        ["a", "b"],
        [{"type": ["text"]}],
    ],
)
def test_b042_what_only_looks_like_blocks_is_data(value: Any) -> None:
    assert end(value) == Returned(encode(value).decode(), value)


def test_where_to_cache_is_not_a_tools_to_say() -> None:
    assert end([{**TEXT, "cache_control": {"type": "ephemeral"}}]) == Returned([TEXT])


def test_blank_text_among_blocks_is_left_out() -> None:
    assert end([{"type": "text", "text": " "}, IMAGE]) == Returned([IMAGE])


def test_bytes_that_are_no_image_are_base64() -> None:
    assert end(b"\x00\xff") == Returned("AP8=", "AP8=")


class Hostile(dict[str, Any]):
    def get(self, key: Any, default: Any = None) -> Any:
        raise RuntimeError("hush")


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        object(),
        [IMAGE, {**IMAGE, "source": {**IMAGE["source"], "media_type": "image/jpeg"}}],
        Returned("ok", data={"a": object()}),
        Waiting({"a": 1}),
        Waiting("child"),  # type: ignore[arg-type]
        Hostile(),
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_tutorial_1_4_what_cannot_be_encoded_fails_after_the_effect_and_says_so(value: Any) -> None:
    ending = end(value)

    assert isinstance(ending, Failed)
    assert (ending.category, ending.code, ending.outcome) == ("internal", "result_not_encodable", "executed")
    assert ending.retryable is False
    assert "It did take effect" in ending.content
    assert "hush" not in ending.content


def test_a_tool_may_say_one_thing_to_the_model_and_another_to_gates() -> None:
    @dataclasses.dataclass
    class Row:
        id: int

    assert end(Returned("Found one.", data=Row(1))) == Returned("Found one.", {"id": 1})
    assert end(Returned([TEXT, IMAGE], data=1)) == Returned([TEXT, IMAGE], 1)
    assert end(Returned(None)) == Returned("(no output)")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ending",
    [
        Returned("x", {"a": 1}),
        Returned([TEXT], 5),
        Waiting({"type": "job", "id": "j"}),
        Failed(message="m", category="business", partial=[1]),
    ],
)
def test_an_ending_stays_what_it_is(ending: Any) -> None:
    assert end(ending) == ending == end(end(ending))


@given(st.text(min_size=301), st.integers(300, 400))
def test_a_long_text_keeps_the_limit(text: Any, limit: Any) -> None:
    ending = end(text, max_chars=limit)

    assert isinstance(ending, Returned)
    assert isinstance(ending.content, str)
    assert len(ending.content) <= limit
    ending.content.encode()


def test_cut_data_is_whole_for_gates() -> None:
    value = {"id": "c1", "notes": "x" * 1000}

    ending = end(value, max_chars=300)

    assert isinstance(ending, Returned)
    assert ending.data == value
    assert "Cut: showing the first" in ending.content


def test_data_too_large_for_the_log_is_dropped_and_said(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        ending = end(["x" * MAX_DATA_CHARS])

    assert isinstance(ending, Returned)
    assert ending.data is None
    assert "action=result.data_dropped tool=t" in caplog.text


def test_blocks_are_cut_at_the_limit_and_images_stay() -> None:
    first = {"type": "text", "text": "a" * 100}
    long = {"type": "text", "text": "b" * 1000, "citations": None}

    ending = end([first, long, SEARCH, TEXT, IMAGE], max_chars=300)

    assert isinstance(ending, Returned)
    kept: list[Any] = list(ending.content)
    assert kept[0] == first
    assert kept[1]["text"] == "b" * len(kept[1]["text"])
    assert kept[2] == IMAGE
    shown = 100 + len(kept[1]["text"])
    assert kept[3]["text"].startswith(f"[Cut: showing the first {shown} of ")
    assert sum(len(block.get("text", "")) for block in kept) <= 300


def test_a_search_result_that_does_not_fit_is_left_out_whole() -> None:
    large = {**SEARCH, "content": [{"type": "text", "text": "x" * 1000}]}

    ending = end([TEXT, large], max_chars=300)

    assert isinstance(ending, Returned)
    assert [block["type"] for block in list[Any](ending.content)] == ["text", "text"]


blocks = st.lists(
    st.sampled_from([TEXT, IMAGE, SEARCH]) | st.text(max_size=400).map(lambda text: {"type": "text", "text": text}),
    min_size=1,
)


@given(blocks)
def test_any_blocks_end_valid_and_within_the_limit(value: Any) -> None:
    ending = end(value, max_chars=300)

    assert isinstance(ending, Returned)
    shown = ending.content if not isinstance(ending.content, str) else [{"type": "text", "text": ending.content}]
    assert shown
    assert all(block["text"].strip() for block in shown if block["type"] == "text")
    assert sum(len(block["text"]) for block in shown if block["type"] == "text") <= 300
    encode(list(shown))
