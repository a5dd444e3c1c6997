"""
One call, from arguments to ending. Whatever a tool does, an ending comes out: what it raises never ends the run.

Logging the call and asking people come before and after; they are the loop's.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from relevo.clock import Clock
from relevo.errors import ToolError
from relevo.tools.context import ToolContext
from relevo.tools.effects import Recovery
from relevo.tools.endings import Done, Ending, Failed, NotDone, Unclear
from relevo.tools.failure import failure_of, timed_out
from relevo.tools.result import ending_of
from relevo.tools.signature import is_async
from relevo.tools.threads import Threads
from relevo.tools.tool import Tool

SHARED_THREADS = Threads()
"""One pool for the process: what must be bounded is the process's threads."""

_log = logging.getLogger("relevo.tools")


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


@dataclass(slots=True)
class _Attempt:
    """A call of somebody's code, and whether it has begun."""

    call: Callable[[], Any]
    is_async: bool
    threads: Threads
    on_late: Callable[[], object]
    began: bool = False

    async def made(self) -> _Value | _Raised:
        """Make the call. What comes out is a value of ours: no exception of the tool's crosses a task or a thread."""
        try:
            if self.is_async:
                outcome = self._begin()
            else:
                outcome = await self.threads.run(self._begin, on_late=self.on_late)
            # A sync wrapper of an async function gives its coroutine only now.
            if isinstance(outcome, _Value) and inspect.isawaitable(outcome.value):
                outcome = _Value(await outcome.value)
        except (Exception, SystemExit, BaseExceptionGroup) as error:  # noqa: BLE001
            return _Raised(error)
        return outcome

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
) -> Ending:
    """
    Run one call with validated arguments (`Tool.validate`).

    Never raises what the tool raised. Only a cancel from outside comes through, as CancelledError, once the tool
    has stopped; a tool that answers it with a result after all is believed, and its result returned. A sync tool is
    not waited for. An async tool that swallows its cancel and goes on cannot be stopped by anybody.
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
        on_late=lambda: _log_late(context),
    )
    try:
        async with clock.timeout(limit):
            outcome = await _isolated(attempt)
    except TimeoutError:
        return timed_out(tool, limit or 0, began=attempt.began)
    match outcome:
        case _Value(value):
            return ending_of(value, tool=tool.name, max_chars=tool.max_result_chars)
        case _Raised(error):
            return failure_of(error, tool, context)


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
    attempt = _Attempt(
        call=lambda: hook(arguments, context),
        is_async=is_async(hook),
        threads=threads,
        on_late=lambda: _log_late(context),
    )
    try:
        async with clock.timeout(tool.timeout_seconds):
            outcome = await _isolated(attempt)
    except TimeoutError:
        return Unclear("the question took too long")
    match outcome:
        case _Value(Done(value)):
            return Done(ending_of(value, tool=tool.name, max_chars=tool.max_result_chars))
        case _Value(NotDone() | Unclear() as answer):
            return answer
        case _Value(value):
            return Unclear(f"the hook answered {type(value).__name__}")
        case _Raised(error):
            failed = failure_of(error, tool, context)
            return Unclear(failed.message)


async def _isolated(attempt: _Attempt) -> _Value | _Raised:
    """
    Make the call in a task of its own: what it does to context variables, or to "the current task", stays there.

    A tool may raise CancelledError for reasons of its own. It is a cancel of *ours* only if this task was asked to
    stop: by the time limit, or from outside.
    """
    here = asyncio.current_task()
    assert here is not None
    before = here.cancelling()
    task = asyncio.get_running_loop().create_task(attempt.made(), context=contextvars.copy_context())
    try:
        outcome = await task
    except asyncio.CancelledError as error:
        if here.cancelling() > before:
            raise
        return _Raised(error)
    if isinstance(outcome, _Raised) and here.cancelling() > before and not isinstance(outcome.error, ToolError):
        raise asyncio.CancelledError from outcome.error  # it broke while it was being stopped
    return outcome


def _limit(tool: Tool[..., Any], context: ToolContext, clock: Clock) -> float | None:
    limits = [] if tool.timeout_seconds is None else [tool.timeout_seconds]
    if context.deadline is not None:
        limits.append(context.deadline - clock.monotonic())
    return min(limits, default=None)


def _log_late(context: ToolContext) -> None:
    _log.warning("action=tool.ended_late session=%s call=%s tool=%s", context.session_id, context.call_id, context.tool)
