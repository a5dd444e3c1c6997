"""What a session needs next: total, bounded, and never more than it may."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relevo.agent import Limits
from relevo.events import (
    Event,
    LoopNudged,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionIdle,
    ToolEnded,
    ToolStarted,
    ToolWaiting,
    UserInterrupt,
    UserMessage,
)
from relevo.fold import fold
from relevo.loop.decide import (
    CONTINUE,
    MAX_GROWTHS,
    PLEASE_ANSWER,
    AskModel,
    CloseCalls,
    Nothing,
    Nudge,
    Rest,
    RunTools,
    decide,
)
from relevo.outcome import (
    AwaitingAction,
    Empty,
    Ended,
    Interrupted,
    Limit,
    LimitReached,
    ModelUnavailable,
    Truncated,
    from_wire,
    to_wire,
)
from relevo.phases import Phase
from relevo.state import State
from relevo.stops import Reading, read
from tests.worlds import INPUTS, START, World, calm, log_of, message, play, soups, state_of, worlds

MANY = settings(max_examples=200)

BEGUN = SessionCreated(agent={"name": "helper", "model": "m"})
SAID = UserMessage(content=[{"type": "text", "text": "hello"}])
ASKED = RequestStarted(model="m", max_tokens=1000)
NO_LIMITS = Limits(turns=None, tool_calls=None, repeats=None)
SOON = START + timedelta(seconds=30)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(tool_use_id: str = "toolu_1", name: str = "look", **given_: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given_ or {"key": "a"}}


def answered(*content: Any, stop: str = "end_turn", cost: str | None = "0.01") -> ModelAnswered:
    return ModelAnswered(message=message(content, stop), cost_usd=cost)


def step_after(*bodies: Any, limits: Limits = NO_LIMITS, at: Any = SOON) -> Any:
    return decide(state_of(log_of(*bodies)), limits, now=at, first_limit=1000, largest_limit=4000)


CALLING = [BEGUN, SAID, ASKED, answered(call("a"), call("b"), stop="tool_use")]
FIRST, SECOND = "sevt_world_4.0", "sevt_world_4.1"


def waiting(call_id: str, **until: Any) -> ToolWaiting:
    return ToolWaiting(tool_use_id=call_id, name="look", input={}, until=until)


def ended(call_id: str) -> ToolEnded:
    return ToolEnded(tool_use_id=call_id, name="look", content="fine")


def peaceful(limits: Limits, model: Callable[[World], dict[str, Any]], **how: Any) -> World:
    """A session in which only the model acts, driven until it rests."""
    world = World(
        Random(1), people=0, crashes=0, failures=0, jobs=0, limits=limits, approval_seconds=None, model=model, **how
    )
    world.speak()
    calm(world)
    return world


def always(*content: Any, stop: str) -> Callable[[World], dict[str, Any]]:
    return lambda _: message(content, stop)


def looking(world: World) -> dict[str, Any]:
    """A model that looks up something else each time."""
    return message([call(f"toolu_{len(world.log)}", key=str(len(world.log)))], "tool_use")


def count(world: World, kind: type[Any]) -> int:
    return sum(isinstance(event.body, kind) for event in world.log)


def all_answered(world: World) -> bool:
    return not world.state.open and world.projection.memory.calls == ()


class TestEveryWorld:
    @MANY
    @given(worlds())
    def test_every_session_comes_to_rest(self, world: World) -> None:
        # A world raises Livelock when a process takes too many steps.
        assert world.state.phase in (Phase.QUIET, Phase.WAITING)

    @MANY
    @given(worlds(people=0.9, crashes=0.2, failures=0.7))
    def test_also_when_everything_goes_wrong(self, world: World) -> None:
        assert world.state.phase in (Phase.QUIET, Phase.WAITING)

    @given(worlds(), st.integers(0, 10**7))
    def test_what_rests_waits_for_nobody_for_ever(self, world: World, later: int) -> None:
        """A waiting session names the calls that wait, and an interrupt always ends it."""
        if world.state.phase is Phase.WAITING:
            assert isinstance(world.state.outcome, AwaitingAction)
            assert world.state.outcome.event_ids
            assert set(world.state.outcome.event_ids) <= set(world.state.open)

        world.now += timedelta(seconds=later)
        world._write(UserInterrupt())
        calm(world)

        assert world.state.phase is Phase.QUIET

    @MANY
    @given(worlds(people=0.5))
    def test_a_message_is_left_unheard_only_by_a_limit_an_outage_or_an_interrupt_after_it(self, world: World) -> None:
        if world.state.phase is Phase.QUIET and world.state.unheard:
            last = max(event.position for event in world.log if isinstance(event.body, UserMessage))
            stopped = any(isinstance(event.body, UserInterrupt) for event in world.log[last:])

            # While a server tool holds text back, a request that carries none of it may be the one that fails.
            assert stopped or isinstance(world.state.outcome, LimitReached | ModelUnavailable)

    @MANY
    @given(worlds())
    def test_nothing_of_a_cut_refused_or_unknown_answer_is_ever_run(self, world: World) -> None:
        runnable = set()
        for event in world.log:
            match event.body:
                case ModelAnswered(message=answer) if read(answer) is Reading.CALLS:
                    runnable |= {f"{event.id}.{place}" for place in range(len(answer["content"]))}
                case ToolStarted(tool_use_id=call_id):
                    assert call_id in runnable
                case _:
                    pass

    @MANY
    @given(worlds())
    def test_B073_no_turn_has_more_answers_than_its_cap(self, world: World) -> None:
        assert world.limits is not None
        state = state_of([])
        for event in world.log:
            state = fold(state, event)

            assert world.limits.turns is None or state.turn.answers <= world.limits.turns

    @given(worlds(), st.sampled_from([0, 60, 10**9]))
    def test_resting_again_changes_nothing(self, world: World, later: int) -> None:
        expires = any(each.expires_at for each in world.state.open.values())
        length = len(world.log)

        world.now += timedelta(seconds=0 if expires else later)
        calm(world)

        assert len(world.log) == length

    @given(soups(), st.floats(-1e6, 1e6))
    def test_deciding_never_raises(self, events: list[Event], seconds: float) -> None:
        state, now = state_of(events), START + timedelta(seconds=seconds)

        for limits in (Limits(), NO_LIMITS, Limits(turns=0, seconds=0, tokens=0, cost_usd=Decimal(0), repeats=0)):
            step = decide(state, limits, now=now, first_limit=1, largest_limit=1)

            assert isinstance(step, AskModel | RunTools | CloseCalls | Nudge | Rest | Nothing)

    @given(worlds())
    def test_what_is_returned_is_what_the_log_says(self, world: World) -> None:
        """The outcome that `run` returns comes from the state; the log's own word means the same."""
        last = next((e.body for e in reversed(world.log) if isinstance(e.body, SessionIdle)), None)
        if last is not None and world.state.outcome is not None:
            assert from_wire(last.stop_reason, world.state.outcome.text) == world.state.outcome


class TestSteps:
    def test_nothing_is_owed_before_anybody_spoke(self) -> None:
        assert step_after(BEGUN) == Nothing(None)

    def test_a_message_asks_the_model(self) -> None:
        assert step_after(BEGUN, SAID) == AskModel(1000)

    def test_a_request_that_died_is_sent_again(self) -> None:
        assert step_after(BEGUN, SAID, ASKED) == AskModel(1000)

    def test_a_failure_is_tried_again_at_its_time(self) -> None:
        step = step_after(BEGUN, SAID, ASKED, ModelFailed(error={}, retry_in_seconds=5))

        assert step == AskModel(1000, START + timedelta(seconds=9))

    def test_an_answer_ends_the_turn_and_then_nothing_is_owed(self) -> None:
        bodies = [BEGUN, SAID, ASKED, answered(text("done"))]

        assert step_after(*bodies) == Rest(Ended(text="done"))
        assert step_after(*bodies, SessionIdle(stop_reason=to_wire(Ended()))) == Nothing(Ended(text="done"))

    def test_calls_are_run(self) -> None:
        step = step_after(*CALLING)

        assert [each.call.id for each in step.calls] == [FIRST, SECOND]

    def test_a_waiting_call_is_not_run_and_its_sibling_is(self) -> None:
        step = step_after(*CALLING, waiting(FIRST, type="approval"))

        assert [each.call.id for each in step.calls] == [SECOND]

    def test_when_all_wait_it_says_for_which_once(self) -> None:
        bodies = [*CALLING, waiting(FIRST, type="approval"), waiting(SECOND, type="order", after=FIRST)]

        assert step_after(*bodies) == Rest(AwaitingAction(event_ids=(FIRST,)))
        awaiting = AwaitingAction(event_ids=(FIRST,))
        assert step_after(*bodies, SessionIdle(stop_reason=to_wire(awaiting))) == Nothing(awaiting)

    def test_an_expired_wait_is_judged_again_at_its_very_moment(self) -> None:
        moment = (START + timedelta(seconds=10)).isoformat()
        bodies = [*CALLING, waiting(FIRST, type="approval", expires_at=moment), waiting(SECOND, type="approval")]

        assert isinstance(step_after(*bodies, at=START + timedelta(seconds=9.999)), Rest)
        step = step_after(*bodies, at=START + timedelta(seconds=10))

        assert [each.call.id for each in step.calls] == [FIRST]


class TestInterrupts:
    @pytest.mark.parametrize(
        "bodies",
        [
            [BEGUN, SAID],
            [BEGUN, SAID, ASKED],
            [BEGUN, SAID, ASKED, ModelFailed(error={}, retry_in_seconds=1)],
            [BEGUN, SAID, ASKED, answered(text("half"), stop="max_tokens")],
            [BEGUN, SAID, ASKED, answered()],
            [BEGUN, SAID, ASKED, answered(text("x"), stop="compaction")],
        ],
    )
    def test_between_calls_an_interrupt_ends_the_turn(self, bodies: list[Any]) -> None:
        step = step_after(*bodies, UserInterrupt(reason="enough"))

        assert isinstance(step.outcome, Interrupted)
        assert step.outcome.reason == "enough"

    @pytest.mark.parametrize(
        "waits",
        [
            [],
            [waiting(FIRST, type="approval")],
            [waiting(FIRST, type="approval"), waiting(SECOND, type="order", after=FIRST)],
        ],
    )
    def test_B007_an_interrupt_closes_all_open_calls(self, waits: list[Any]) -> None:
        step = step_after(*CALLING, *waits, UserInterrupt())

        assert isinstance(step, CloseCalls)
        assert [each.call.id for each in step.calls] == [FIRST, SECOND]

    def test_B007_also_when_it_came_while_the_last_movable_call_ran(self) -> None:
        step = step_after(*CALLING, waiting(FIRST, type="approval"), UserInterrupt(), ended(SECOND))

        assert isinstance(step, CloseCalls)

    def test_B007_also_when_it_came_just_before_the_rest_was_written(self) -> None:
        rest = SessionIdle(stop_reason=to_wire(AwaitingAction(event_ids=(FIRST, SECOND))))

        step = step_after(
            *CALLING, waiting(FIRST, type="approval"), waiting(SECOND, type="approval"), UserInterrupt(), rest
        )

        assert isinstance(step, CloseCalls)

    def test_an_answer_that_has_come_is_kept(self) -> None:
        step = step_after(BEGUN, SAID, ASKED, UserInterrupt(), answered(text("done")))

        assert step == Rest(Ended(text="done"))


class TestCutAnswers:
    def test_the_limit_grows_to_the_largest_and_then_the_model_is_asked_to_go_on(self) -> None:
        bodies: list[Any] = [BEGUN, SAID]
        grown = []
        step = step_after(*bodies)
        while isinstance(step, AskModel):
            grown.append(step.max_tokens)
            bodies += [RequestStarted(model="m", max_tokens=step.max_tokens), answered(text("half"), stop="max_tokens")]
            step = step_after(*bodies)

        assert grown == [1000, 2000, 4000]
        assert step == Nudge("max_tokens", CONTINUE)

    def test_it_grows_only_so_often(self) -> None:
        bodies: list[Any] = [BEGUN, SAID]
        requests = 0
        while isinstance(step := _decided(bodies, largest=10**9), AskModel):
            requests += 1
            bodies += [RequestStarted(model="m", max_tokens=step.max_tokens), answered(text("x"), stop="max_tokens")]

        assert requests == 1 + MAX_GROWTHS

    def test_a_grown_limit_survives_a_failure(self) -> None:
        grown = RequestStarted(model="m", max_tokens=2000)
        bodies = [BEGUN, SAID, ASKED, answered(text("x"), stop="max_tokens"), grown]

        step = step_after(*bodies, ModelFailed(error={}, retry_in_seconds=1))

        assert step.max_tokens == 2000

    def test_B044_a_cut_call_without_text_is_not_asked_to_go_on(self) -> None:
        cut = [RequestStarted(model="m", max_tokens=4000), answered(call(), stop="max_tokens")]

        assert step_after(BEGUN, SAID, *cut) == Rest(Truncated())

    def test_nudges_are_counted(self) -> None:
        cut = [RequestStarted(model="m", max_tokens=4000), answered(text("x"), stop="max_tokens")]
        nudge = LoopNudged(reason="max_tokens", text=CONTINUE)

        step = step_after(BEGUN, SAID, *cut, nudge, *cut)

        assert step == Rest(Truncated(text="xx"))

    def test_B072_an_empty_answer_is_followed_by_one_new_message_and_then_by_its_outcome(self) -> None:
        nudge = LoopNudged(reason="empty", text=PLEASE_ANSWER)

        assert step_after(BEGUN, SAID, ASKED, answered(), limits=Limits()) == Nudge("empty", PLEASE_ANSWER)
        assert step_after(BEGUN, SAID, ASKED, answered(), nudge, ASKED, answered(), limits=Limits()) == Rest(Empty())
        assert step_after(BEGUN, SAID, ASKED, answered(), limits=Limits(nudges=0)) == Rest(Empty())


def _decided(bodies: list[Any], *, largest: int) -> Any:
    return decide(state_of(log_of(*bodies)), NO_LIMITS, now=SOON, first_limit=1000, largest_limit=largest)


def limit_of(world: World) -> Limit | None:
    return world.state.outcome.limit if isinstance(world.state.outcome, LimitReached) else None


class TestLimits:
    @given(st.integers(0, 7))
    def test_B073_exactly_so_many_answers_and_every_call_closed(self, turns: int) -> None:
        world = peaceful(Limits(turns=turns), looking)

        assert count(world, ModelAnswered) == turns
        assert limit_of(world) == "turns"
        assert all_answered(world)

    def test_B073_a_new_message_goes_on_with_fresh_caps(self) -> None:
        world = peaceful(Limits(turns=3), looking)

        world.speak()
        calm(world)

        assert count(world, ModelAnswered) == 6

    @given(st.integers(0, 4))
    def test_more_calls_than_the_cap_are_closed_not_run(self, cap: int) -> None:
        world = peaceful(Limits(tool_calls=cap), looking)

        assert count(world, ToolStarted) == cap
        assert limit_of(world) == "tool_calls"
        assert all_answered(world)

    @pytest.mark.parametrize("cap", [1, 2, 5])
    def test_B243_the_same_call_with_the_same_result_ends_at_the_cap(self, cap: int) -> None:
        world = peaceful(Limits(repeats=cap), lambda w: message([call(f"t{len(w.log)}", name="nothing")], "tool_use"))

        assert count(world, ModelAnswered) == cap
        assert limit_of(world) == "repeats"
        assert all_answered(world)

    def test_B243_ping_pong_is_a_repeat(self) -> None:
        def ping_pong(world: World) -> dict[str, Any]:
            return message(
                [call(f"t{len(world.log)}", name=("ping", "pong")[count(world, ModelAnswered) % 2])], "tool_use"
            )

        world = peaceful(Limits(repeats=5), ping_pong)

        assert count(world, ModelAnswered) == 9
        assert limit_of(world) == "repeats"

    def test_B243_polling_with_changing_results_is_allowed(self) -> None:
        polls = 0
        bodies: list[Any] = [BEGUN, SAID]
        while isinstance(_polled(bodies), AskModel) and polls < 12:
            polls += 1
            place = len(bodies) + 2
            started = ToolStarted(tool_use_id=f"sevt_world_{place}.0", name="look", input={}, effect="read", key="k")
            result = ToolEnded(tool_use_id=f"sevt_world_{place}.0", name="look", content=f"{polls} %")
            bodies += [ASKED, answered(call(f"t{polls}"), stop="tool_use"), started, result]

        assert polls == 12

    def test_B243_a_repeat_is_announced_to_the_model_before_it_ends(self) -> None:
        world = peaceful(Limits(repeats=5), lambda w: message([call(f"t{len(w.log)}", name="nothing")], "tool_use"))

        notes = [event.body.note for event in world.log if isinstance(event.body, ToolEnded)]
        assert [note is not None for note in notes] == [False, False, True, True, True]

    @pytest.mark.parametrize("cap", [0, 2])
    def test_pauses_in_a_row_are_counted(self, cap: int) -> None:
        server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}

        world = peaceful(Limits(pauses=cap), always(server, stop="pause_turn"))

        assert count(world, ModelAnswered) == cap + 1
        assert limit_of(world) == "pauses"

    def test_tokens_end_the_session_and_a_new_message_does_not_go_round_in_circles(self) -> None:
        world = peaceful(Limits(tokens=100), looking)
        assert (count(world, ModelAnswered), limit_of(world)) == (4, "tokens")  # 30 tokens each

        world.speak()
        calm(world)

        assert (count(world, ModelAnswered), limit_of(world), world.state.unheard) == (4, "tokens", True)

    @pytest.mark.parametrize(
        ("cost", "cap", "reached"),
        [
            ("0.01", "0.03", None),
            ("0.01", "0.01", "cost"),
            (None, "9", "cost"),
            (None, None, None),
            ("0.01", "0", "cost"),
        ],
    )
    def test_money_ends_the_session_and_an_unknown_price_is_over_every_cap(
        self, cost: str | None, cap: str | None, reached: str | None
    ) -> None:
        limits = Limits(cost_usd=None if cap is None else Decimal(cap))
        bodies = [BEGUN, SAID, ASKED, answered(text("x"), stop="compaction", cost=cost)]

        step = step_after(*bodies, limits=limits)

        assert step == (AskModel(1000) if reached is None else Rest(LimitReached(limit="cost", text="x")))

    def test_seconds_end_the_turn(self) -> None:
        assert step_after(BEGUN, SAID, limits=Limits(seconds=10), at=START + timedelta(seconds=11.9)) == AskModel(1000)
        step = step_after(BEGUN, SAID, limits=Limits(seconds=10), at=START + timedelta(seconds=12))

        assert step == Rest(LimitReached(limit="seconds"))

    def test_seconds_do_not_count_while_nobody_works(self) -> None:
        def paying_once(world: World) -> dict[str, Any]:
            if count(world, ModelAnswered):
                return message([text("done")], "end_turn")
            return message([call(name="pay", amount=500)], "tool_use")

        world = peaceful(Limits(seconds=60), paying_once)
        assert world.state.phase is Phase.WAITING
        world.now += timedelta(days=30)
        world.confirm()
        world.now += timedelta(days=1)
        calm(world)

        assert world.state.outcome == Ended(text="done")

    @pytest.mark.parametrize(
        "limits",
        [
            Limits(turns=0),
            Limits(seconds=0),
            Limits(tokens=0),
            Limits(cost_usd=Decimal(0)),
        ],
    )
    def test_B273_zero_allows_nothing(self, limits: Limits) -> None:
        world = peaceful(limits, looking)

        assert count(world, RequestStarted) == 0
        assert count(world, SessionIdle) == 1
        assert isinstance(world.state.outcome, LimitReached)

    def test_B234_none_is_no_cap(self) -> None:
        def patient(world: World) -> dict[str, Any]:
            return looking(world) if count(world, ModelAnswered) < 120 else message([text("done")], "end_turn")

        world = peaceful(NO_LIMITS, patient)

        assert count(world, ModelAnswered) == 121
        assert isinstance(world.state.outcome, Ended)

    def test_tutorial_1_7_what_was_achieved_is_in_the_outcome(self) -> None:
        world = peaceful(Limits(turns=2), lambda w: message([text("so far"), call(f"t{len(w.log)}")], "tool_use"))

        assert world.state.outcome == LimitReached(limit="turns", text="so far")


def _polled(bodies: list[Any]) -> Any:
    return step_after(*bodies, limits=Limits(repeats=2, turns=20))


class TestManySeeds:
    def test_a_thousand_worlds_come_to_rest(self) -> None:
        for seed in range(1000):
            assert play(Random(seed)).state.phase in (Phase.QUIET, Phase.WAITING)

    def test_the_worlds_are_worth_the_name(self) -> None:
        """They reach every phase, every outcome and every kind of wait, or the laws above say little."""
        phases, outcomes, kinds = set(), set(), set()
        for seed in range(300):
            state = State(session_id="s")
            for event in play(Random(seed)).log:
                state = fold(state, event)
                phases.add(state.phase)
                outcomes.add(type(state.outcome).__name__)
                kinds |= {each.awaits for each in state.open.values()}

        assert phases == set(Phase)
        assert kinds == {None, "approval", "order", "job"}
        assert {"Ended", "Refused", "Interrupted", "LimitReached", "AwaitingAction", "Empty", "Truncated"} <= outcomes
        assert set(INPUTS) == {"look", "save", "pay", "book", "erase"}
