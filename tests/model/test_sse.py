"""Bytes to events."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import ModelError
from relevo.model.sse import SseReader

from .events import ended, frames, read_all, started, text

EVENTS = [started(), {"type": "ping"}, *text(0, "Grüße ", "日本 🙂 \u2028"), *ended()]
DATA = frames(EVENTS)
ENDINGS: dict[str, Callable[[bytes], bytes]] = {
    "lf": lambda data: data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "cr": lambda data: data.replace(b"\n", b"\r"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_single_cut_gives_the_same_events(ending: str) -> None:
    data = ENDINGS[ending](DATA)

    assert all(read_all(data, [cut]) == EVENTS for cut in range(len(data) + 1))


@pytest.mark.parametrize("ending", ENDINGS)
def test_byte_by_byte_gives_the_same_events(ending: str) -> None:
    data = ENDINGS[ending](DATA)

    assert read_all(data, range(len(data))) == EVENTS


@given(cuts=st.lists(st.integers(0, len(DATA))), ending=st.sampled_from(sorted(ENDINGS)))
def test_any_cuts_give_the_same_events(cuts: list[int], ending: str) -> None:
    assert read_all(ENDINGS[ending](DATA), sorted(cuts)) == EVENTS


def test_a_byte_order_mark_and_comments_and_foreign_fields_are_passed_over() -> None:
    data = b'\xef\xbb\xbf: keep-alive\nid: 7\nretry: 10\nevent: ping\ndata: {"type":"ping"}\n\n:\n\n'

    assert all(read_all(data, [cut]) == [{"type": "ping"}] for cut in range(len(data)))


def test_data_on_several_lines_is_one_event() -> None:
    assert read_all(b'data: {"type":\ndata: "ping"}\n\n') == [{"type": "ping"}]


def test_the_events_name_serves_when_the_data_does_not_say_its_type() -> None:
    assert read_all(b'event: error\ndata: {"message": "no"}\n\n') == [{"type": "error", "message": "no"}]


def test_an_event_without_its_name_is_read_all_the_same() -> None:
    assert read_all(b'data: {"type":"ping"}\n\n') == [{"type": "ping"}]


def test_a_name_does_not_reach_the_next_event() -> None:
    assert read_all(b"event: error\n\ndata: {}\n\n") == [{}]


def test_the_last_event_counts_without_its_blank_line_when_it_is_whole() -> None:
    assert read_all(b'data: {"type":"message_stop"}') == [{"type": "message_stop"}]
    assert read_all(b'data: {"type":"message_stop"}\n') == [{"type": "message_stop"}]
    assert read_all(b'data: {"type":"mess') == []
    assert read_all(b"data: 1") == []


def test_an_empty_event_and_the_closing_word_of_proxies_are_passed_over() -> None:
    assert read_all(b"data:\n\ndata: [DONE]\n\n") == []


@pytest.mark.parametrize("data", [b"{", b"[1]", b'"x"', b"NaN", b'{"a": Infinity}', b'{"a": "\xff"}', b"[" * 100_000])
def test_data_that_is_no_json_object_breaks_the_protocol(data: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        read_all(b"data: " + data + b"\n\n")

    assert (caught.value.type, caught.value.retryable) == ("protocol", True)


def test_a_long_line_in_small_pieces_costs_time_in_proportion() -> None:
    """The work of a byte must not depend on how much came before it."""

    def seconds(size: int) -> float:
        reader, piece, begin = SseReader(), b"x" * 10, time.process_time()
        for _ in range(size // 10):
            reader.feed(piece)
        return time.process_time() - begin

    seconds(10_000)
    assert seconds(2_000_000) < 1
