"""
Judges the calls of an answer, and starts those that may run.

The order around every side effect is: the intent in the log, then the effect, then its end in the log. At whatever
line this process dies, the next one knows what may have happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from relevo.errors import ToolError
from relevo.events import Body
from relevo.human.gate import Action, Ask, Refuse, Start, Suspend, judge, unknown_outcome
from relevo.loop.chain import attempt, context, started
from relevo.loop.ending import ended, waiting
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.state import OpenCall, Status
from relevo.tools.endings import Done, NotDone, Unclear, Waiting, failed
from relevo.tools.pipeline import reconcile
from relevo.tools.result import ending_of
from relevo.tools.toolbox import Toolbox


async def run_tools(journal: Journal, parts: Parts, calls: Sequence[OpenCall]) -> None:
    """
    Judge and run the first of these calls: reads together, effects alone and in the model's order.

    The others' turn comes when it was decided again: meanwhile somebody may have said stop, or a cap was reached.
    What is to be tried again waits for its time here, unless something beside it can be done meanwhile.
    """
    batch = next(iter(batches(calls, parts.toolbox)))
    now = parts.clock.now()
    due = [call for call in batch if call.retry_at is None or call.retry_at <= now]
    if not due:
        earliest = min(call.retry_at for call in batch if call.retry_at is not None)
        await parts.clock.sleep((earliest - now).total_seconds())
        await journal.catch_up()
        return
    actions = [
        judge(
            call,
            parts.toolbox,
            journal.state,
            context(journal, parts, call, call.call.input),
            now=now,
            hooks=parts.hooks,
        )
        for call in due
    ]
    await _act(journal, parts, actions)


def batches(calls: Sequence[OpenCall], toolbox: Toolbox) -> Iterable[list[OpenCall]]:
    """Calls that may run side by side, in order. A call that requires another's result comes after it."""
    batch: list[OpenCall] = []
    for call in calls:
        tool = toolbox.get(call.call.name)
        alone = tool is not None and not tool.parallel
        needs = {requirement.tool for requirement in tool.requires} if tool is not None else set()
        if batch and (alone or needs & {other.call.name for other in batch}):
            yield batch
            batch = []
        batch.append(call)
        if alone:
            yield batch
            batch = []
    if batch:
        yield batch


async def _act(journal: Journal, parts: Parts, actions: Sequence[Action]) -> None:
    settled: list[Body] = []
    starts: list[Start] = []
    for action in actions:
        match action:
            case Refuse(call, error):
                settled.append(ended(journal, parts, call, failed(error)))
            case Suspend(call, until, given, changed_by):
                settled.append(waiting(call.call, until, given, changed_by))
            case Ask():
                body = await _ask_tool(journal, parts, action)
                if isinstance(body, Start):
                    starts.append(body)
                else:
                    settled.append(body)
            case Start():
                starts.append(action)
    effects = any(start.tool.effect != "read" for start in starts)
    # The intent survives a power cut before an effect begins; a read may be lost and repeated.
    bodies = [*settled, *(started(journal, start) for start in starts)]
    if bodies and not await journal.append_if_still(*bodies, flush=effects):
        # What is known stays known; what would begin is decided again: somebody may have said stop.
        if settled:
            await journal.append(*settled)
        return
    if len(starts) == 1:
        await attempt(journal, parts, starts[0])
    elif starts:
        try:
            async with asyncio.TaskGroup() as group:
                for start in starts:
                    group.create_task(attempt(journal, parts, start))
        except ExceptionGroup as errors:
            # No tool's: what a tool raises is its result. It is the log's, and one lost lease is lost to all.
            raise errors.exceptions[0] from None


async def _ask_tool(journal: Journal, parts: Parts, action: Ask) -> Start | Body:
    """What became of a call begun by a process that is gone: its end, or another start."""
    known = context(journal, parts, action.call, action.input, action.attempt)
    answer = await reconcile(action.tool, action.arguments, known, parts.clock)
    match answer:
        case Done(value):
            ending = ending_of(value, tool=action.tool.name, max_chars=action.tool.max_result_chars)
            if isinstance(ending, Waiting):
                return waiting(action.call.call, ending.until, action.input)
            return ended(journal, parts, action.call, ending, tool=action.tool, given=action.input)
        case NotDone() if not journal.lease.alone:
            error = unknown_outcome(action.call, "the process that began it may still be doing it")
            return ended(journal, parts, action.call, failed(error))
        case NotDone():
            return Start(action.call, action.tool, action.input, action.arguments, action.attempt, action.changed_by)
        case Unclear(why):
            error = unknown_outcome(action.call, why or "the tool itself cannot tell")
            return ended(journal, parts, action.call, failed(error))


async def close_calls(journal: Journal, parts: Parts, calls: Sequence[OpenCall], why: str) -> None:
    """Answer calls without running them; of one that may have begun, the truth: nobody knows."""
    bodies = [ended(journal, parts, call, failed(_unfinished(call, why))) for call in calls]
    await journal.append_if_still(*bodies)


def _unfinished(call: OpenCall, why: str) -> ToolError:
    if call.status is Status.RETRYING and call.failed is not None and call.failed.get("outcome") != "unknown":
        times = "once" if len(call.failures) == 1 else f"{len(call.failures)} times"
        return ToolError(
            f"It failed {times} ({', '.join(call.failures)}) and was not tried again. {why}",
            category="transient",
            code="not_repeated",
            outcome="failed",
        )
    if call.started is not None:
        return unknown_outcome(call, "it was interrupted after it began")
    return ToolError(why, category="permission", code="not_executed", outcome="not_executed")
