"""
One call, from arguments to ending. Whatever a tool does, an ending comes out: what it raises never ends the run.

A tool that hangs is stopped: an async function is cancelled, a thread left behind and counted. What comes of it after
that is told to `on_late`. Logging the call, repeating it and asking people come before and after;
they are the loop's.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from relevo.clock import Clock
from relevo.errors import ToolError
from relevo.tools.context import ToolContext
from relevo.tools.effects import Recovery
from relevo.tools.endings import Degraded, Done, Ending, Failed, NotDone, Returned, Unclear
from relevo.tools.failure import failure_of, timed_out
from relevo.tools.result import ending_of
from relevo.tools.signature import is_async
from relevo.tools.threads import Threads
from relevo.tools.tool import Tool

SHARED_THREADS = Threads()
"""One pool for the process: what must be bounded is the process's threads."""

CANCEL_GRACE_SECONDS = 5.0
"""How long an async tool may take to stop before it is left behind."""

OnLate = Callable[[Ending], object]
"""Told what became of a call that had been given up. May be called from any thread."""

_log = logging.getLogger("relevo.tools")


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


class _Silent(Exception):
    """It said nothing for too long."""


@dataclass(slots=True)
class _Attempt:
    """A call of somebody's code, how far it has come, and whether it could be stopped."""

    call: Callable[[], Any]
    is_async: bool
    threads: Threads
    on_late: Callable[[_Value | _Raised], object]
    began: bool = False
    left_behind: bool = False
    pulse: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever the tool reports."""

    async def made(self) -> _Value | _Raised:
        """Make the call. What comes out is a value of ours: no exception of the tool's crosses a task or a thread."""
        try:
            if self.is_async:
                outcome = self._begin()
            else:
                outcome = await self._in_thread()
            # A sync wrapper of an async function gives its coroutine only now.
            if isinstance(outcome, _Value) and inspect.isawaitable(outcome.value):
                outcome = _Value(await outcome.value)
        except (Exception, SystemExit, BaseExceptionGroup) as error:  # noqa: BLE001
            return _Raised(error)
        return outcome

    async def _in_thread(self) -> _Value | _Raised:
        try:
            return await self.threads.run(self._begin, on_late=self.on_late)
        except asyncio.CancelledError:
            self.left_behind = self.began
            raise

    def _begin(self) -> _Value | _Raised:
        self.began = True
        try:
            return _Value(self.call())
        except (Exception, SystemExit, BaseExceptionGroup, asyncio.CancelledError) as error:  # noqa: BLE001
            return _Raised(error)


async def run(
    tool: Tool[..., Any],
    arguments: Mapping[str, Any],
    context: ToolContext,
    clock: Clock,
    *,
    threads: Threads = SHARED_THREADS,
    on_late: OnLate = lambda _: None,
) -> Ending:
    """
    Run one call with validated arguments (`Tool.validate`).

    Never raises what the tool raised. Only a cancel from outside comes through, as CancelledError, once the tool
    has stopped; a tool that answers it with a result after all is believed, and its result returned. A sync tool is
    not waited for, and an async one that does not stop is left behind after `CANCEL_GRACE_SECONDS`.
    """
    if tool.effect == "transactional" and context.transaction is None:
        return Failed(
            message=f"{tool.name} writes in a transaction of the log's database, and this log offers none.",
            category="internal",
            code="no_transaction",
            outcome="not_executed",
        )
    limit = _limit(tool, context, clock)
    if limit is not None:
        if limit <= 0:
            return timed_out(tool, 0, began=False)
        context = replace(context, deadline=clock.monotonic() + limit)
    attempt = _Attempt(
        call=lambda: tool.function(**tool.parameters.bind(arguments, context)),
        is_async=tool.is_async,
        threads=threads,
        on_late=lambda outcome: _late(outcome, tool, context, on_late),
    )
    context = replace(context, on_report=_reporter(attempt, context.on_report))
    try:
        async with clock.timeout(limit):
            outcome = await _isolated(attempt, clock, tool.idle_seconds)
    except TimeoutError:
        return _given_up(timed_out(tool, limit or 0, began=attempt.began), attempt)
    except _Silent:
        return _given_up(_silent(tool), attempt)
    match outcome:
        case _Value(value):
            return ending_of(value, tool=tool.name, max_chars=tool.max_result_chars)
        case _Raised(error):
            return failure_of(error, tool, context)


async def fall_back(
    tool: Tool[..., Any],
    arguments: Mapping[str, Any],
    context: ToolContext,
    failure: Failed,
    clock: Clock,
    *,
    threads: Threads = SHARED_THREADS,
) -> Returned | Failed:
    """
    What the tool's `fallback` gives in place of a transient failure, marked as degraded; the failure when it has none.

    A fallback that fails, or gives no `Degraded`, leaves the failure as it is.
    """
    ask = tool.fallback
    if ask is None or failure.category != "transient":
        return failure
    outcome = await _asked(lambda: ask(arguments, context), ask, tool, context, clock, threads)
    if not (isinstance(outcome, _Value) and isinstance(outcome.value, Degraded)):
        _log.warning(
            "action=fallback.failed session=%s call=%s tool=%s", context.session_id, context.call_id, tool.name
        )
        return failure
    given = outcome.value
    ending = ending_of(given.value, tool=tool.name, max_chars=tool.max_result_chars)
    if not isinstance(ending, Returned):
        return failure
    because = failure.code or failure.category
    origin = {"source": str(given.source), "age_seconds": given.age_seconds, "because": because}
    return replace(ending, degraded=origin)


async def reconcile(
    tool: Tool[..., Any],
    arguments: Mapping[str, Any],
    context: ToolContext,
    clock: Clock,
    *,
    threads: Threads = SHARED_THREADS,
) -> Done[Ending] | NotDone | Unclear:
    """
    Ask the tool's hook what became of a call that started and has no end.

    A hook that raises, takes too long or answers anything else is `Unclear`. A tool without a hook is not done if
    its class lets it run by key anyway, and unclear if not.
    """
    hook = tool.reconcile
    if hook is None:
        return Unclear("there is nobody to ask") if tool.recovery is Recovery.NEVER else NotDone()
    outcome = await _asked(lambda: hook(arguments, context), hook, tool, context, clock, threads)
    match outcome:
        case None:
            return Unclear("the question took too long")
        case _Value(Done(value)):
            return Done(ending_of(value, tool=tool.name, max_chars=tool.max_result_chars))
        case _Value(NotDone() | Unclear() as answer):
            return answer
        case _Value(value):
            return Unclear(f"the hook answered {type(value).__name__}")
        case _Raised(error):
            failed = failure_of(error, tool, context)
            return Unclear(failed.message)


async def _asked(
    call: Callable[[], Any],
    hook: Callable[..., Any],
    tool: Tool[..., Any],
    context: ToolContext,
    clock: Clock,
    threads: Threads,
) -> _Value | _Raised | None:
    """What a hook of the tool answers; None when it takes longer than the tool itself may."""
    attempt = _Attempt(
        call=call,
        is_async=is_async(hook),
        threads=threads,
        on_late=lambda outcome: _late(outcome, tool, context, lambda _: None),
    )
    try:
        async with clock.timeout(tool.timeout_seconds):
            return await _isolated(attempt, clock)
    except TimeoutError:
        return None


async def _isolated(attempt: _Attempt, clock: Clock, idle_seconds: float | None = None) -> _Value | _Raised:
    """
    Make the call in a task of its own: what it does to context variables, or to "the current task", stays there.

    A tool may raise CancelledError for reasons of its own; that is its failure, and never ours.
    """
    task = asyncio.get_running_loop().create_task(attempt.made(), context=contextvars.copy_context())
    try:
        await _ended(task, attempt.pulse, clock, idle_seconds)
    except (asyncio.CancelledError, _Silent) as stopped:
        outcome = await _stopped(task, attempt, clock)
        if isinstance(outcome, _Value) or (isinstance(outcome, _Raised) and isinstance(outcome.error, ToolError)):
            return outcome
        # What broke while it was being stopped is kept as the cause.
        raise stopped from (outcome.error if outcome is not None else None)
    return _outcome(task)


async def _ended(task: asyncio.Task[Any], pulse: asyncio.Event, clock: Clock, idle_seconds: float | None) -> None:
    """Wait until the task is done. Raises _Silent when it gives no sign for so long."""
    if idle_seconds is None:
        await asyncio.wait({task})
        return
    while not task.done():
        pulse.clear()
        sign = asyncio.ensure_future(pulse.wait())
        try:
            async with clock.timeout(idle_seconds):
                await asyncio.wait({task, sign}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise _Silent from None
        finally:
            sign.cancel()


async def _stopped(task: asyncio.Task[_Value | _Raised], attempt: _Attempt, clock: Clock) -> _Value | _Raised | None:
    """Stop the task; what it answered to that, None when it does not stop."""
    task.cancel()
    try:
        async with clock.timeout(CANCEL_GRACE_SECONDS):
            await asyncio.wait({task})
    except TimeoutError:
        pass
    finally:
        if not task.done():
            attempt.left_behind = True
            task.add_done_callback(lambda done: attempt.on_late(_outcome(done)))
    return _outcome(task) if task.done() else None


def _outcome(task: asyncio.Task[_Value | _Raised]) -> _Value | _Raised:
    return _Raised(asyncio.CancelledError()) if task.cancelled() else task.result()


def _given_up(failure: Failed, attempt: _Attempt) -> Failed:
    return replace(failure, still_running=True) if attempt.left_behind else failure


def _silent(tool: Tool[..., Any]) -> Failed:
    failure = timed_out(tool, tool.idle_seconds or 0, began=True)
    said = f"{tool.name} gave no sign of life for {tool.idle_seconds:g} seconds and was stopped."
    return replace(failure, message=said, code="idle_timeout")


def _reporter(attempt: _Attempt, hear: Callable[..., object] | None) -> Callable[..., object]:
    """What `ToolContext.report` calls: it keeps the call alive, tells who watches, and never raises."""
    loop = asyncio.get_running_loop()

    def report(progress: float | None, total: float | None, message: str | None) -> None:
        try:
            loop.call_soon_threadsafe(attempt.pulse.set)
            if hear is not None:
                loop.call_soon_threadsafe(hear, progress, total, message)
        except RuntimeError:  # the loop is closed: nobody listens any more
            pass

    return report


def _limit(tool: Tool[..., Any], context: ToolContext, clock: Clock) -> float | None:
    limits = [] if tool.timeout_seconds is None else [tool.timeout_seconds]
    if context.deadline is not None:
        limits.append(context.deadline - clock.monotonic())
    return min(limits, default=None)


def _late(outcome: _Value | _Raised, tool: Tool[..., Any], context: ToolContext, tell: OnLate) -> None:
    _log.warning("action=tool.ended_late session=%s call=%s tool=%s", context.session_id, context.call_id, context.tool)
    match outcome:
        case _Value(value):
            tell(ending_of(value, tool=tool.name, max_chars=tool.max_result_chars))
        case _Raised(asyncio.CancelledError()):
            pass  # stopped at last: nothing came of it that was not known
        case _Raised(error):
            tell(failure_of(error, tool, context))
