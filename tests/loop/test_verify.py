"""Legal logs are clean, and no break of a law goes unseen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from relevo.content import sha256
from relevo.events import (
    Body,
    Event,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionIdle,
    SessionRunning,
    ToolConfirmation,
    ToolEnded,
    ToolStarted,
    ToolWaiting,
    Unknown,
    UserMessage,
)
from relevo.loop.verify import verify
from relevo.outcome import Ended, to_wire
from tests.worlds import MODEL, TOOLS, World, log_of, message, play, worlds

AGENT = {"name": "helper", "model": MODEL, "tools": [each.definition() for each in TOOLS]}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {"amount": 500}}
ID = "sevt_world_5.0"
BEGUN = SessionCreated(agent=AGENT)
SAID = UserMessage(content=[{"type": "text", "text": "pay"}])
RUNNING = SessionRunning(epoch=1)
ASKED = RequestStarted(model=MODEL, max_tokens=9)
CALLED = ModelAnswered(message=message([CALL], "tool_use"))
WAITING = ToolWaiting(
    tool_use_id=ID,
    name="pay",
    input={"amount": 500},
    until={"type": "approval", "input_sha256": sha256({"amount": 500})},
)
ALLOWED = ToolConfirmation(tool_use_id=ID, result="allow", approver="ann", input_sha256=sha256({"amount": 500}))
STARTED = ToolStarted(tool_use_id=ID, name="pay", input={"amount": 500}, effect="irreversible", key="k")
ENDED = ToolEnded(tool_use_id=ID, name="pay", content="paid")
DONE = ModelAnswered(message=message([{"type": "text", "text": "done"}], "end_turn"))
IDLE = SessionIdle(stop_reason=to_wire(Ended()))

GOOD: list[Body] = [BEGUN, SAID, RUNNING, ASKED, CALLED, WAITING, ALLOWED, STARTED, ENDED, ASKED, DONE, IDLE]


def laws(*bodies: Body) -> set[str]:
    return {breach.law for breach in verify(log_of(*bodies))}


def without(*gone: Body) -> list[Body]:
    """The good log without these, renumbered."""
    return [body for body in GOOD if not any(body is each for each in gone)]


def with_(old: Body, *new: Body) -> list[Body]:
    """The good log with this one replaced."""
    place = next(place for place, body in enumerate(GOOD) if body is old)
    return [*GOOD[:place], *new, *GOOD[place + 1 :]]


class TestGoodLogs:
    def test_an_empty_log_breaks_no_law(self) -> None:
        assert verify([]) == []

    def test_a_good_log_is_clean(self) -> None:
        assert verify(log_of(*GOOD)) == []

    @settings(max_examples=200)
    @given(worlds(updates=True, people=0.5, crashes=0.1))
    def test_whatever_happens_a_harness_writes_no_breach(self, world: World) -> None:
        assert verify(world.log) == []

    @given(worlds())
    def test_every_prefix_of_a_clean_log_is_clean(self, world: World) -> None:
        for place in range(0, len(world.log), 5):
            assert verify(world.log[:place]) == []


class TestBreaches:
    @pytest.mark.parametrize(
        ("bodies", "law"),
        [
            (without(BEGUN), "first event"),
            ([*GOOD, BEGUN], "first event"),
            (without(SAID), "valid messages"),
            (without(ASKED), "write-ahead"),
            ([BEGUN, SAID, ASKED, ModelFailed(error={}), ModelFailed(error={})], "write-ahead"),
            ([BEGUN, SAID, ASKED, ModelFailed(error={}), DONE], "write-ahead"),
            (without(CALLED), "nobody runs what was not asked"),
            (without(STARTED), "write-ahead"),
            (without(ENDED), "every call is answered"),
            (without(ENDED, ASKED, DONE), "every call is answered"),
            (without(WAITING), "decisions answer questions"),
            (without(ALLOWED), "nothing runs undecided"),
            (with_(ALLOWED, replace(ALLOWED, result="deny")), "nothing runs undecided"),
            (with_(ALLOWED, ALLOWED, ALLOWED), "a decision is used once"),
            (with_(ALLOWED, replace(ALLOWED, input_sha256=sha256({"amount": 5}))), "a decision covers one input"),
            (with_(ALLOWED, replace(ALLOWED, input={"amount": 7})), "nobody runs what was not asked"),
            (with_(STARTED, replace(STARTED, input={"amount": 501})), "nobody runs what was not asked"),
            (with_(STARTED, STARTED, STARTED), "never twice"),
            (with_(STARTED, STARTED, replace(STARTED, key="other", attempt=2)), "one key"),
            (with_(ENDED, ENDED, ENDED), "one result"),
            (with_(ENDED, ENDED, STARTED), "one result"),
            (with_(ENDED, ENDED, replace(ENDED, tool_use_id="sevt_world_9.9")), "nobody runs what was not asked"),
            (with_(ENDED, ENDED, replace(WAITING, tool_use_id="sevt_world_9.9")), "nobody runs what was not asked"),
            ([*GOOD, SessionRunning(epoch=0)], "one holder"),
            ([*GOOD, Unknown(unknown_kind="agent.dreamt", version=1, data={})], "known kinds"),
        ],
    )
    def test_a_broken_law_is_named(self, bodies: list[Body], law: str) -> None:
        assert law in laws(*bodies)

    def test_a_gap_is_named_with_its_position(self) -> None:
        events = log_of(*GOOD)

        (breach, *_) = verify([*events[:7], *events[8:]])

        assert (breach.law, breach.position) == ("gapless", 9)


def results(log: list[Event]) -> list[int]:
    return [place for place, event in enumerate(log) if isinstance(event.body, ToolEnded)]


def renumbered(events: list[Event]) -> list[Event]:
    return [replace(event, position=place) for place, event in enumerate(events, 1)]


def changed(event: Event, **fields: Any) -> Event:
    return replace(event, body=replace(event.body, **fields))


def doubled(log: list[Event], place: int) -> list[Event]:
    return [*log, log[place]]


def success_without_start(log: list[Event], place: int) -> list[Event]:
    ended: Any = log[place].body
    kept = [e for e in log if not (isinstance(e.body, ToolStarted) and e.body.tool_use_id == ended.tool_use_id)]
    return [changed(each, is_error=False) if each is log[place] else each for each in kept]


def for_nobody(log: list[Event], place: int) -> list[Event]:
    return [changed(each, tool_use_id="nobody") if each is log[place] else each for each in log]


@pytest.mark.parametrize("mutate", [doubled, success_without_start, for_nobody])
def test_every_mutated_world_is_found_out(mutate: Callable[[list[Event], int], list[Event]]) -> None:
    mutated = 0
    for seed in range(200):
        log = play(Random(seed)).log
        for place in results(log)[:3]:
            mutated += 1

            assert verify(mutate(log, place)), (seed, place)

    assert mutated > 50


def test_a_dropped_event_of_any_world_leaves_a_gap() -> None:
    for seed in range(100):
        log = play(Random(seed)).log
        place = seed % len(log)

        if place < len(log) - 1:
            assert verify([*log[:place], *log[place + 1 :]])


def test_a_dropped_result_is_found_also_when_the_gap_is_hidden() -> None:
    for seed in range(100):
        log = play(Random(seed)).log
        for place in results(log)[:1]:
            hidden = renumbered([*log[:place], *log[place + 1 :]])

            later = any(isinstance(event.body, RequestStarted) for event in hidden[place:])
            assert bool(verify(hidden)) or not later
