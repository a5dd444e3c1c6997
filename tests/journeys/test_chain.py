"""
A tool that fails, hangs or comes late, seen from the log and from the wire.

Every attempt is an event, so each test counts the starts; what may be repeated is the effect's to say, and what the
model reads is one result.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest

from relevo import (
    NO_RETRY,
    Degraded,
    Done,
    Ended,
    InvalidTool,
    LimitReached,
    MovableClock,
    NotDone,
    RealClock,
    Requires,
    Retry,
    Returned,
    ToolContext,
    ToolError,
    Unclear,
    tool,
)
from relevo.events import ToolEnded, ToolEndedLate, ToolFailed, ToolStarted
from relevo.simulator import call, say
from relevo.tools.effects import EFFECTS

from .stage import Stage
from .test_cancel import stopped, until

BUSY = ToolError("Busy.", category="transient", code="busy", retryable=True)


def once_broken(effect: Any, broken: Exception = BUSY, times: int = 1, **options: Any) -> tuple[Any, list[ToolContext]]:
    """A tool that fails `times` and then works, and the contexts of its attempts."""
    attempts: list[ToolContext] = []

    @tool(effect=effect, **options)
    async def work(context: ToolContext) -> str:
        attempts.append(context)
        if len(attempts) <= times:
            raise broken
        return "worked"

    return work, attempts


REPEATS = {"read": True, "idempotent": True, "compensable": True, "irreversible": False}


@pytest.mark.parametrize("effect", REPEATS)
async def test_a_passing_failure_is_tried_again_with_the_same_key_unless_the_effect_is_irreversible(
    any_stage: Stage, effect: str
) -> None:
    work, attempts = once_broken(effect)
    await any_stage.plays([call("work"), say("ok")])
    await any_stage.run(any_stage.agent(work))

    again = REPEATS[effect]
    assert len(attempts) == 1 + again
    assert len({context.key for context in attempts}) == 1
    assert [context.attempt for context in attempts] == [1, 2][: 1 + again]
    assert len(await any_stage.bodies(ToolStarted)) == 1 + again
    assert [body.error["code"] for body in await any_stage.bodies(ToolFailed)] == ["busy"] * again
    (ended,) = await any_stage.bodies(ToolEnded)
    assert ended.is_error != again
    assert len(any_stage.results()) == 1


async def test_a_transaction_that_failed_is_tried_again_since_nothing_of_it_was_stored(disk_stage: Stage) -> None:
    work, attempts = once_broken("transactional")
    await disk_stage.plays([call("work"), say("ok")])
    await disk_stage.run(disk_stage.agent(work))

    assert len(attempts) == 2
    assert not (await disk_stage.ended())["work"].is_error


@pytest.mark.parametrize("category", ["validation", "business", "permission", "internal"])
async def test_b046_a_failure_that_waiting_cannot_cure_is_told_at_once(stage: Stage, category: Any) -> None:
    work, attempts = once_broken("read", ToolError("No.", category=category, retryable=True))
    await stage.plays([call("work"), say("ok")])
    await stage.run(stage.agent(work))

    assert len(attempts) == 1


async def test_the_model_reads_that_the_same_was_tried_and_what_came_of_it(stage: Stage) -> None:
    work, attempts = once_broken("read", times=99)
    await stage.plays([call("work"), say("ok")])
    await stage.run(stage.agent(work))

    assert len(attempts) == 3
    (result,) = stage.results()
    assert result["is_error"]
    assert "tried 3 times: busy, busy, busy" in result["content"]
    assert len(stage.sent) == 2, "the model is not asked in between"


async def test_a_tool_that_names_a_time_is_not_asked_before(stage: Stage) -> None:
    """B056."""
    clock = stage.clock
    work, attempts = once_broken("read", ToolError("Later.", category="transient", retryable=True, retry_after=20))
    await stage.plays([call("work"), say("ok")])
    before = clock.monotonic()
    await stage.run(stage.agent(work))

    assert len(attempts) == 2
    assert clock.monotonic() - before >= 20


async def test_a_wait_that_is_too_long_is_told_to_the_model_instead(stage: Stage) -> None:
    work, attempts = once_broken("read", ToolError("Later.", category="transient", retryable=True, retry_after=3600))
    await stage.plays([call("work"), say("ok")])
    await stage.run(stage.agent(work))

    assert len(attempts) == 1
    assert "3600 seconds" in stage.results()[0]["content"]


async def test_b156_every_call_has_its_own_attempts(stage: Stage) -> None:
    """What a call before it used up is not this one's."""
    work, attempts = once_broken("read", times=2)
    await stage.plays([call("work"), call("work"), say("ok")])
    await stage.run(stage.agent(work))

    assert [context.attempt for context in attempts] == [1, 2, 3, 1]


async def test_reads_side_by_side_wait_together_and_one_failure_does_not_hold_the_others_back(stage: Stage) -> None:
    work, attempts = once_broken("read", times=1)

    @tool(effect="read")
    async def other() -> str:
        return "other"

    await stage.plays([call("work") + call("other"), say("ok")])
    await stage.run(stage.agent(work, other))

    kinds = [event.kind for event in await stage.events() if event.kind.startswith("tool.")]
    assert kinds == ["tool.started", "tool.started", "tool.failed", "tool.ended", "tool.started", "tool.ended"] or (
        kinds == ["tool.started", "tool.started", "tool.ended", "tool.failed", "tool.started", "tool.ended"]
    )
    assert len(attempts) == 2


class TestTimeouts:
    @staticmethod
    def hanging(effect: Any, times: int = 1, **options: Any) -> tuple[Any, list[int]]:
        attempts: list[int] = []

        @tool(effect=effect, timeout_seconds=5, **options)
        async def hang(context: ToolContext) -> str:
            attempts.append(context.attempt)
            if len(attempts) <= times:
                await asyncio.Event().wait()
            return "worked"

        return hang, attempts

    async def played(self, stage: Stage, hang: Any, **limits: Any) -> Any:
        """Drive to the end, moving the clock whenever nothing else moves."""
        clock = stage.clock
        assert isinstance(clock, MovableClock)
        driving = asyncio.create_task(stage.run(stage.agent(hang, **limits)))
        while not driving.done():
            await asyncio.sleep(0.002)
            clock.advance(1)
        return await driving

    @pytest.mark.parametrize("effect", ["read", "idempotent", "compensable"])
    async def test_b061_a_timeout_is_tried_again_where_that_is_harmless(self, stage: Stage, effect: Any) -> None:
        hang, attempts = self.hanging(effect)
        await stage.plays([call("hang"), say("ok")])

        assert await self.played(stage, hang) == Ended(text="ok")
        assert attempts == [1, 2]
        (failed,) = await stage.bodies(ToolFailed)
        assert failed.error["code"] == "timeout"

    async def test_a_timed_out_effect_that_is_irreversible_is_unknown_and_is_never_repeated(self, stage: Stage) -> None:
        hang, attempts = self.hanging("irreversible")
        await stage.plays([call("hang"), say("ok")])
        await self.played(stage, hang)

        assert attempts == [1]
        assert (await stage.error("hang"))["outcome"] == "unknown"
        assert "unknown whether it took effect" in stage.results()[0]["content"]

    @pytest.mark.parametrize("answer", [Done("it was done"), NotDone(), Unclear("nobody knows")])
    @pytest.mark.parametrize("effect", ["irreversible", "idempotent"])
    async def test_a_timed_out_effect_is_asked_what_became_of_it(self, stage: Stage, effect: Any, answer: Any) -> None:
        asked: list[str] = []

        def look(arguments: Any, context: ToolContext) -> Any:
            asked.append(context.key)
            return answer

        hang, attempts = self.hanging(effect, reconcile=look)
        await stage.plays([call("hang"), say("ok")])
        await self.played(stage, hang)
        (ended,) = await stage.bodies(ToolEnded)

        assert len(asked) == 1
        match answer:
            case Done():
                assert (attempts, ended.content, ended.is_error) == ([1], "it was done", False)
            case NotDone() if effect == "idempotent":
                assert (attempts, ended.is_error) == ([1, 2], False)
            case NotDone():
                assert (attempts, ended.error["outcome"]) == ([1], "failed"), "known not to have happened"
            case _:
                assert attempts == ([1, 2] if effect == "idempotent" else [1])

    async def test_a_tool_that_reports_may_go_on_and_one_that_falls_silent_is_given_up(self, stage: Stage) -> None:
        reports: list[int] = []

        @tool(effect="read", timeout_seconds=None, idle_seconds=10, retry=NO_RETRY)
        async def crawl(context: ToolContext) -> str:
            for step in range(5):
                await asyncio.sleep(0)
                context.report(step, 5, "on the way")
                reports.append(step)
                await stage.clock.sleep(8)
            await asyncio.Event().wait()
            raise AssertionError

        stage.clock = MovableClock()
        await stage.plays([call("crawl"), say("ok")])
        await self.played(stage, crawl)

        assert reports == [0, 1, 2, 3, 4], "forty seconds in all, never ten without a sign"
        assert (await stage.error("crawl"))["code"] == "idle_timeout"

    async def test_a_call_is_given_up_when_the_time_of_its_turn_is_over(self, stage: Stage) -> None:
        attempts: list[int] = []

        @tool(effect="read", timeout_seconds=None)
        async def hang() -> str:
            attempts.append(1)
            await asyncio.Event().wait()
            raise AssertionError

        stage.clock = MovableClock()
        await stage.plays([call("hang")])
        outcome = await self.played(stage, hang, limits={"seconds": 30})

        assert isinstance(outcome, LimitReached)
        assert outcome.limit == "seconds"
        assert attempts == [1]
        assert (await stage.error("hang"))["code"] == "timeout"

    async def test_an_async_tool_that_swallows_its_cancel_is_left_behind(self, stage: Stage) -> None:
        """B169: an inner step that absorbs the cancel does not hold the run up."""
        leave = asyncio.Event()

        @tool(timeout_seconds=5)
        async def stubborn() -> str:
            while not leave.is_set():
                try:
                    await leave.wait()
                except asyncio.CancelledError:
                    pass
            return "after all"

        stage.clock = MovableClock()
        await stage.plays([call("stubborn"), say("one"), say("two")])
        harness = stage.harness(agent := stage.agent(stubborn))
        session = await harness.start(agent)
        clock = stage.clock
        driving = asyncio.create_task(session.run("Go."))
        while not driving.done():
            await asyncio.sleep(0.002)
            clock.advance(1)
        leave.set()
        while not await stage.bodies(ToolEndedLate):
            await asyncio.sleep(0.002)
        await session.run("And?")

        (late,) = await stage.bodies(ToolEndedLate)
        assert late.content == "after all"
        assert (await stage.error("stubborn"))["outcome"] == "unknown"
        assert "after all" in str(stage.sent[-1]["messages"])


async def test_a_thread_that_comes_back_late_is_an_event_and_news_for_the_model(stage: Stage) -> None:
    """B147: the stuck thread holds nothing up, and what it did is not lost."""
    leave = threading.Event()
    began = threading.Event()

    @tool(timeout_seconds=0.05)
    def pay() -> str:
        began.set()
        leave.wait(20)
        return "paid 50"

    stage.clock = RealClock()
    await stage.plays([call("pay"), say("one"), say("two")])
    session = await stage.begin(stage.agent(pay))
    assert await session.run("Go.") == Ended(text="one")
    leave.set()
    while not await stage.bodies(ToolEndedLate):
        await asyncio.sleep(0.002)

    assert await session.run("And?") == Ended(text="two")
    assert len(await stage.bodies(ToolEnded)) == 1, "the call was answered once"
    assert "paid 50" in str(stage.sent[-1]["messages"])
    assert "paid 50" not in str(stage.sent[1]["messages"])


class TestFallbacks:
    @staticmethod
    def priced(answer: Any, **options: Any) -> Any:
        def stale(arguments: Any, context: ToolContext) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        @tool(effect="read", fallback=stale, retry=NO_RETRY, **options)
        async def price(item: str) -> dict[str, int]:
            raise BUSY

        return price

    async def test_a_fallback_says_that_it_is_one_from_where_and_how_old(self, stage: Stage) -> None:
        price = self.priced(Degraded(value={"cents": 5}, source="yesterday's list", age_seconds=86_400))
        await stage.plays([call("price", {"item": "tea"}), say("ok")])
        await stage.run(stage.agent(price))
        (ended,) = await stage.bodies(ToolEnded)

        assert not ended.is_error
        assert ended.degraded == {"source": "yesterday's list", "age_seconds": 86_400, "because": "busy"}
        (result,) = stage.results()
        for word in ("Degraded", "busy", "yesterday's list", "86400 seconds"):
            assert word in str(result["content"])

    async def test_a_degraded_result_satisfies_no_prerequisite(self, stage: Stage) -> None:
        price = self.priced(Degraded(value={"cents": 5}, source="cache"))
        bought: list[int] = []

        @tool(requires=Requires("price"))
        async def buy() -> str:
            bought.append(1)
            return "bought"

        await stage.plays([call("price", {"item": "tea"}), call("buy"), say("ok")])
        await stage.run(stage.agent(price, buy))

        assert bought == []
        assert (await stage.error("buy"))["code"] == "prerequisite_missing"

    @pytest.mark.parametrize("answer", [None, "text", Returned("text"), ValueError("no cache"), ToolError("no")])
    async def test_a_fallback_that_has_nothing_leaves_the_failure(self, stage: Stage, answer: Any) -> None:
        await stage.plays([call("price", {"item": "tea"}), say("ok")])
        await stage.run(stage.agent(self.priced(answer)))

        assert (await stage.error("price"))["code"] == "busy"

    async def test_only_failures_that_may_pass_fall_back(self, stage: Stage) -> None:
        @tool(effect="read", fallback=lambda arguments, context: Degraded(value="old", source="cache"))
        async def price() -> str:
            raise ToolError("No such item.", category="business")

        await stage.plays([call("price"), say("ok")])
        await stage.run(stage.agent(price))

        assert (await stage.ended())["price"].is_error

    @pytest.mark.parametrize("effect", [effect for effect in EFFECTS if effect not in ("read", "transactional")])
    def test_nothing_stands_in_for_an_effect(self, effect: Any) -> None:
        def pay() -> str:
            return "paid"

        with pytest.raises(InvalidTool, match="only a read"):
            tool(pay, effect=effect, fallback=lambda arguments, context: Degraded(value=1, source="x"))


class TestCrashes:
    async def test_attempts_are_counted_over_a_wake_in_another_process(self, stage: Stage) -> None:
        work, attempts = once_broken("read", times=99)
        stage.clock = MovableClock()
        await stage.plays([call("work"), say("ok")])
        session = await stage.begin(agent := stage.agent(work))
        await stopped(session, "Go.", lambda: len(attempts) == 1 and bool(stage.clock.slept))  # type: ignore[attr-defined]
        assert [body.kind for body in await stage.bodies(ToolFailed)] == ["tool.failed"]
        stage.clock = MovableClock(jump=True, start=stage.clock.now())

        assert await stage.harness(agent).wake(session.id) == Ended(text="ok")
        assert [context.attempt for context in attempts] == [1, 2, 3]

    async def test_an_interrupt_ends_the_back_off_and_the_truth_is_told(self, stage: Stage) -> None:
        work, attempts = once_broken("read", times=99, retry=Retry(base_seconds=100, cap_seconds=100))
        stage.clock = MovableClock()
        await stage.plays([call("work")])
        session = await stage.begin(stage.agent(work), session_id="sesn_i")
        clock = stage.clock
        driving = asyncio.create_task(session.run("Go."))
        await until(lambda: bool(clock.slept))
        await session.interrupt("enough")
        while not driving.done():
            await asyncio.sleep(0.002)
            clock.advance(5)
        await driving

        assert len(attempts) == 1
        error = await stage.error("work")
        assert (error["code"], error["outcome"]) == ("not_repeated", "failed")


async def test_b154_a_cancel_between_two_reads_leaves_no_task_behind(stage: Stage) -> None:

    @tool(effect="read")
    async def quick() -> str:
        return "quick"

    started = asyncio.Event()

    @tool(effect="read", timeout_seconds=None)
    async def slow() -> str:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    await stage.plays([call("quick") + call("slow")])
    session = await stage.begin(stage.agent(quick, slow))
    await stopped(session, "Go.", started.is_set)


async def test_b160_an_eager_task_factory_changes_nothing(stage: Stage) -> None:
    if not hasattr(asyncio, "eager_task_factory"):
        assert os.sys.version_info < (3, 12)  # type: ignore[attr-defined]
        return

    @tool(effect="read")
    async def quick() -> str:
        return "quick"

    await stage.plays([call("quick") + call("quick"), say("ok")])
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)

    assert await stage.run(stage.agent(quick)) == Ended(text="ok")


async def test_a_thousand_failures_do_not_hold_the_loop_up(stage: Stage) -> None:
    """B063: failures are a line each; nobody renders a thousand tracebacks."""

    @tool(effect="read", retry=NO_RETRY)
    async def fail(n: int) -> str:
        raise TimeoutError

    calls = call("fail", {"n": 0})
    for n in range(1, 300):
        calls += call("fail", {"n": n})
    await stage.plays([calls, say("ok")])

    assert await stage.run(stage.agent(fail)) == Ended(text="ok")
    assert len(stage.results()) == 300
