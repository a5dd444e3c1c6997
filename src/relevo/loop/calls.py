"""
Judges and runs the calls of an answer, and writes down what happened.

The order around every side effect is: the intent in the log, then the effect, then its end in the log. At whatever
line this process dies, the next one knows what may have happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relevo.content import Call, Json, encode
from relevo.errors import InvalidValue, ToolError
from relevo.events import Body, ToolEnded, ToolStarted, ToolWaiting
from relevo.human.gate import Action, Ask, Refuse, Start, Suspend, judge, unknown_outcome
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.loop.repeats import note_for
from relevo.state import OpenCall
from relevo.tools.context import ToolContext
from relevo.tools.effects import idempotency_key
from relevo.tools.endings import Done, Ending, Failed, Fate, NotDone, Returned, Unclear, Waiting, failed
from relevo.tools.pipeline import reconcile, run
from relevo.tools.result import ending_of
from relevo.tools.toolbox import Toolbox


async def run_tools(journal: Journal, parts: Parts, calls: Sequence[OpenCall]) -> None:
    """
    Judge and run the first of these calls: reads together, effects alone and in the model's order.

    The others' turn comes when it was decided again: meanwhile somebody may have said stop, or a cap was reached.
    """
    batch = next(iter(batches(calls, parts.toolbox)))
    actions = [
        judge(call, parts.toolbox, journal.state, context(journal, call, call.call.input), now=parts.clock.now())
        for call in batch
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
                settled.append(_end(journal, parts, call, failed(error)))
            case Suspend(call, until):
                settled.append(_wait(call.call, until, call.call.input))
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
    bodies = [*settled, *(_started(journal, start) for start in starts)]
    if bodies and not await journal.append_if_still(*bodies, flush=effects):
        # What is known stays known; what would begin is decided again: somebody may have said stop.
        if settled:
            await journal.append(*settled)
        return
    if len(starts) == 1:
        await _run(journal, parts, starts[0])
    elif starts:
        try:
            async with asyncio.TaskGroup() as group:
                for start in starts:
                    group.create_task(_run(journal, parts, start))
        except ExceptionGroup as errors:
            # No tool's: what a tool raises is its result. It is the log's, and one lost lease is lost to all.
            raise errors.exceptions[0] from None


def context(journal: Journal, call: OpenCall, given: object, attempt: int = 1) -> ToolContext:
    """What a tool may know about its call."""
    state = journal.state
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
    )


def _key(journal: Journal, call: OpenCall, given: Json) -> str:
    return idempotency_key(journal.state.session_id, call.call.id, call.call.name, given)


def _started(journal: Journal, start: Start) -> ToolStarted:
    return ToolStarted(
        tool_use_id=start.call.call.id,
        name=start.tool.name,
        input=start.input,
        effect=start.tool.effect,
        key=_key(journal, start.call, start.input),
        attempt=start.attempt,
    )


async def _run(journal: Journal, parts: Parts, start: Start) -> None:
    began = parts.clock.monotonic()
    known = context(journal, start.call, start.input, start.attempt)
    ending: Ending | None
    if start.tool.effect == "transactional":
        ending = await _run_in_transaction(journal, parts, start, known)
    else:
        ending = await run(start.tool, start.arguments, known, parts.clock)
    if ending is None:
        return
    seconds = parts.clock.monotonic() - began
    if isinstance(ending, Waiting):
        await journal.append(_wait(start.call.call, ending.until, start.input))
        return
    try:
        await journal.append(_end(journal, parts, start.call, ending, given=start.input, seconds=seconds))
    except InvalidValue as error:
        told = _not_kept(start, error, outcome=ending.outcome if isinstance(ending, Failed) else "executed")
        await journal.append(_end(journal, parts, start.call, told, given=start.input, seconds=seconds))


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
            await transaction.append([_end(journal, parts, start.call, ending, given=start.input)])
    except _RolledBack as rolled_back:
        return rolled_back.ending
    except InvalidValue as error:
        return _not_kept(start, error, outcome="not_executed")
    return None


async def _ask_tool(journal: Journal, parts: Parts, action: Ask) -> Start | Body:
    """What became of a call begun by a process that is gone: its end, or another start."""
    known = context(journal, action.call, action.input, action.attempt)
    answer = await reconcile(action.tool, action.arguments, known, parts.clock)
    match answer:
        case Done(value):
            ending = ending_of(value, tool=action.tool.name, max_chars=action.tool.max_result_chars)
            if isinstance(ending, Waiting):
                return _wait(action.call.call, ending.until, action.input)
            return _end(journal, parts, action.call, ending, given=action.input)
        case NotDone() if not journal.lease.alone:
            error = unknown_outcome(action.call, "the process that began it may still be doing it")
            return _end(journal, parts, action.call, failed(error))
        case NotDone():
            return Start(action.call, action.tool, action.input, action.arguments, action.attempt)
        case Unclear(why):
            error = unknown_outcome(action.call, why or "the tool itself cannot tell")
            return _end(journal, parts, action.call, failed(error))


async def close_calls(journal: Journal, parts: Parts, calls: Sequence[OpenCall], why: str) -> None:
    """Answer calls without running them; of one that may have begun, the truth: nobody knows."""
    bodies: list[Body] = []
    for call in calls:
        if call.started is not None:
            error = unknown_outcome(call, "it was interrupted after it began")
        else:
            error = ToolError(why, category="permission", code="not_executed", outcome="not_executed")
        bodies.append(_end(journal, parts, call, failed(error)))
    await journal.append_if_still(*bodies)


def _wait(call: Call, until: Mapping[str, Json], given: Json) -> ToolWaiting:
    return ToolWaiting(tool_use_id=call.id, name=call.name, input=given, until=until)


def _end(
    journal: Journal,
    parts: Parts,
    call: OpenCall,
    ending: Returned | Failed,
    *,
    given: object = None,
    seconds: float | None = None,
) -> ToolEnded:
    is_error = isinstance(ending, Failed)
    notes = (
        _edit_note(call),
        note_for(journal.state, call.call, ending.content, is_error=is_error, cap=parts.limits.repeats),
    )
    return ToolEnded(
        tool_use_id=call.call.id,
        name=call.call.name,
        content=ending.content,
        note="\n\n".join(note for note in notes if note) or None,
        is_error=is_error,
        error=ending.record() if isinstance(ending, Failed) else None,
        data=ending.data if isinstance(ending, Returned) else None,
        input=given,
        seconds=seconds,
    )


def _edit_note(call: OpenCall) -> str | None:
    """The model sees its own input in its message; that a person put another in its place, only here."""
    if call.decision is None or call.decision.input is None:
        return None
    return f"(A person changed the input of this call to {encode(call.decision.input).decode()}.)"
