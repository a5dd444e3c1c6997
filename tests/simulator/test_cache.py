"""The prompt cache as the documentation of 2026-12-01 describes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.simulator import Simulator
from relevo.simulator.cache import Cache, PromptUsage
from relevo.simulator.prefix import chain, weigh
from relevo.simulator.tokens import tokens

from .asking import MovableClock, ask, made, request, result, text, tool

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
LONG = "word " * 500  # 625 tokens

words = st.text(alphabet="aé你 ", min_size=1, max_size=400)
blocks = st.builds(lambda said, marked: text(said, **({"cache_control": MARK} if marked else {})), words, st.booleans())
turn_lists = st.lists(st.one_of(words, st.lists(blocks, min_size=1, max_size=25)), min_size=1, max_size=6)


def spend(cache: Cache, body: Any, min_tokens: int = 0) -> PromptUsage:
    return cache.spend(body, min_tokens=min_tokens)


def new() -> Cache:
    return Cache(lambda: 0.0)


@given(turn_lists, st.lists(turn_lists, max_size=4), st.booleans(), st.sampled_from([0, 64, 512]))
def test_the_parts_add_up_to_the_whole(first: Any, more: Any, automatic: bool, least: int) -> None:
    cache = new()
    turns: list[Any] = []
    for added in [first, *more]:
        turns += added
        body = request(*turns, **({"cache_control": MARK} if automatic else {}))

        usage = spend(cache, body, least)

        assert usage.fresh + usage.written + usage.read == usage.total == tokens(weigh(body))
        assert min(usage.fresh, usage.written_5m, usage.written_1h, usage.read) >= 0


@given(turn_lists, st.lists(words, min_size=1, max_size=19))
def test_a_prefix_that_grows_by_less_than_twenty_blocks_is_read(turns: Any, added: list[str]) -> None:
    cache = new()
    before = spend(cache, request(*turns, cache_control=MARK))

    after = spend(cache, request(*turns, *added, cache_control=MARK))

    assert after.read == before.total


@given(turn_lists, turn_lists)
def test_asking_twice_reads_everything_that_was_written(turns: Any, others: Any) -> None:
    cache = new()
    before = spend(cache, request(*turns, cache_control=MARK))
    spend(cache, request(*others))

    after = spend(cache, request(*turns, cache_control=MARK))

    assert (after.read, after.written) == (before.read + before.written, 0)


def test_the_chain_and_the_scales_weigh_the_same() -> None:
    body = request("Hi", [text(), made()], [result(content=[text()])], system="Be.", tools=[tool()])

    assert list(chain(body))[-1].weight == weigh(body)


def test_a_prefix_is_not_found_more_than_twenty_blocks_back() -> None:
    cache = new()
    spend(cache, request([text(LONG)], cache_control=MARK))

    near = request([text(LONG), *(text(str(n)) for n in range(19))], cache_control=MARK)
    assert spend(new_like(cache), near).read > 0
    far = request([text(LONG), *(text(str(n)) for n in range(20))], cache_control=MARK)
    assert spend(cache, far).read == 0


def new_like(cache: Cache) -> Cache:
    other = new()
    other._ends = dict(cache._ends)
    return other


def test_nothing_is_written_without_a_mark_nor_below_the_minimum() -> None:
    cache = new()

    assert spend(cache, request(LONG)).written == 0
    assert spend(cache, request(LONG, cache_control=MARK), min_tokens=10_000).written == 0
    assert spend(cache, request(LONG, cache_control=MARK)).read == 0


def test_a_prefix_lives_as_long_as_its_mark_says_and_reading_renews_it(clock: MovableClock) -> None:
    cache = Cache(clock)
    short, long = request(LONG, cache_control=MARK), request(LONG + "x", cache_control=HOUR)
    assert spend(cache, short).written_5m > 0
    assert spend(cache, long).written_1h > 0

    clock.move(299)
    assert spend(cache, short).read > 0
    clock.move(299)
    assert spend(cache, short).read > 0
    clock.move(301)
    assert spend(cache, short).read == 0
    assert spend(cache, long).read > 0
    clock.move(3601)
    assert spend(cache, long).read == 0


def test_each_part_is_written_for_the_life_of_the_mark_behind_it() -> None:
    body = request([text(LONG, cache_control=HOUR), text(LONG, cache_control=MARK), text("tail")])

    usage = spend(new(), body)

    assert usage.written_1h >= 625
    assert usage.written_5m >= 625
    assert 0 < usage.fresh < 10


@pytest.mark.parametrize(
    "change",
    [{"system": "Other."}, {"tools": [tool("other")]}, {"model": "claude-opus-5"}, {"thinking": {"type": "adaptive"}}],
    ids=lambda change: next(iter(change)),
)
def test_a_change_before_the_messages_reads_nothing(change: Any) -> None:
    cache = new()
    body = request(LONG, system="Be.", tools=[tool()], cache_control=MARK)
    spend(cache, body)

    assert spend(cache, {**body, **change}).read == 0


def test_a_change_of_thinking_still_reads_tools_and_system() -> None:
    cache = new()
    body = request("Hi", system=[text(LONG, cache_control=MARK)])
    spend(cache, body)

    assert spend(cache, {**body, "thinking": {"type": "adaptive"}}).read > 0


def test_a_mark_inside_a_tool_result_marks_the_result() -> None:
    inner = result(content=[text(LONG, cache_control=MARK)])

    assert spend(new(), request("Hi", [made()], [inner], tools=[tool()])).written > 600


def test_text_and_a_list_of_one_text_are_the_same_prompt() -> None:
    cache = new()
    spend(cache, request(LONG, cache_control=MARK))

    assert spend(cache, request([text(LONG)], cache_control=MARK)).read > 0


async def test_usage_on_the_wire_is_the_cache_s(clock: MovableClock) -> None:
    sim = Simulator(clock=clock)
    body = request(LONG * 4, cache_control=MARK)

    first = (await ask(sim, body)).json["usage"]
    second = (await ask(sim, body)).json["usage"]

    assert first["cache_creation"]["ephemeral_5m_input_tokens"] == first["cache_creation_input_tokens"] > 0
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
