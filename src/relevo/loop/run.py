"""
The loop: fold, decide, perform, until nothing is owed.

It holds nothing of its own. Whatever happened is in the log, whatever it means is in the state, and a process that
dies between any two lines leaves a session that the next one carries on.
"""

from __future__ import annotations

from relevo.events import LoopNudged, SessionIdle, SessionRunning
from relevo.loop.attempt import ask
from relevo.loop.calls import close_calls, run_tools
from relevo.loop.decide import AskModel, CloseCalls, Nothing, Nudge, Rest, RunTools, decide
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.outcome import Outcome, to_wire


async def run(journal: Journal, parts: Parts, *, worker: str = "") -> Outcome | None:
    """
    Drive a session until it rests; return how its turn ended, None when nothing was ever asked.

    Raises:
        LeaseLost: another process took the session over and goes on with it.
    """
    woken = False
    while True:
        step = decide(
            journal.state,
            parts.limits,
            now=parts.clock.now(),
            first_limit=parts.first_limit,
            largest_limit=parts.largest_limit,
        )
        if isinstance(step, Nothing):
            return step.outcome
        if not woken:
            await journal.append(SessionRunning(epoch=journal.lease.epoch, worker=worker))
            woken = True
            continue
        match step:
            case AskModel():
                await ask(journal, parts, step)
            case RunTools(calls):
                await run_tools(journal, parts, calls)
            case CloseCalls(calls, why):
                await close_calls(journal, parts, calls, why)
            case Nudge(reason, text):
                await journal.append_if_still(LoopNudged(reason=reason, text=text))
            case Rest(outcome):
                if await journal.append_if_still(SessionIdle(stop_reason=to_wire(outcome))):
                    await journal.save()
