"""What events mean. The laws hold for every log: legal ones from `worlds`, and soups that no harness would write."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.events import (
    Event,
    LoopNudged,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionIdle,
    SessionRunning,
    SessionUpdated,
    ToolConfirmation,
    ToolEnded,
    ToolStarted,
    ToolWaiting,
    Unknown,
    UserInterrupt,
    UserMessage,
)
from relevo.fold import fold, fold_all
from relevo.outcome import (
    AwaitingAction,
    ContextFull,
    Empty,
    Ended,
    Interrupted,
    LimitReached,
    ModelUnavailable,
    Refused,
    Truncated,
    UnsupportedStop,
    to_wire,
)
from relevo.phases import Phase
from relevo.state import Fact, State, Status
from tests.worlds import SESSION, START, World, log_of, message, soups, state_of, worlds

BEGUN = SessionCreated(agent={"name": "helper", "model": "m"}, identity={"user": "u1"}, title="t", metadata={"a": 1})
SAID = UserMessage(content=[{"type": "text", "text": "hello"}])
ASKED = RequestStarted(model="m", max_tokens=100)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(tool_use_id: str = "toolu_1", name: str = "look", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given}


def answered(*content: Any, stop: str = "end_turn", **more: Any) -> ModelAnswered:
    return ModelAnswered(message=message(content, stop), cost_usd="0.01", **more)


def ended(call_id: str, content: Any = "fine", **more: Any) -> ToolEnded:
    return ToolEnded(tool_use_id=call_id, name="look", content=content, **more)


def waiting(call_id: str, **until: Any) -> ToolWaiting:
    return ToolWaiting(tool_use_id=call_id, name="look", input={}, until=until)


def allowed(call_id: str) -> ToolConfirmation:
    return ToolConfirmation(tool_use_id=call_id, result="allow", approver="ann", input_sha256="x")


def calling(*calls: Any, stop: str = "tool_use", **more: Any) -> list[Any]:
    """Bodies up to an answer with calls; it stands at position 4, so its calls are sevt_world_4.0, ..."""
    return [BEGUN, SAID, ASKED, answered(*calls, stop=stop, **more)]


FIRST, SECOND, THIRD = "sevt_world_4.0", "sevt_world_4.1", "sevt_world_4.2"


def after(*bodies: Any) -> State:
    return state_of(log_of(*bodies))


def facts(state: State) -> list[Fact]:
    found, fact = [], state.facts
    while fact is not None:
        found.append(fact)
        fact = fact.before
    return found


class TestEveryLog:
    @given(worlds(updates=True), st.floats(0, 1))
    def test_folding_in_two_halves_equals_folding_at_once(self, world: World, cut: float) -> None:
        place = int(cut * len(world.log))

        first = state_of(world.log[:place])
        both = fold_all(first, world.log[place:])

        assert both == state_of(world.log)
        assert facts(both) == facts(state_of(world.log))

    @given(soups())
    def test_folding_never_raises_and_knows_its_position(self, events: list[Event]) -> None:
        state = State(session_id=SESSION)
        for event in events:
            state = fold(state, event)

            assert state.position == event.position

    @given(soups(), st.floats(0, 1))
    def test_also_of_a_soup_two_halves_are_the_whole(self, events: list[Event], cut: float) -> None:
        place = int(cut * len(events))

        assert fold_all(state_of(events[:place]), events[place:]) == state_of(events)

    @given(soups())
    def test_facts_only_grow_and_share_their_tail(self, events: list[Event]) -> None:
        state = State(session_id=SESSION)
        for event in events:
            before, state = state, fold(state, event)

            assert state.facts is before.facts or (state.facts is not None and state.facts.before is before.facts)

    @given(worlds())
    def test_no_state_is_ever_changed_by_what_comes_later(self, world: World) -> None:
        state, seen = State(session_id=SESSION), []
        for event in world.log:
            state = fold(state, event)
            seen.append((state, repr(state)))

        assert all(repr(state) == shown for state, shown in seen)

    @given(worlds())
    def test_totals_only_grow(self, world: World) -> None:
        state = State(session_id=SESSION)
        for event in world.log:
            before, state = state.totals, fold(state, event)

            assert state.totals.requests >= before.requests
            assert state.totals.tokens >= before.tokens
            assert state.totals.cost_usd >= before.cost_usd
            assert state.totals.unpriced >= before.unpriced

    @given(worlds())
    def test_the_phase_agrees_with_the_open_calls(self, world: World) -> None:
        state = State(session_id=SESSION)
        for event in world.log:
            state = fold(state, event)

            assert bool(state.open) == (state.phase in (Phase.CALLING, Phase.WAITING))
            assert (state.ending is not None) == (state.phase is Phase.ENDING)
            waits = [each.status is Status.WAITING for each in state.open.values()]
            assert state.phase is not Phase.WAITING or all(waits)
            assert state.phase is not Phase.CALLING or not all(waits)

    def test_a_kind_nobody_knows_moves_only_the_position(self) -> None:
        before = after(BEGUN, SAID)

        now = fold(before, Event(SESSION, 3, START, Unknown(unknown_kind="agent.dreamt", version=9, data={})))

        assert replace(now, position=2, active_at=before.active_at) == before

    def test_a_long_chain_of_facts_can_be_compared_and_shown(self) -> None:
        one, other = State(session_id="s"), State(session_id="s")
        fact: Fact | None = None
        twin: Fact | None = None
        for place in range(5000):
            fact, twin = Fact(place, "look", {}, {}, fact), Fact(place, "look", {}, {}, twin)

        one, other = replace(one, facts=fact), replace(other, facts=twin)

        assert one == other
        assert len(repr(one)) < 5000


class TestSessions:
    def test_creation_says_who_and_for_whom(self) -> None:
        state = after(BEGUN)

        assert (state.agent, state.identity, state.title, state.metadata) == (
            BEGUN.agent,
            {"user": "u1"},
            "t",
            {"a": 1},
        )
        assert state.phase is Phase.QUIET

    def test_an_update_changes_only_what_it_names(self) -> None:
        state = after(BEGUN, SessionUpdated(title="new"), SessionUpdated(metadata={}))

        assert (state.title, state.metadata, state.agent, state.identity) == ("new", {}, BEGUN.agent, {"user": "u1"})
        assert after(BEGUN, SessionUpdated(agent={"model": "n"})).agent == {"model": "n"}

    @given(worlds(updates=True))
    def test_nothing_the_model_or_a_person_says_changes_the_identity(self, world: World) -> None:
        assert world.state.identity == {"user": "u1"}


class TestAnswers:
    def test_an_answer_ends_the_turn_with_its_text(self) -> None:
        state = after(BEGUN, SAID, ASKED, answered(text("a"), text("b")))

        assert (state.phase, state.ending) == (Phase.ENDING, Ended(text="ab"))

    def test_tutorial_1_6_all_text_counts_also_behind_thinking(self) -> None:
        thought = {"type": "thinking", "thinking": "hm", "signature": "s"}

        state = after(BEGUN, SAID, ASKED, answered(thought, text("a"), thought, text("b")))

        assert state.ending == Ended(text="ab")

    def test_B069_of_a_refusal_nothing_is_run(self) -> None:
        state = after(BEGUN, SAID, ASKED, answered(text("I will"), call(), stop="refusal"))

        assert state.open == {}
        assert state.ending == Refused(category="cyber", explanation="no")

    @pytest.mark.parametrize("details", [None, "no", [], {}])
    def test_a_refusal_without_details_is_a_refusal(self, details: Any) -> None:
        refused = ModelAnswered(message={**message([], "refusal"), "stop_details": details})

        assert after(BEGUN, SAID, ASKED, refused).ending == Refused()

    def test_B068_a_full_context_and_a_new_reason_are_not_success(self) -> None:
        full = after(BEGUN, SAID, ASKED, answered(text("half"), stop="model_context_window_exceeded"))
        new = after(BEGUN, SAID, ASKED, answered(text("half"), call(), stop="brand_new"))

        assert full.ending == ContextFull(text="half")
        assert new.ending == UnsupportedStop(stop_reason="brand_new", text="half")
        assert new.open == {}

    def test_B041_a_call_in_a_turn_that_is_over_is_open_but_refused(self) -> None:
        state = after(*calling(call(), stop="end_turn"))

        assert state.phase is Phase.CALLING
        assert state.open[FIRST].refused is not None

    def test_B033_a_malformed_input_is_open_but_refused(self) -> None:
        state = after(*calling(call(), call("toolu_2"), malformed=[1]))

        assert state.open[FIRST].refused is None
        assert state.open[SECOND].refused is not None

    def test_calls_keep_the_models_order_and_get_ids_of_our_own(self) -> None:
        state = after(*calling(text("x"), call("same"), call("same")))

        assert list(state.open) == [SECOND, THIRD]
        assert [each.call.tool_use_id for each in state.open.values()] == ["same", "same"]

    def test_B072_an_empty_answer_does_not_end_with_an_earlier_text(self) -> None:
        state = after(
            *calling(text("checking..."), call()),
            ended("sevt_world_4.1"),
            ASKED,
            answered(),
            SessionIdle(stop_reason=to_wire(Empty())),
        )

        assert state.outcome == Empty(text="")

    def test_a_cut_answer_and_its_continuation_are_one_text(self) -> None:
        state = after(
            BEGUN,
            SAID,
            ASKED,
            answered(text("one "), stop="max_tokens"),
            LoopNudged(reason="max_tokens", text="go on"),
            ASKED,
            answered(text("two")),
        )

        assert state.ending == Ended(text="one two")

    def test_B072_a_cut_answer_without_text_does_not_repeat_an_earlier_one(self) -> None:
        state = after(
            *calling(text("checking..."), call()),
            ended("sevt_world_4.1"),
            ASKED,
            answered(call("toolu_2"), stop="max_tokens"),
        )

        assert state.phase is Phase.CUT
        assert state.partial_text == ""

    def test_an_answer_continued_before_tools_is_not_part_of_the_answer_after_them(self) -> None:
        state = after(
            BEGUN,
            SAID,
            ASKED,
            answered(text("I am going "), stop="max_tokens"),
            LoopNudged(reason="max_tokens", text="go on"),
            ASKED,
            answered(text("to look."), call(), stop="tool_use"),
        )
        assert state.partial_text == "I am going to look."

        (call_id,) = state.open
        events = log_of(ended(call_id), ASKED, answered(text("Done.")))
        state = fold_all(state, [replace(event, position=event.position + 7) for event in events])

        assert state.ending == Ended(text="Done.")

    def test_a_larger_limit_is_asked_for_only_while_answers_are_cut(self) -> None:
        cut = [BEGUN, SAID, ASKED, answered(text("x"), stop="max_tokens"), RequestStarted(model="m", max_tokens=200)]

        assert after(*cut).turn.growths == 1
        assert after(*cut, answered(text("y"))).turn.growths == 0


class TestMessages:
    def test_a_message_begins_a_turn(self) -> None:
        state = after(BEGUN, SAID)

        assert (state.phase, state.unheard, state.queued) == (Phase.ASKING, True, False)
        assert state.turn.began_at == START + timedelta(seconds=2)

    def test_B002_a_message_during_open_calls_waits(self) -> None:
        state = after(*calling(call()), SAID)

        assert (state.phase, state.unheard) == (Phase.CALLING, True)

    def test_a_message_that_a_request_of_the_turn_carries_needs_no_turn_of_its_own(self) -> None:
        state = after(
            *calling(call()), SAID, ended(FIRST), ASKED, answered(text("x")), SessionIdle(stop_reason=to_wire(Ended()))
        )

        assert (state.phase, state.unheard, state.queued) == (Phase.QUIET, False, False)

    def test_a_message_that_no_request_of_the_turn_carries_begins_the_next(self) -> None:
        state = after(BEGUN, SAID, ASKED, SAID, answered(text("x")), SessionIdle(stop_reason=to_wire(Ended())))

        assert (state.phase, state.unheard, state.queued) == (Phase.ASKING, True, False)
        assert state.turn.answers == 0

    def test_a_message_just_before_the_end_is_written_begins_the_next_turn(self) -> None:
        # The end was decided when the message had not come; the journal writes it wherever the log is.
        cut = [BEGUN, SAID, ASKED, answered(text("x"), stop="max_tokens")]

        state = after(*cut, SAID, SessionIdle(stop_reason=to_wire(Truncated())))

        assert state.phase is Phase.ASKING

    def test_a_message_that_a_limit_keeps_from_being_heard_is_not_tried_for_ever(self) -> None:
        state = after(BEGUN, SAID, SessionIdle(stop_reason=to_wire(LimitReached(limit="turns"))))

        assert (state.phase, state.unheard) == (Phase.QUIET, True)
        assert fold(state, Event(SESSION, 4, START, SAID)).phase is Phase.ASKING

    def test_a_message_after_a_request_that_died_is_heard(self) -> None:
        # Request under way, crash, interrupt, rest: nothing is in flight any more.
        state = after(BEGUN, SAID, ASKED, UserInterrupt(), SessionIdle(stop_reason=to_wire(Interrupted())), SAID)

        assert (state.phase, state.in_flight) == (Phase.ASKING, 0)

    def test_text_waits_while_a_server_tool_is_open(self) -> None:
        server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}

        state = after(BEGUN, SAID, ASKED, answered(server, stop="pause_turn"), SAID, ASKED)
        assert (state.holds_back, state.unheard, state.queued) == (True, True, True)

        state = after(BEGUN, SAID, ASKED, answered(server, stop="max_tokens"), SAID, ASKED)
        assert (state.holds_back, state.unheard) == (False, False)


class TestInterrupts:
    def test_nothing_is_interrupted_when_nothing_is_owed(self) -> None:
        assert after(BEGUN, UserInterrupt()).interrupted is None

    def test_an_interrupt_stops_what_was_said_before_it(self) -> None:
        state = after(
            BEGUN, SAID, ASKED, SAID, UserInterrupt(), answered(text("x")), SessionIdle(stop_reason=to_wire(Ended()))
        )

        assert (state.phase, state.unheard) == (Phase.QUIET, True)

    def test_what_is_said_after_an_interrupt_begins_a_turn_once_it_has_stopped(self) -> None:
        stop = SessionIdle(stop_reason=to_wire(Interrupted()))

        state = after(BEGUN, SAID, UserInterrupt(), SAID, stop)

        assert (state.phase, state.interrupted) == (Phase.ASKING, None)

    def test_an_interrupt_just_before_a_rest_for_approval_is_not_forgotten(self) -> None:
        waits = SessionIdle(stop_reason=to_wire(AwaitingAction(event_ids=(FIRST,))))

        state = after(*calling(call()), waiting(FIRST, type="approval"), UserInterrupt(), waits)

        assert (state.phase, state.interrupted) == (Phase.WAITING, UserInterrupt())


class TestCalls:
    def test_B022_each_result_closes_its_own_call(self) -> None:
        state = after(*calling(call("a"), call("b"), call("c")), ended(SECOND))

        assert list(state.open) == [FIRST, THIRD]
        assert state.phase is Phase.CALLING

    def test_when_every_call_is_answered_the_model_owes_an_answer(self) -> None:
        assert after(*calling(call("a"), call("b")), ended(SECOND), ended(FIRST)).phase is Phase.ASKING

    def test_a_result_that_comes_twice_counts_once(self) -> None:
        once = after(*calling(call("a"), call("b")), ended(FIRST, data=1))
        twice = after(*calling(call("a"), call("b")), ended(FIRST, data=1), ended(FIRST, data=2))

        assert facts(once) == facts(twice)
        assert once.turn == twice.turn

    def test_only_successes_are_facts_newest_first(self) -> None:
        state = after(
            *calling(call("a"), call("b"), call("c")),
            ended(THIRD, data=3),
            ended(FIRST, data=1),
            ended(SECOND, is_error=True),
        )

        assert [fact.data for fact in state.results("look")] == [1, 3]
        assert list(state.results("other")) == []

    def test_the_session_waits_only_when_every_open_call_waits(self) -> None:
        one = after(*calling(call("a"), call("b")), waiting(FIRST, type="approval"))
        both = after(*calling(call("a"), call("b")), waiting(FIRST, type="approval"), waiting(SECOND, type="job"))

        assert (one.phase, both.phase) == (Phase.CALLING, Phase.WAITING)

    def test_B182_a_decision_moves_its_call_and_no_other(self) -> None:
        both = [*calling(call("a"), call("b")), waiting(FIRST, type="approval"), waiting(SECOND, type="approval")]

        state = after(*both, allowed(SECOND))

        assert state.phase is Phase.CALLING
        assert [each.status for each in state.open.values()] == [Status.WAITING, Status.DECIDED]

    def test_B179_a_decision_is_used_once_the_first_counts(self) -> None:
        deny = replace(allowed(FIRST), result="deny")

        state = after(*calling(call()), waiting(FIRST, type="approval"), allowed(FIRST), deny)

        assert state.open[FIRST].decision == allowed(FIRST)

    @pytest.mark.parametrize(
        "before",
        [
            [],
            [ToolStarted(tool_use_id=FIRST, name="look", input={}, effect="irreversible", key="k")],
            [waiting(FIRST, type="job")],
            [waiting(FIRST, type="order", after=SECOND)],
        ],
    )
    def test_B175_a_decision_that_nobody_asked_for_changes_nothing(self, before: list[Any]) -> None:
        bodies = [*calling(call(), call("b")), *before]

        state = after(*bodies, allowed(FIRST))

        assert state.open == after(*bodies).open

    def test_a_call_that_waits_for_another_moves_when_that_has_ended(self) -> None:
        waits = [
            *calling(call("a"), call("b")),
            waiting(FIRST, type="approval"),
            waiting(SECOND, type="order", after=FIRST),
        ]
        assert after(*waits).phase is Phase.WAITING

        state = after(*waits, ended(FIRST))

        assert state.open[SECOND].status is Status.PROPOSED
        assert state.phase is Phase.CALLING

    def test_a_call_does_not_wait_for_one_that_has_ended_meanwhile(self) -> None:
        state = after(*calling(call("a"), call("b")), ended(FIRST), waiting(SECOND, type="order", after=FIRST))

        assert (state.phase, state.open[SECOND].status) == (Phase.CALLING, Status.PROPOSED)

    @pytest.mark.parametrize("junk", [None, "soon", "", 12, [], {}])
    def test_a_moment_that_nobody_can_read_is_never(self, junk: Any) -> None:
        state = after(*calling(call()), waiting(FIRST, type="job", expires_at=junk))

        assert state.open[FIRST].expires_at is None

    def test_a_moment_without_a_zone_is_utc(self) -> None:
        state = after(*calling(call()), waiting(FIRST, type="job", expires_at="2026-12-01T09:00:00"))

        assert state.open[FIRST].expires_at == START


class TestFailures:
    def test_a_failure_that_will_be_tried_again_says_when(self) -> None:
        state = after(BEGUN, SAID, ASKED, ModelFailed(error={}, retry_in_seconds=5))

        assert (state.phase, state.failures, state.in_flight) == (Phase.ASKING, 1, 0)
        assert state.retry_at == START + timedelta(seconds=4 + 5)
        assert state.failing_since == START + timedelta(seconds=4)

    def test_B239_an_answer_forgets_the_failures_before_it(self) -> None:
        state = after(BEGUN, SAID, ASKED, ModelFailed(error={}, retry_in_seconds=5), ASKED, answered(text("x")))

        assert (state.failures, state.failing_since, state.retry_at) == (0, None, None)
        assert state.ending == Ended(text="x")

    def test_the_last_failure_ends_the_turn(self) -> None:
        state = after(BEGUN, SAID, ASKED, ModelFailed(error={"type": "x"}))

        assert state.ending == ModelUnavailable(error={"type": "x"})

    def test_the_next_turn_begins_to_count_failures_anew(self) -> None:
        gave_up = SessionIdle(stop_reason=to_wire(ModelUnavailable()))

        state = after(
            BEGUN, SAID, ASKED, ModelFailed(error={}, retry_in_seconds=5), ASKED, SAID, ModelFailed(error={}), gave_up
        )

        assert (state.phase, state.failures, state.failing_since) == (Phase.ASKING, 0, None)


class TestCounting:
    @pytest.mark.parametrize(
        "usage", [None, "much", [], {}, {"input_tokens": None}, {"input_tokens": -3}, {"iterations": 3}]
    )
    def test_odd_usage_counts_as_none_and_the_answer_still_counts(self, usage: Any) -> None:
        state = after(BEGUN, SAID, ASKED, ModelAnswered(message={**message([text("x")], "end_turn"), "usage": usage}))

        assert (state.totals.tokens, state.totals.unpriced, state.turn.answers) == (0, 1, 1)

    def test_tokens_are_the_sum_of_the_iterations(self) -> None:
        usage = {
            "input_tokens": 1,
            "output_tokens": 1,
            "iterations": [
                {"type": "compaction", "input_tokens": 100, "output_tokens": 10},
                {"type": "message", "input_tokens": 20, "output_tokens": 5, "cache_read_input_tokens": 7},
            ],
        }

        totals = after(
            BEGUN, SAID, ASKED, ModelAnswered(message={**message([text("x")], "end_turn"), "usage": usage})
        ).totals

        assert (totals.input_tokens, totals.output_tokens, totals.cache_read_tokens) == (120, 15, 7)

    def test_costs_are_added_exactly_and_unknown_is_not_free(self) -> None:
        ten = [ASKED, answered(text("x")), SessionIdle(stop_reason=to_wire(Ended())), SAID] * 10

        state = after(BEGUN, SAID, *ten, ASKED, ModelAnswered(message=message([text("x")], "end_turn")))

        assert (state.totals.cost_usd, state.totals.unpriced) == (Decimal("0.10"), 1)

    def test_B243_the_same_call_with_the_same_result_is_counted_also_when_another_stands_between(self) -> None:
        bodies: list[Any] = [BEGUN, SAID]
        for turn in range(3):
            for key in ("a", "b"):
                place = len(bodies) + 2
                bodies += [
                    ASKED,
                    answered(call(f"t{turn}{key}", key=key), stop="tool_use"),
                    ended(f"sevt_world_{place}.0"),
                ]

        assert [count for _, count in after(*bodies).turn.repeats.values()] == [3, 3]

    def test_B243_polling_with_changing_results_is_not_a_repeat(self) -> None:
        bodies: list[Any] = [BEGUN, SAID]
        for turn in range(4):
            place = len(bodies) + 2
            bodies += [
                ASKED,
                answered(call(f"t{turn}"), stop="tool_use"),
                ended(f"sevt_world_{place}.0", f"{turn} %"),
            ]

        assert [count for _, count in after(*bodies).turn.repeats.values()] == [1]


class TestWorkingTime:
    def test_waiting_for_the_harness_and_for_people_is_not_work(self) -> None:
        def at(second: int, place: int, body: Any) -> Event:
            return Event(SESSION, place, START + timedelta(seconds=second), body)

        rest = SessionIdle(stop_reason=to_wire(AwaitingAction(event_ids=("sevt_world_5.0",))))
        state = state_of(
            [
                at(0, 1, BEGUN),
                at(100, 2, SAID),
                at(150, 3, SessionRunning(epoch=1)),
                at(151, 4, ASKED),
                at(155, 5, answered(call(), stop="tool_use")),
                at(156, 6, waiting("sevt_world_5.0", type="approval")),
                at(157, 7, rest),
                at(900, 8, SessionUpdated(title="while nobody works")),
                at(999, 9, allowed("sevt_world_5.0")),
                at(1000, 10, SessionRunning(epoch=2)),
            ]
        )

        assert state.turn.began_at is not None
        worked = START + timedelta(seconds=1003) - state.turn.began_at
        assert worked == timedelta(seconds=7 + 3)

    def test_B268_a_clock_that_steps_back_does_not_lengthen_the_turn(self) -> None:
        events = [
            Event(SESSION, 1, START, BEGUN),
            Event(SESSION, 2, START, SAID),
            Event(SESSION, 3, START - timedelta(hours=1), SessionRunning(epoch=1)),
        ]

        assert state_of(events).turn.began_at == START
