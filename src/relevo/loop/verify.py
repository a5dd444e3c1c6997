"""
Does a log keep the laws? Reads one and names every place where it does not.

Nothing is run and nothing is written. The checks do not ask the fold whether it is content: they count for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relevo.content import calls_of, sha256
from relevo.context.project import Projection
from relevo.errors import InvalidRequest
from relevo.events import (
    Event,
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
)
from relevo.outcome import AwaitingAction
from relevo.stops import Reading, blocks_of, read


@dataclass(frozen=True, slots=True)
class Breach:
    """One place where a law is broken."""

    position: int
    law: str
    what: str


def verify(events: Sequence[Event]) -> list[Breach]:
    """Every breach of a law in a whole log (from position 1), in order; none is a good log."""
    found: list[Breach] = []

    def breach(event: Event, law: str, what: str) -> None:
        found.append(Breach(event.position, law, what))

    asked: dict[str, object] = {}
    """What each call is to be run with: as the model asked, or as a person edited it."""
    unanswered: set[str] = set()
    started: dict[str, list[ToolStarted]] = {}
    waiting: dict[str, ToolWaiting] = {}
    ended: set[str] = set()
    undecided: set[str] = set()
    epoch = 0
    in_flight = False
    has_tools = False
    projection = Projection()
    for place, event in enumerate(events, 1):
        if event.position != place:
            breach(event, "gapless", f"position {event.position} stands at place {place}")
        if (place == 1) != isinstance(event.body, SessionCreated):
            breach(event, "first event", f"{event.kind} at position {event.position}")
        match event.body:
            case SessionCreated(agent=agent):
                has_tools = bool(agent.get("tools"))
            case SessionUpdated(agent=agent) if agent is not None:
                has_tools = bool(agent.get("tools"))
            case Unknown() as body:
                breach(event, "known kinds", f"{body.kind} version {body.version} was written by another version")
            case SessionRunning() as body:
                if body.epoch < epoch:
                    breach(event, "one holder", f"epoch {body.epoch} after {epoch}")
                epoch = max(epoch, body.epoch)
            case RequestStarted():
                if unanswered:
                    breach(event, "every call is answered", "a request was sent while calls were open")
                in_flight = True
            case ModelAnswered(message=message):
                if not in_flight:
                    breach(event, "write-ahead", "an answer without a request")
                in_flight = False
                if read(message) in (Reading.CALLS, Reading.STRAY_CALLS):
                    calls = calls_of(blocks_of(message), event.id)
                    asked |= {call.id: call.input for call in calls}
                    unanswered |= {call.id for call in calls}
            case ModelFailed():
                if not in_flight:
                    breach(event, "write-ahead", "a failure without a request")
                in_flight = False
            case ToolStarted(tool_use_id=call_id) as body:
                if call_id not in asked:
                    breach(event, "nobody runs what was not asked", f"{body.name} {call_id}")
                elif body.input != asked[call_id] and body.changed_by is None:
                    breach(event, "nobody runs what was not asked", f"{body.name} {call_id} with another input")
                if call_id in undecided:
                    breach(event, "nothing runs undecided", f"{body.name} {call_id} was started, and nobody allowed it")
                if call_id in ended:
                    breach(event, "one result", f"{call_id} was started after it had ended")
                before = started.setdefault(call_id, [])
                if before and before[-1].key != body.key:
                    breach(event, "one key", f"{call_id} was started again with another key")
                if before and body.effect == "irreversible" and before[-1].attempt >= body.attempt:
                    breach(event, "never twice", f"{body.name} {call_id} was started twice as the same attempt")
                before.append(body)
            case ToolWaiting(tool_use_id=call_id) as body:
                if call_id not in asked or call_id in ended:
                    breach(event, "nobody runs what was not asked", f"{body.name} {call_id} waits")
                waiting[call_id] = body
                if body.until.get("type") == "approval":
                    undecided.add(call_id)
            case ToolConfirmation(tool_use_id=call_id) as body:
                wait = waiting.get(call_id)
                if wait is None or wait.until.get("type") != "approval":
                    breach(event, "decisions answer questions", f"{call_id} did not wait for a decision")
                elif body.input_sha256 != sha256(wait.input):
                    breach(event, "a decision covers one input", f"{call_id} was decided about with another input")
                elif call_id not in undecided:
                    breach(event, "a decision is used once", f"{call_id} was decided about again")
                elif body.result == "allow":
                    undecided.discard(call_id)
                    asked[call_id] = wait.input if body.input is None else body.input
            case ToolEnded(tool_use_id=call_id) as body:
                if call_id not in asked:
                    breach(event, "nobody runs what was not asked", f"a result for {call_id}")
                if call_id in ended:
                    breach(event, "one result", f"{call_id} ended twice")
                if not body.is_error and call_id not in started:
                    breach(event, "write-ahead", f"{call_id} succeeded without having started")
                ended.add(call_id)
                unanswered.discard(call_id)
            case SessionIdle(stop_reason=stop_reason):
                if unanswered and stop_reason.get("type") != AwaitingAction.type:
                    breach(event, "every call is answered", "the turn was ended while calls were open")
            case _:
                pass
        try:
            projection.apply(event)
            if isinstance(event.body, RequestStarted):
                projection.check(has_tools=has_tools)
        except InvalidRequest as error:
            breach(event, "valid messages", str(error))
            return found
    return found
