"""
What the events of a session mean: one event in, the next state out.

`fold` is pure, total, and the only place that gives events meaning for the loop. Folding a log in two halves gives the
same state as folding it at once, so any process may stop and any other may go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from relevo.content import Call, Json, calls_of, sha256, text_of
from relevo.events import (
    Event,
    LoopNudged,
    ModelAnswered,
    ModelFailed,
    RequestStarted,
    SessionCreated,
    SessionIdle,
    SessionRunning,
    SessionUpdated,
    ToolConfirmation,
    ToolEnded,
    ToolFailed,
    ToolStarted,
    ToolWaiting,
    UserInterrupt,
    UserMessage,
)
from relevo.outcome import ContextFull, Ended, ModelUnavailable, Outcome, Refused, UnsupportedStop, from_wire
from relevo.phases import Phase, Sign, following
from relevo.state import Fact, OpenCall, State, Status, Totals, Turn, replace
from relevo.stops import Reading, blocks_of, holds_back, read

FOLD_VERSION = 2
"""Changes whenever `fold` gives an event another meaning; older snapshots are then thrown away."""


def fold(state: State, event: Event) -> State:
    """The state after `event`. Events of a kind nobody knows change only the position."""
    after = _fold(state, event)
    if isinstance(event.body, UserMessage | UserInterrupt | ToolConfirmation | SessionUpdated):
        return replace(after, position=event.position)
    return replace(after, position=event.position, active_at=event.at)


def fold_all(state: State, events: Iterable[Event]) -> State:
    """The state after all `events`, in order."""
    for event in events:
        state = fold(state, event)
    return state


def _fold(state: State, event: Event) -> State:
    match event.body:
        case ModelAnswered() as body:
            return _answered(state, event, body)
        case ToolStarted(tool_use_id=call_id) as body:
            return _changed(state, call_id, status=Status.STARTED, started=body, until=None, retry_at=None)
        case ToolFailed() as body:
            return _failed_once(state, event, body)
        case ToolEnded() as body:
            return _ended(state, event, body)
        case RequestStarted(max_tokens=max_tokens):
            return replace(
                state,
                phase=following(state.phase, Sign.ASKED),
                in_flight=event.position,
                turn=replace(
                    state.turn,
                    growths=state.turn.growths + (state.phase is Phase.CUT),
                    # One whose process died before its answer was paid for too, so a crash loop has an end.
                    answers=state.turn.answers + bool(state.in_flight),
                ),
                max_tokens=max_tokens,
                retry_at=None,
                unheard=state.unheard and state.holds_back,
                queued=state.queued and state.holds_back,
                totals=replace(state.totals, requests=state.totals.requests + 1),
            )
        case ToolWaiting() as body:
            return _waits(state, body)
        case ToolConfirmation(tool_use_id=call_id) as body:
            call = state.open.get(call_id)
            if call is None or call.awaits != "approval":
                return state  # a decision is used once, and only where one was asked for
            return _settled(_changed(state, call_id, status=Status.DECIDED, decision=body))
        case UserMessage():
            return _spoke(state, event)
        case ModelFailed() as body:
            return _failed(state, event, body)
        case SessionIdle(stop_reason=stop_reason):
            return replace(_rested(state, event, stop_reason), awake=False)
        case LoopNudged(reason=reason):
            nudges = {**state.turn.nudges, reason: state.turn.nudges.get(reason, 0) + 1}
            texts = (*state.turn.texts, state.turn.text) if reason == "max_tokens" else state.turn.texts
            turn = replace(state.turn, nudges=nudges, texts=texts, text="", growths=0)
            return replace(state, phase=following(state.phase, Sign.NUDGED), turn=turn)
        case UserInterrupt() as body:
            if state.phase is Phase.QUIET:
                return state
            return replace(state, interrupted=body, queued=False)
        case SessionCreated() as body:
            return replace(
                state,
                agent=body.agent,
                identity=body.identity,
                title=body.title,
                metadata=body.metadata,
                created_at=event.at,
            )
        case SessionUpdated() as body:
            return replace(
                state,
                agent=state.agent if body.agent is None else body.agent,
                title=state.title if body.title is None else body.title,
                metadata=state.metadata if body.metadata is None else body.metadata,
            )
        case SessionRunning():
            return replace(_woken(state, event), awake=True)
        case _:
            return state


def _spoke(state: State, event: Event) -> State:
    """A message begins a turn, unless one is under way: then it waits to be heard."""
    if state.in_flight or state.open or state.interrupted or state.phase is Phase.ENDING:
        return replace(state, unheard=True, queued=True)
    return replace(
        state,
        phase=following(state.phase, Sign.SPOKE),
        unheard=True,
        queued=state.phase is not Phase.QUIET,
        ending=None,
        turn=Turn(began_at=event.at),
        failures=0,
        failing_since=None,
        retry_at=None,
    )


def _woken(state: State, event: Event) -> State:
    began_at = state.turn.began_at
    if began_at is None:
        return state
    idle_since = max(began_at, state.active_at or began_at)
    return replace(state, turn=replace(state.turn, began_at=began_at + max(event.at - idle_since, timedelta())))


def _answered(state: State, event: Event, body: ModelAnswered) -> State:
    message = body.message
    content = blocks_of(message)
    reading = read(message)
    text = text_of(content)
    newest = text if text.strip() else ""
    if reading is Reading.REFUSED or (not newest and reading not in (Reading.CUT, Reading.EMPTY)):
        newest = state.turn.text
    turn = replace(
        state.turn,
        answers=state.turn.answers + 1,
        pauses=state.turn.pauses + 1 if reading is Reading.PAUSED else 0,
        growths=state.turn.growths if reading is Reading.CUT else 0,
        text=newest,
    )
    holding = holds_back(message)
    let_go = state.holds_back and not holding and state.interrupted is None  # what waited for that may be heard now
    state = replace(
        state,
        in_flight=0,
        failures=0,
        failing_since=None,
        retry_at=None,
        holds_back=holding,
        queued=state.queued or (state.unheard and let_go),
        turn=turn,
        totals=_counted(state.totals, message.get("usage"), body.cost_usd),
    )
    said = "".join((*turn.texts, text))
    stop_reason = message.get("stop_reason")
    ending: Outcome | None = None
    match reading:
        case Reading.CALLS | Reading.STRAY_CALLS:
            return _called(state, event, body, stray=reading is Reading.STRAY_CALLS)
        case Reading.PAUSED:
            # The answer goes on in the next one, so its text does too.
            turn = replace(turn, texts=(*turn.texts, text), text="")
            return replace(state, phase=following(state.phase, Sign.PAUSED), turn=turn)
        case Reading.CUT:
            return replace(state, phase=following(state.phase, Sign.CUT))
        case Reading.EMPTY:
            return replace(state, phase=following(state.phase, Sign.SILENT))
        case Reading.DONE:
            sign, ending = Sign.ANSWERED, Ended(text=said, stop_sequence=message.get("stop_sequence"))
        case Reading.REFUSED:
            details = message.get("stop_details")
            details = details if isinstance(details, Mapping) else {}
            category, why = details.get("category"), details.get("explanation")
            sign, ending = Sign.STOPPED, Refused(category=category, explanation=why, text=state.partial_text)
        case Reading.CONTEXT_FULL:
            sign, ending = Sign.STOPPED, ContextFull(text=said)
        case Reading.UNSUPPORTED:
            sign, ending = Sign.STOPPED, UnsupportedStop(stop_reason=str(stop_reason), text=said)
    return replace(state, phase=following(state.phase, sign), ending=ending)


def _called(state: State, event: Event, body: ModelAnswered, *, stray: bool) -> State:
    calls = calls_of(blocks_of(body.message), event.id)
    opened: dict[str, OpenCall] = {}
    for call in calls:
        refused = None
        if stray:
            refused = "the answer ended without handing over to tools"
        elif call.index in body.malformed:
            refused = "its input was not a JSON object"
        opened[call.id] = OpenCall(call, refused=refused)
    turn = replace(state.turn, tool_calls=state.turn.tool_calls + len(calls), texts=(), text=state.partial_text)
    return replace(state, phase=following(state.phase, Sign.CALLED), open=opened, turn=turn)


def _changed(state: State, call_id: str, **changes: Any) -> State:
    """Change one open call; a call that is not open (answered, or never asked for) is left alone."""
    call = state.open.get(call_id)
    if call is None:
        return state
    return replace(state, open={**state.open, call_id: replace(call, **changes)})


def _waits(state: State, body: ToolWaiting) -> State:
    call = state.open.get(body.tool_use_id)
    if call is not None and call.started is None and _ordered(body.until) and body.until.get("after") not in state.open:
        return state  # what it was to wait for has ended meanwhile
    proposed = body.input if body.until.get("type") == "approval" else None
    return _settled(_changed(state, body.tool_use_id, status=Status.WAITING, until=body.until, proposed=proposed))


def _failed_once(state: State, event: Event, body: ToolFailed) -> State:
    call = state.open.get(body.tool_use_id)
    if call is None:
        return state
    word = str(body.error.get("code") or body.error.get("category"))
    due = event.at + timedelta(seconds=body.retry_in_seconds)
    changes = {"failures": (*call.failures, word), "failed": body.error, "retry_at": due}
    return _settled(_changed(state, body.tool_use_id, status=Status.RETRYING, **changes))


def _ended(state: State, event: Event, body: ToolEnded) -> State:
    if body.tool_use_id not in state.open:
        return state
    still = {
        call_id: replace(call, status=Status.PROPOSED, until=None) if _waits_for(call, body.tool_use_id) else call
        for call_id, call in state.open.items()
        if call_id != body.tool_use_id
    }
    facts = state.facts
    if not body.is_error and body.degraded is None:
        facts = Fact(event.position, body.name, body.input, body.data, facts)
    call = state.open[body.tool_use_id].call
    name, result = call_hash(call), result_hash(body.content, is_error=body.is_error)
    last, count = state.turn.repeats.get(name, ("", 0))
    count = count + 1 if result == last else 1
    turn = replace(
        state.turn,
        repeats={**state.turn.repeats, name: (result, count)},
        repeated=max(state.turn.repeated, count),
    )
    return _settled(replace(state, open=still, facts=facts, turn=turn))


def call_hash(call: Call) -> str:
    """What makes two calls identical: the name and the input."""
    return sha256([call.name, call.input])


def result_hash(content: str | Sequence[Mapping[str, Json]], *, is_error: bool) -> str:
    """What makes two results the same."""
    return sha256([content, is_error])


def _waits_for(call: OpenCall, other_id: str) -> bool:
    return call.until is not None and _ordered(call.until) and call.until.get("after") == other_id


def _ordered(until: Mapping[str, Json]) -> bool:
    return until.get("type") == "order"


def _settled(state: State) -> State:
    """The phase that the open calls put the session in."""
    if not state.open:
        sign = Sign.ALL_ANSWERED
    elif all(call.status is Status.WAITING for call in state.open.values()):
        sign = Sign.ALL_WAIT
    else:
        sign = Sign.CAN_MOVE
    return replace(state, phase=following(state.phase, sign))


def _failed(state: State, event: Event, body: ModelFailed) -> State:
    totals = state.totals if body.usage is None else _counted(state.totals, body.usage, body.cost_usd)
    state = replace(state, in_flight=0, totals=totals)
    if body.retry_in_seconds is None:
        ending = ModelUnavailable(error=body.error, text=state.partial_text)
        return replace(state, phase=following(state.phase, Sign.GAVE_UP), ending=ending, failures=0, retry_at=None)
    return replace(
        state,
        failures=state.failures + 1,
        failing_since=state.failing_since or event.at,
        retry_at=event.at + timedelta(seconds=body.retry_in_seconds),
    )


def _rested(state: State, event: Event, stop_reason: Mapping[str, Json]) -> State:
    outcome = state.ending or from_wire(stop_reason, state.partial_text)
    state = replace(state, outcome=outcome, ending=None)
    if state.open:
        return state
    state = replace(
        state,
        phase=following(state.phase, Sign.RESTED),
        interrupted=None,
        in_flight=0,
        failures=0,
        failing_since=None,
        retry_at=None,
    )
    if state.queued and state.phase is Phase.QUIET:
        return replace(state, phase=following(state.phase, Sign.UNHEARD), queued=False, turn=Turn(began_at=event.at))
    return state


def _counted(totals: Totals, usage: Any, cost_usd: str | None) -> Totals:
    """
    Totals with one answer more. Missing, null and odd figures count as none, and the answer still counts.

    What an answer took is the sum of its iterations; the top level leaves some out.
    Source: SDK docstrings of `BetaUsage`, read 2026-12-01.
    """
    whole: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    iterations = whole.get("iterations")
    parts = [part for part in iterations if isinstance(part, Mapping)] if isinstance(iterations, list) else []

    def tokens(name: str) -> int:
        figures = [part.get(name) for part in parts or [whole]]
        return sum(figure for figure in figures if isinstance(figure, int) and figure > 0)

    return replace(
        totals,
        input_tokens=totals.input_tokens + tokens("input_tokens"),
        output_tokens=totals.output_tokens + tokens("output_tokens"),
        cache_read_tokens=totals.cache_read_tokens + tokens("cache_read_input_tokens"),
        cache_write_tokens=totals.cache_write_tokens + tokens("cache_creation_input_tokens"),
        cost_usd=totals.cost_usd + (Decimal(cost_usd) if cost_usd is not None else 0),
        unpriced=totals.unpriced + (cost_usd is None),
    )
