"""
One attempt at one call, and what follows from how it ended.

The attempt within its limits; then the tool's own word on an unknown outcome,
another attempt later if the effect allows it, a fallback, and at last a result for the model. A later attempt is
decided anew from the log, so a process that dies in between loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from relevo.content import Json
from relevo.errors import InvalidValue
from relevo.events import ToolEndedLate, ToolFailed, ToolStarted
from relevo.human.gate import Start
from relevo.loop.deadline import time_left
from relevo.loop.ending import ended, waiting
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.state import OpenCall
from relevo.tools.context import Report, ToolContext
from relevo.tools.effects import idempotency_key
from relevo.tools.endings import Done, Ending, Failed, Fate, NotDone, Returned, Unclear, Waiting
from relevo.tools.pipeline import fall_back, reconcile, run
from relevo.tools.retry import wait_before
from relevo.tools.truncation import cut

LATE_CHARS = 2_000
"""What the model reads of a call that ended after it was given up."""


def context(journal: Journal, parts: Parts, call: OpenCall, given: Json, attempt: int = 1) -> ToolContext:
    """What a tool may know about its call."""
    state = journal.state
    left = time_left(journal, parts)
    return ToolContext(
        session_id=state.session_id,
        call_id=call.call.id,
        tool_use_id=call.call.tool_use_id,
        tool=call.call.name,
        key=_key(journal, call, given),
        attempt=attempt,
        approver=None if call.decision is None else call.decision.approver,
        identity=state.identity,
        metadata=state.metadata,
        epoch=journal.lease.epoch,
        deadline=None if left is None else parts.clock.monotonic() + left,
        on_report=_shown(parts, call),
    )


def started(journal: Journal, start: Start) -> ToolStarted:
    """The intent of an attempt."""
    return ToolStarted(
        tool_use_id=start.call.call.id,
        name=start.tool.name,
        input=start.input,
        effect=start.tool.effect,
        key=_key(journal, start.call, start.input),
        attempt=start.attempt,
        changed_by=start.changed_by,
    )


async def attempt(journal: Journal, parts: Parts, start: Start) -> None:
    """Run a call once, its intent being in the log, and write down what follows."""
    known = context(journal, parts, start.call, start.input, start.attempt)
    began = parts.clock.monotonic()
    ending: Ending | None
    if start.tool.effect == "transactional":
        ending = await _run_in_transaction(journal, parts, start, known)
    else:
        ending = await run(start.tool, start.arguments, known, parts.clock, on_late=_late(journal, parts, start, began))
    if ending is None:
        return
    seconds = parts.clock.monotonic() - began
    if isinstance(ending, Failed):
        ending = await _asked(parts, start, known, ending)
    if isinstance(ending, Waiting):
        await journal.append(waiting(start.call.call, ending.until, start.input))
        return
    await _settle(journal, parts, start, known, ending, seconds=seconds)


async def _asked(parts: Parts, start: Start, known: ToolContext, failure: Failed) -> Ending:
    """What the tool itself says about an attempt of unknown outcome."""
    if failure.outcome != "unknown" or start.tool.reconcile is None:
        return failure
    answer = await reconcile(start.tool, start.arguments, known, parts.clock)
    match answer:
        case Done(value):
            return value
        case NotDone() if not failure.still_running:
            return replace(failure, outcome="failed", retryable=failure.category == "transient")
        case NotDone() | Unclear():
            return failure


async def _settle(
    journal: Journal, parts: Parts, start: Start, known: ToolContext, ending: Returned | Failed, *, seconds: float
) -> None:
    """Another attempt later, or the end."""
    if isinstance(ending, Failed):
        wait = _wait(journal, parts, start, ending)
        if wait is not None:
            await journal.append(_failed(start, ending, wait, seconds))
            return
        ending = await fall_back(start.tool, start.arguments, known, ending, parts.clock)
    if isinstance(ending, Failed):
        ending = _after_all(start, ending)

    async def write(last: Returned | Failed) -> None:
        given = start.input
        await journal.append(
            ended(journal, parts, start.call, last, tool=start.tool, known=known, given=given, seconds=seconds)
        )

    try:
        await write(ending)
    except InvalidValue as error:
        await write(_not_kept(start, error, outcome=ending.outcome if isinstance(ending, Failed) else "executed"))


def _wait(journal: Journal, parts: Parts, start: Start, failure: Failed) -> float | None:
    return wait_before(
        start.tool.retry,
        start.tool.effect,
        failure,
        attempt=start.attempt,
        random=parts.dice(),
        left=time_left(journal, parts),
    )


def _failed(start: Start, failure: Failed, wait: float, seconds: float) -> ToolFailed:
    return ToolFailed(
        tool_use_id=start.call.call.id,
        name=start.tool.name,
        error={**failure.record(), "message": failure.message},
        retry_in_seconds=wait,
        attempt=start.attempt,
        seconds=seconds,
    )


def _after_all(start: Start, failure: Failed) -> Failed:
    """The last failure, with what came before it: the model should know that the same was tried."""
    if not start.call.failures:
        return failure
    words = [*start.call.failures, failure.code or failure.category]
    return replace(failure, message=f"{failure.message}\nIt was tried {len(words)} times: {', '.join(words)}.")


def _not_kept(start: Start, error: InvalidValue, *, outcome: Fate) -> Failed:
    """The ending of a call whose own ending the log refuses: the tool's fault, so the model's to read."""
    message = f"{start.tool.name} came to its end, but its result cannot be kept ({error})."
    return Failed(message=message, category="internal", code="result_not_kept", outcome=outcome)


class _RolledBack(Exception):
    def __init__(self, ending: Failed | Waiting) -> None:
        self.ending = ending


async def _run_in_transaction(
    journal: Journal, parts: Parts, start: Start, known: ToolContext
) -> Failed | Waiting | None:
    """Run a tool whose writes and whose end are stored together; return the ending if nothing was stored."""
    try:
        async with journal.transaction() as transaction:
            ending = await run(start.tool, start.arguments, replace(known, transaction=transaction), parts.clock)
            if not isinstance(ending, Returned):
                raise _RolledBack(ending)  # noqa: TRY301  raised here so that nothing is stored
            assert transaction is not None, "the pipeline runs no transactional tool without one"
            body = ended(journal, parts, start.call, ending, tool=start.tool, known=known, given=start.input)
            await transaction.append([body])
    except _RolledBack as rolled_back:
        return rolled_back.ending
    except InvalidValue as error:
        return _not_kept(start, error, outcome="not_executed")
    return None


def _late(journal: Journal, parts: Parts, start: Start, began: float) -> Callable[[Ending], None]:
    """Writes down what became of a call that was given up, from whatever thread it ends in."""
    loop = asyncio.get_running_loop()

    def tell(ending: Ending) -> None:
        if isinstance(ending, Waiting):
            return
        content = ending.content if isinstance(ending.content, str) else "(content that is not text)"
        body = ToolEndedLate(
            tool_use_id=start.call.call.id,
            name=start.tool.name,
            content=cut(content, LATE_CHARS),
            is_error=isinstance(ending, Failed),
            seconds=parts.clock.monotonic() - began,
        )
        try:
            loop.call_soon_threadsafe(journal.tell, body)
        except RuntimeError:  # the loop is closed, and this process with it
            pass

    return tell


def _shown(parts: Parts, call: OpenCall) -> Report | None:
    watch = parts.watch
    if watch is None:
        return None

    def show(progress: float | None, total: float | None, message: str | None) -> None:
        said = None if message is None else str(message)
        about = {"type": "tool.progress", "tool_use_id": call.call.id, "name": call.call.name}
        try:
            watch({**about, "progress": progress, "total": total, "message": said})
        except Exception:  # noqa: BLE001, S110  it only observes
            pass

    return show


def _key(journal: Journal, call: OpenCall, given: Json) -> str:
    return idempotency_key(journal.state.session_id, call.call.id, call.call.name, given)
