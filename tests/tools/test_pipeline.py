from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import sys
import threading
from typing import Any

import pytest

from relevo.clock import MovableClock, RealClock
from relevo.errors import ToolError
from relevo.tools import Done, Failed, NotDone, Returned, ToolContext, Unclear, Waiting, tool
from relevo.tools.effects import EFFECTS
from relevo.tools.pipeline import reconcile, run
from relevo.tools.threads import Threads

CONTEXT = ToolContext(session_id="sesn_1", call_id="c1", tool="do", key="k1", identity={"user": "u1"})
WORD = contextvars.ContextVar("WORD", default="")


async def call(declared: Any, sent: Any = None, *, clock: Any = None, context: Any = CONTEXT, **more: Any) -> Any:
    return await run(declared, declared.validate(sent or {}), context, clock or MovableClock(), **more)


async def turn(times: Any = 20) -> Any:
    for _ in range(times):
        await asyncio.sleep(0)


async def failed(*args: Any, **kwargs: Any) -> Failed:
    ending = await call(*args, **kwargs)
    assert isinstance(ending, Failed)
    return ending


class TestEveryCallable:
    async def test_sync_and_async_functions_get_arguments_and_context(self) -> None:
        @tool
        def sync(a: int, ctx: ToolContext, b: int = 2) -> dict[str, object]:
            return {"sum": a + b, "key": ctx.key, "thread": threading.current_thread().name}

        @tool
        async def slow(ctx: ToolContext, a: int) -> dict[str, object]:
            return {"a": a, "user": ctx.identity["user"]}

        assert await call(sync, {"a": 1}) == Returned(
            '{"sum":3,"key":"k1","thread":"relevo-tool"}', {"sum": 3, "key": "k1", "thread": "relevo-tool"}
        )
        assert await call(slow, {"a": 1}) == Returned('{"a":1,"user":"u1"}', {"a": 1, "user": "u1"})

    async def test_b145_partials_methods_and_callable_objects_run(self) -> None:
        class Speaker:
            async def __call__(self, a: int) -> str:
                return f"called {a}"

            def method(self, a: int) -> str:
                return f"method {a}"

            @staticmethod
            async def static(a: int) -> str:
                return f"static {a}"

        async def two(a: int, x: int) -> str:
            return f"{a} {x}"

        @functools.wraps(two)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return two(*args, **kwargs)

        sent = {"a": 1}
        assert await call(tool(Speaker()), sent) == Returned("called 1")
        assert await call(tool(functools.partial(Speaker())), sent) == Returned("called 1")
        assert await call(tool(Speaker().method), sent) == Returned("method 1")
        assert await call(tool(Speaker.static), sent) == Returned("static 1")
        assert await call(tool(staticmethod(two)), {"a": 1, "x": 2}) == Returned("1 2")
        assert await call(tool(functools.partial(two, x=5)), sent) == Returned("1 5")
        assert await call(tool(functools.partial(two, 7)), {"x": 2}) == Returned("7 2")
        assert await call(tool(wrapper), {"a": 1, "x": 2}) == Returned("1 2")

    async def test_a_tool_may_wait_for_something_elsewhere(self) -> None:
        @tool
        async def start() -> Waiting:
            return Waiting({"type": "job", "id": "j1"})

        assert await call(start) == Waiting({"type": "job", "id": "j1"})


class TestFailures:
    @pytest.mark.parametrize("is_async", [True, False])
    @pytest.mark.parametrize(
        "error",
        [
            ToolError("m", code="x"),
            KeyError("hush"),
            SystemExit(1),
            StopIteration(5),
            ExceptionGroup("g", [ToolError("m", code="x")]),
        ],
        ids=repr,
    )
    async def test_whatever_a_tool_raises_an_ending_comes_out(self, is_async: Any, error: Any) -> None:
        async def slow() -> Any:
            raise error

        def quick() -> Any:
            raise error

        ending = await failed(tool(slow if is_async else quick, name="do"))
        assert ending.code in ("x", "exception")
        assert "hush" not in ending.content

    async def test_tutorial_1_4_a_result_that_cannot_be_encoded_is_an_ending_too(self) -> None:
        @tool
        def do() -> Any:
            return object()

        assert (await failed(do)).outcome == "executed"

    @pytest.mark.parametrize("is_async", [True, False])
    def test_b166_a_keyboard_interrupt_ends_the_program(self, is_async: Any) -> None:
        async def slow() -> Any:
            raise KeyboardInterrupt

        def quick() -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(call(tool(slow if is_async else quick)))

    async def test_a_transactional_tool_without_a_transaction_is_not_run(self) -> None:
        @tool(effect="transactional")
        async def write(ctx: ToolContext) -> str:
            return f"in {ctx.transaction}"

        ending = await failed(write)
        assert (ending.code, ending.outcome) == ("no_transaction", "not_executed")
        with_one = ToolContext(session_id="s", call_id="c", transaction="tx")
        assert await call(write, context=with_one) == Returned("in tx")


class TestTimeouts:
    @pytest.mark.parametrize("effect", ["read", "idempotent", "compensable", "irreversible"])
    async def test_tutorial_9_1_a_time_out_stops_the_tool_and_is_retryable_only_for_reads(self, effect: Any) -> None:
        clock, stopped = MovableClock(), []

        @tool(effect=effect, timeout_seconds=5)
        async def slow() -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(True)

        task = asyncio.create_task(call(slow, clock=clock))
        await turn()
        clock.advance(5)
        ending = await task

        assert stopped == [True]
        assert isinstance(ending, Failed)
        assert (ending.category, ending.code) == ("transient", "timeout")
        assert ending.retryable is (effect == "read")
        assert ending.outcome == ("failed" if effect == "read" else "unknown")

    async def test_b165_what_breaks_while_it_is_stopped_is_still_a_time_out(self) -> None:
        clock = MovableClock()

        @tool(timeout_seconds=5)
        async def slow() -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                raise RuntimeError

        task = asyncio.create_task(call(slow, clock=clock))
        await turn()
        clock.advance(5)

        ending = await task
        assert isinstance(ending, Failed)
        assert ending.code == "timeout"

    async def test_a_result_given_while_it_is_stopped_is_believed(self) -> None:
        clock = MovableClock()

        @tool(timeout_seconds=5)
        async def slow() -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "done after all"

        task = asyncio.create_task(call(slow, clock=clock))
        await turn()
        clock.advance(5)

        assert await task == Returned("done after all")

    async def test_b147_a_sync_tool_that_is_stuck_delays_nobody(self) -> None:
        clock, threads = MovableClock(), Threads(limit=1)
        entered, leave, late = threading.Event(), threading.Event(), threading.Event()
        messages: list[str] = []

        @tool(timeout_seconds=5)
        def stuck() -> Any:
            entered.set()
            leave.wait(20)

        class Handler(logging.Handler):
            def emit(self, record: Any) -> Any:
                messages.append(record.getMessage())
                late.set()

        task = asyncio.create_task(call(stuck, clock=clock, threads=threads))
        assert await asyncio.to_thread(entered.wait, 20)
        clock.advance(5)
        ending = await task

        assert isinstance(ending, Failed)
        assert ending.outcome == "unknown"
        assert await call(tool(lambda: "next", name="do"), threads=threads) == Returned("next")
        handler = Handler()
        logging.getLogger("relevo.tools").addHandler(handler)
        try:
            leave.set()
            assert await asyncio.to_thread(late.wait, 20)
        finally:
            logging.getLogger("relevo.tools").removeHandler(handler)
        assert messages == ["action=tool.ended_late session=sesn_1 call=c1 tool=do"]

    async def test_a_call_that_never_got_a_thread_was_not_executed(self) -> None:
        clock, threads = MovableClock(), Threads(limit=1)
        entered, leave = threading.Event(), threading.Event()

        @tool(timeout_seconds=None)
        def busy() -> Any:
            entered.set()
            leave.wait(20)

        @tool(timeout_seconds=5)
        def waits() -> Any: ...

        first = asyncio.create_task(call(busy, clock=clock, threads=threads))
        assert await asyncio.to_thread(entered.wait, 20)
        second = asyncio.create_task(call(waits, clock=clock, threads=threads))
        await turn()
        clock.advance(5)
        ending = await second
        leave.set()
        await first

        assert isinstance(ending, Failed)
        assert (ending.outcome, ending.retryable) == ("not_executed", True)

    async def test_too_many_stuck_threads_are_an_ending_and_nothing_is_run(self) -> None:
        ending = await failed(tool(lambda: None, name="do"), threads=Threads(stuck_limit=0))

        assert (ending.code, ending.outcome) == ("threads_stuck", "not_executed")

    async def test_the_deadline_of_the_turn_wins_over_a_longer_limit_and_the_tool_sees_it(self) -> None:
        clock = MovableClock()
        clock.advance(100)
        seen = []

        @tool(timeout_seconds=60)
        async def look(ctx: ToolContext) -> Any:
            seen.append(ctx.deadline)

        await call(look, clock=clock)
        await call(look, clock=clock, context=ToolContext(session_id="s", call_id="c", deadline=110.0))
        ending = await failed(look, clock=clock, context=ToolContext(session_id="s", call_id="c", deadline=100.0))

        assert seen == [160.0, 110.0]
        assert (ending.code, ending.outcome) == ("timeout", "not_executed")

    async def test_without_a_limit_there_is_no_deadline(self) -> None:
        @tool(timeout_seconds=None)
        async def look(ctx: ToolContext) -> Any:
            return str(ctx.deadline)

        assert await call(look) == Returned("None")

    async def test_a_time_out_of_the_tools_own_is_not_ours(self) -> None:
        @tool(effect="read")
        async def slow() -> Any:
            raise TimeoutError

        assert (await failed(slow)).code == "exception"


class TestCancelling:
    @pytest.mark.parametrize("is_async", [True, False])
    async def test_b155_b170_a_tool_that_cancels_itself_has_failed(self, is_async: Any) -> None:
        async def slow() -> Any:
            raise asyncio.CancelledError

        async def task() -> Any:
            here = asyncio.current_task()
            assert here is not None
            here.cancel()
            await asyncio.sleep(0)

        def quick() -> Any:
            raise asyncio.CancelledError

        for function in (slow, task) if is_async else (quick,):
            ending = await failed(tool(function))
            assert "CancelledError" in ending.message
        here = asyncio.current_task()
        assert here is not None
        assert here.cancelling() == 0

    @pytest.mark.parametrize("is_async", [True, False])
    async def test_b164_a_cancel_from_outside_comes_through_once_the_tool_stopped(self, is_async: Any) -> None:
        began, leave, stopped = threading.Event(), threading.Event(), []

        async def slow() -> Any:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(True)

        def quick() -> Any:
            began.set()
            leave.wait(20)

        task = asyncio.create_task(call(tool(slow if is_async else quick)))
        assert await asyncio.to_thread(began.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        leave.set()

        assert stopped == ([True] if is_async else [])

    async def test_what_breaks_while_it_is_cancelled_does_not_hide_the_cancel(self) -> None:
        @tool
        async def slow() -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                raise RuntimeError

        task = asyncio.create_task(call(slow))
        await turn()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_an_error_meant_for_the_model_is_kept_even_while_it_is_cancelled(self) -> None:
        @tool
        async def slow() -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ToolError("stopped half way", partial=3) from None

        task = asyncio.create_task(call(slow))
        await turn()
        task.cancel()
        ending = await task

        assert isinstance(ending, Failed)
        assert (ending.message, ending.partial) == ("stopped half way", 3)

    async def test_an_outer_time_limit_works(self) -> None:
        @tool
        async def slow() -> Any:
            await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await call(slow, clock=RealClock())

    async def test_b154_no_task_is_left_behind(self) -> None:
        before = asyncio.all_tasks()

        @tool
        async def slow() -> Any:
            await asyncio.Event().wait()

        task = asyncio.create_task(call(slow))
        await turn()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert asyncio.all_tasks() == before


class TestIsolation:
    async def test_b152_context_variables_are_seen_and_changes_stay_inside(self) -> None:
        WORD.set("outer")

        @tool
        async def slow() -> Any:
            seen = WORD.get()
            WORD.set("inner")
            return seen

        @tool
        def quick() -> Any:
            seen = WORD.get()
            WORD.set("inner")
            return seen

        for declared in (slow, quick, slow, quick):
            assert await call(declared) == Returned("outer")
        assert WORD.get() == "outer"

    async def test_b146_two_sync_tools_run_at_once_while_the_loop_goes_on(self) -> None:
        both = threading.Barrier(3, timeout=20)

        @tool(effect="read")
        def meet() -> Any:
            return f"{both.wait() >= 0}"

        endings = await asyncio.gather(call(meet), call(meet), asyncio.to_thread(both.wait))

        assert list(endings[:2]) == [Returned("True")] * 2

    if sys.version_info >= (3, 12):  # eager tasks came with Python 3.12

        async def test_b160_eager_tasks_work(self) -> None:
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)

            async def at_once() -> Any:
                return "now"

            async def fails() -> Any:
                raise ToolError("m", code="x")

            assert await call(tool(at_once)) == Returned("now")
            assert await call(tool(lambda: "sync", name="do")) == Returned("sync")
            assert (await failed(tool(fails))).code == "x"

    async def test_b160_a_task_that_is_done_when_it_is_made_works(self) -> None:
        # Python 3.11 has no eager tasks; a factory that hands out finished futures is the same to us.
        loop = asyncio.get_running_loop()

        def eager(loop: Any, coroutine: Any, **options: Any) -> Any:
            future = loop.create_future()
            try:
                coroutine.send(None)
            except StopIteration as stop:
                future.set_result(stop.value)
            return future

        async def at_once() -> Any:
            return "now"

        declared = tool(at_once)
        loop.set_task_factory(eager)
        try:
            ending = await call(declared)
        finally:
            loop.set_task_factory(None)
        assert ending == Returned("now")


class TestReconcile:
    async def ask(self, hook: Any, effect: Any = "irreversible", **options: Any) -> Any:
        @tool(effect=effect, reconcile=hook, **options)
        async def pay(order: str) -> str:
            raise AssertionError("a question must not run the tool")

        return await reconcile(pay, pay.validate({"order": "o1"}), CONTEXT, options.pop("clock", MovableClock()))

    async def test_a_hook_is_asked_with_arguments_and_key(self) -> None:
        async def slow(arguments: Any, context: Any) -> Any:
            return Done({"order": arguments["order"], "key": context.key})

        def quick(arguments: Any, context: Any) -> Any:
            return Done("paid")

        assert await self.ask(slow) == Done(Returned('{"order":"o1","key":"k1"}', {"order": "o1", "key": "k1"}))
        assert await self.ask(quick) == Done(Returned("paid"))

    @pytest.mark.parametrize("answer", [NotDone(), Unclear("no connection")])
    async def test_the_other_answers_are_passed_on(self, answer: Any) -> None:
        assert await self.ask(lambda arguments, context: answer) == answer

    @pytest.mark.parametrize("answer", [None, True, False, "done", Done, NotDone])
    async def test_any_other_answer_is_unclear(self, answer: Any) -> None:
        assert isinstance(await self.ask(lambda arguments, context: answer), Unclear)

    async def test_a_hook_that_raises_is_unclear_and_tells_no_secret(self) -> None:
        def hook(arguments: Any, context: Any) -> Any:
            raise KeyError("hush")

        answer = await self.ask(hook)
        assert isinstance(answer, Unclear)
        assert "KeyError" in answer.why
        assert "hush" not in answer.why

    async def test_a_hook_that_takes_too_long_is_unclear(self) -> None:
        clock = MovableClock()

        async def hook(arguments: Any, context: Any) -> Any:
            await asyncio.Event().wait()

        @tool(reconcile=hook, timeout_seconds=5)
        async def pay() -> Any: ...

        task = asyncio.create_task(reconcile(pay, {}, CONTEXT, clock))
        await turn()
        clock.advance(5)

        assert await task == Unclear("the question took too long")

    async def test_what_was_started_elsewhere_may_still_be_on_its_way(self) -> None:
        waiting = Waiting({"type": "job", "id": "j1"})

        assert await self.ask(lambda arguments, context: Done(waiting)) == Done(waiting)

    async def test_a_result_that_cannot_be_encoded_was_done_all_the_same(self) -> None:
        answer = await self.ask(lambda arguments, context: Done(object()))

        assert isinstance(answer, Done)
        assert isinstance(answer.value, Failed)
        assert answer.value.outcome == "executed"

    @pytest.mark.parametrize("effect", EFFECTS)
    async def test_without_a_hook_only_what_may_run_by_key_runs(self, effect: Any) -> None:
        @tool(effect=effect)
        async def pay() -> Any: ...

        answer = await reconcile(pay, {}, CONTEXT, MovableClock())

        assert isinstance(answer, Unclear if effect == "irreversible" else NotDone)
