"""
What the events of a session mean.

`fold` reads one event and returns the next `State`; it is pure, total, and the only place that gives events meaning
for the loop. Folding a log in two halves gives the same state as folding it at once, so any process may stop and any
other may go on. The state holds nothing that grows with the history but `facts`, a linked list that shares its tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar

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
    ToolStarted,
    ToolWaiting,
    UserInterrupt,
    UserMessage,
)
from relevo.outcome import (
    ContextFull,
    Ended,
    ModelUnavailable,
    Outcome,
    Refused,
    UnsupportedStop,
    from_wire,
)
from relevo.phases import Phase, Sign, following
from relevo.stops import Reading, holds_back, read

FOLD_VERSION = 1
"""Changes whenever `fold` gives an event another meaning; older snapshots are then thrown away."""


T = TypeVar("T")


def replace(value: T, **changes: Any) -> T:
    """`dataclasses.replace` for classes that check nothing: eight times as fast, on the path of every event."""
    copy: T = object.__new__(type(value))
    copy.__dict__.update(value.__dict__)
    copy.__dict__.update(changes)
    return copy


class Status(Enum):
    """How far an open call has come."""

    PROPOSED = "proposed"
    """The model asked; nothing was decided."""
    WAITING = "waiting"
    """Somebody or something outside must act first."""
    DECIDED = "decided"
    """A person decided; nothing was run yet."""
    STARTED = "started"
    """Its effect may have begun. Seen at a wake, it means: begun by a process that is gone."""


@dataclass(frozen=True)
class OpenCall:
    """A call the model waits for."""

    call: Call
    status: Status = Status.PROPOSED
    refused: str | None = None
    """Why it must be answered without being looked at; None for an ordinary call."""
    until: Mapping[str, Json] | None = None
    """What it waits for, of `ToolWaiting`."""
    decision: ToolConfirmation | None = None
    started: ToolStarted | None = None
    """The newest attempt."""

    @property
    def awaits(self) -> str | None:
        """What kind of thing it waits for (`approval`, `order`, ...); None when it can move."""
        return str((self.until or {}).get("type")) if self.status is Status.WAITING else None

    @property
    def expires_at(self) -> datetime | None:
        """When the wait is over; None is never, and so is a moment of a tool's own that nobody can read."""
        try:
            moment = datetime.fromisoformat((self.until or {})["expires_at"])
        except (KeyError, TypeError, ValueError):
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fact:
    """A successful result: what gates ask about."""

    position: int
    tool: str
    input: Any
    data: Any
    before: Fact | None = field(default=None, repr=False, compare=False)
    """The fact before it, so that the newest comes first and the tail is shared. Longer than Python recurses."""


@dataclass(frozen=True)
class Turn:
    """Counters since somebody last spoke."""

    began_at: datetime | None = None
    """Moved on by every time in which nobody worked, so that now minus this is time spent working."""
    answers: int = 0
    tool_calls: int = 0
    pauses: int = 0
    """In a row."""
    growths: int = 0
    """How often the output limit of the present answer was raised."""
    nudges: Mapping[str, int] = field(default_factory=dict)
    """By reason."""
    repeats: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Call (name and input) -> its last result's hash, and how often in a row that call gave it."""
    repeated: int = 0
    """The most that any call gave the same result in a row."""
    texts: tuple[str, ...] = ()
    """Partial texts that the model was asked to continue."""
    text: str = ""
    """The newest text of this turn."""


@dataclass(frozen=True)
class Totals:
    """Counters over the whole log. Every request counts, also one whose answer was thrown away."""

    requests: int = 0
    input_tokens: int = 0
    """Without cache reads and writes."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Answers whose price is unknown; while this is over 0, `cost_usd` is a lower bound."""

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True)
class State:
    """What a log means now."""

    session_id: str
    position: int = 0
    phase: Phase = Phase.QUIET
    agent: Mapping[str, Json] = field(default_factory=dict)
    identity: Mapping[str, Json] = field(default_factory=dict)
    title: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    created_at: datetime | None = None
    active_at: datetime | None = None
    """When the harness last wrote something."""
    open: Mapping[str, OpenCall] = field(default_factory=dict)
    """Calls without a result, by id, in the model's order."""
    in_flight: int = 0
    """Position of the request that has no answer yet, 0 when there is none."""
    max_tokens: int = 0
    """Output limit of the newest request, 0 before the first."""
    failures: int = 0
    """Failed attempts of the present request, in a row."""
    failing_since: datetime | None = None
    retry_at: datetime | None = None
    """Not before this moment is the next attempt due; None when it is due now."""
    unheard: bool = False
    """A message came that no request has carried yet."""
    queued: bool = False
    """It came while a turn was under way: if no request of that turn carries it, it begins the next."""
    holds_back: bool = False
    """The newest answer lets no text follow it yet (see `stops.holds_back`)."""
    interrupted: UserInterrupt | None = None
    ending: Outcome | None = None
    """How the turn ends, once that is known and not yet written."""
    outcome: Outcome | None = None
    """How the last turn ended; None before the first end."""
    facts: Fact | None = None
    turn: Turn = field(default_factory=Turn)
    totals: Totals = field(default_factory=Totals)

    def results(self, tool: str) -> Iterator[Fact]:
        """Successful results of a tool, newest first."""
        fact = self.facts
        while fact is not None:
            if fact.tool == tool:
                yield fact
            fact = fact.before

    @property
    def partial_text(self) -> str:
        """What the model said in this turn, the cut pieces joined."""
        return "".join((*self.turn.texts, self.turn.text))


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
            return _changed(state, call_id, status=Status.STARTED, started=body, until=None)
        case ToolEnded() as body:
            return _ended(state, event, body)
        case RequestStarted(max_tokens=max_tokens):
            return replace(
                state,
                phase=following(state.phase, Sign.ASKED),
                in_flight=event.position,
                turn=replace(state.turn, growths=state.turn.growths + (state.phase is Phase.CUT)),
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
            return _rested(state, event, stop_reason)
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
            return _woken(state, event)
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
    content: Sequence[Mapping[str, Json]] = message.get("content") or []
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
            return replace(state, phase=following(state.phase, Sign.PAUSED))
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
    calls = calls_of(body.message.get("content") or [], event.id)
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
    return _settled(_changed(state, body.tool_use_id, status=Status.WAITING, until=body.until))


def _ended(state: State, event: Event, body: ToolEnded) -> State:
    if body.tool_use_id not in state.open:
        return state
    still = {
        call_id: replace(call, status=Status.PROPOSED, until=None) if _waits_for(call, body.tool_use_id) else call
        for call_id, call in state.open.items()
        if call_id != body.tool_use_id
    }
    facts = state.facts
    if not body.is_error:
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
    totals = state.totals if body.usage is None else _counted(state.totals, body.usage, None)
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

    What an answer took is the sum of its iterations; the top level leaves some out. Source: wire.md 1.6.
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
