"""
Worlds: logs that a harness can really write, made by chance.

`play(random)` lets people, a model, tools, crashes and clocks do what they like, and drives the session with our own
`decide`, `judge` and `batches`, exactly as the loop does, but without any I/O. It takes any `random.Random`, so that
hypothesis can shrink a world (`worlds()`), and a plain seed can make a thousand of them quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Literal

from hypothesis import strategies as st

from relevo.agent import Agent, Limits, settings_of
from relevo.content import Call
from relevo.context.project import Projection
from relevo.errors import Category, DecisionError, ToolError
from relevo.events import (
    Body,
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
    Unknown,
    UserInterrupt,
    UserMessage,
)
from relevo.fold import fold, fold_all
from relevo.human.gate import Action, Ask, Refuse, Start, Suspend, judge, unknown_outcome
from relevo.human.questions import decide_about, questions
from relevo.loop.calls import batches
from relevo.loop.decide import AskModel, CloseCalls, Nothing, Nudge, Rest, RunTools, decide
from relevo.loop.repeats import note_for
from relevo.model.request import build
from relevo.outcome import to_wire
from relevo.state import OpenCall, State
from relevo.tools import Requires, tool
from relevo.tools.context import ToolContext
from relevo.tools.effects import idempotency_key
from relevo.tools.endings import Failed, NotDone, failed
from relevo.tools.toolbox import Toolbox

SESSION = "sesn_world"
START = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
MODEL = "claude-sonnet-5"
OTHER_MODEL = "claude-opus-4-8"
STOPS = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "compaction",
    "brand_new_reason",
)
MAX_STEPS = 400
"""A life of a process that takes more steps than this goes in circles."""


class Livelock(AssertionError):
    """The loop goes in circles."""


@tool(effect="read")
def look(key: str) -> str:
    """Look something up."""
    return key


@tool(effect="idempotent")
def save(key: str, value: int = 0) -> str:
    """Save something."""
    return key


@tool(effect="irreversible", approve=lambda arguments, _: arguments["amount"] > 50)
def pay(amount: int) -> str:
    """Pay; a large amount needs a person."""
    return str(amount)


@tool(effect="compensable", reconcile=lambda _arguments, _context: NotDone())
def book(room: str) -> str:
    """Book a room."""
    return room


@tool(effect="irreversible", approve=True, requires=Requires("look", key="key"))
def erase(key: str) -> str:
    """Erase what was looked at; always needs a person."""
    return key


TOOLS = (look, save, pay, book, erase)
INPUTS: dict[str, Sequence[Any]] = {
    "look": ({"key": "a"}, {"key": "b"}, {"key": "a"}, {}),
    "save": ({"key": "a"}, {"key": "a", "value": 3}, {"value": "x"}),
    "pay": ({"amount": 5}, {"amount": 500}, {"amount": 51}, {"amount": "much"}),
    "book": ({"room": "1"}, {"room": 1}),
    "erase": ({"key": "a"}, {"key": "b"}),
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it would have gone out."""

    position: int
    """Of its `RequestStarted`."""
    body: bytes
    messages: tuple[bytes, ...]
    has_tools: bool
    model: str


@dataclass
class World:
    """One session and everything that happens to it. `people`, `crashes` and `failures` are chances from 0 to 1."""

    random: Random
    people: float = 0.25
    crashes: float = 0.03
    failures: float = 0.15
    jobs: float = 0.08
    """How likely a tool is to start something elsewhere, and to wait for it."""
    chatter: float = 0.6
    """How likely the model is to call tools rather than to end."""
    wild: bool = True
    """Whether the model also says what no model should: repeated ids, unknown blocks, odd inputs, stray calls."""
    updates: bool = False
    """Whether the agent's model may change between turns."""
    limits: Limits | None = None
    approval_seconds: float | Literal["any"] | None = "any"
    log: list[Event] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    now: datetime = START
    epoch: int = 0
    said: int = 0
    known_ids: list[str] = field(default_factory=list)
    steps: int = 0
    """Of the present process."""
    model: Callable[[World], dict[str, Any]] | None = None
    """Answers instead of chance."""

    def __post_init__(self) -> None:
        if self.limits is None:
            self.limits = self._some_limits()
        seconds = self.approval_seconds
        if seconds == "any":
            seconds = self._pick((None, None, 0, 90))
        self.agent = Agent(
            name="helper",
            model=MODEL,
            system="Help.",
            tools=TOOLS,
            limits=self.limits,
            approval_seconds=seconds,
        )
        self.toolbox = Toolbox(TOOLS)
        self.largest_limit = self._pick((1000, 4000))
        self.state = State(session_id=SESSION)
        self.projection = Projection()
        self._write(SessionCreated(agent=self.agent.record(), identity={"user": "u1"}))
        self._catch_up()

    # Chance

    def _chance(self, of: float) -> bool:
        return of > 0 and self.random.random() < of

    def _pick(self, among: Sequence[Any]) -> Any:
        return among[self.random.randrange(len(among))]

    def _some_limits(self) -> Limits:
        if self._chance(0.6):
            return Limits(turns=8)
        return Limits(
            turns=self._pick((8, 8, 8, 3, 1, 0)),
            tool_calls=self._pick((500, 500, 500, 3, 0, None)),
            repeats=self._pick((5, 5, 5, 2, 1, None, 0)),
            seconds=self._pick((None, None, None, None, 600, 0)),
            tokens=self._pick((None, None, None, None, 500, 0)),
            cost_usd=self._pick((None, None, None, None, Decimal("0.05"), Decimal(0))),
            pauses=self._pick((5, 5, 5, 1, 0)),
            nudges=self._pick((1, 1, 1, 2, 0)),
        )

    # The log

    def _write(self, *bodies: Body) -> None:
        self.log += [Event(SESSION, len(self.log) + 1 + n, self.now, body) for n, body in enumerate(bodies)]

    def _catch_up(self) -> None:
        for event in self.log[self.state.position :]:
            self.state = fold(self.state, event)
            self.projection.apply(event)

    def _append(self, *bodies: Body) -> None:
        """What the journal does, people getting in first, and a process that may die before or after."""
        self._crash()
        if self._chance(self.people / 3):
            self.meddle()
        self._catch_up()
        self._write(*bodies)
        self._catch_up()
        self._tick(3)
        self._crash()

    def _crash(self) -> None:
        if self._chance(self.crashes):
            raise _Crash

    def _tick(self, most: float) -> None:
        self.now += timedelta(seconds=self.random.randrange(int(most) + 1))

    # People

    def meddle(self) -> None:
        """Somebody does something, from another process, whatever the harness is doing."""
        what = self.random.randrange(10)
        if what < 5:
            self.speak()
        elif what < 6:
            self._write(UserInterrupt(reason=self._pick((None, "stop"))))
        elif what < 9:
            self.confirm()
        elif self.updates:
            self.update()

    def speak(self) -> None:
        """A message: one that nobody else says, or one that was said before."""
        self.said += 1
        text = self._pick((f"message {self.said}", "yes", "yes"))
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if self._chance(0.1):
            content.append({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}})
        self._write(UserMessage(content=content))

    def confirm(self) -> None:
        """A person decides about a waiting call, as the door does it."""
        state = fold_all(State(session_id=SESSION), self.log)
        waiting = questions(state)
        if not waiting:
            return
        question = self._pick(waiting)
        result = self._pick(("allow", "allow", "deny"))
        edited = {"amount": 60} if question.tool == "pay" and result == "allow" and self._chance(0.3) else None
        try:
            body = decide_about(
                state,
                question.call_id,
                result=result,
                approver="ann",
                now=self.now,
                edited=edited,
                validate=lambda name, given: self.toolbox.find(name).validate(given),
            )
        except DecisionError:
            return
        if body is not None:
            self._write(body)

    def update(self) -> None:
        """Another model from here on, when the session rests."""
        state = fold_all(State(session_id=SESSION), self.log)
        if not state.open and not state.in_flight:
            other = OTHER_MODEL if state.agent["model"] == MODEL else MODEL
            self._write(SessionUpdated(agent={**state.agent, "model": other}))

    # The harness

    def drive(self) -> None:
        """One process takes the session up and goes on until nothing is owed, or until it dies."""
        self.epoch += 1
        self.steps = 0
        self.state, self.projection = State(session_id=SESSION), Projection()
        self._catch_up()
        woken = False
        try:
            while True:
                step = self.decide()
                if isinstance(step, Nothing):
                    return
                if not woken:
                    self._append(SessionRunning(epoch=self.epoch))
                    woken = True
                    continue
                self.steps += 1
                if self.steps > MAX_STEPS:
                    raise Livelock(f"{step} again and again")
                self._perform(step)
        except _Crash:
            self._tick(1000)

    def decide(self) -> Any:
        assert self.limits is not None
        return decide(self.state, self.limits, now=self.now, first_limit=1000, largest_limit=self.largest_limit)

    def _perform(self, step: Any) -> None:
        match step:
            case AskModel():
                self._ask(step)
            case RunTools(calls):
                self._run_tools(calls)
            case CloseCalls(calls, why):
                self._append(*(self._closed(call, why) for call in calls))
            case Nudge(reason, text):
                self._append(LoopNudged(reason=reason, text=text))
            case Rest(outcome):
                self._append(SessionIdle(stop_reason=to_wire(outcome)))

    def _ask(self, step: AskModel) -> None:
        if step.not_before is not None:
            self.now = max(self.now, step.not_before)
        attempt = self.state.failures + 1
        model = str(self.state.agent["model"])
        self._append(RequestStarted(model=model, max_tokens=step.max_tokens, attempt=attempt))
        self.projection.check(has_tools=True)
        request = build(settings_of(self.state.agent), self.projection.messages, max_tokens=step.max_tokens)
        self.sent.append(
            Sent(self.state.position, request.body, tuple(self.projection.messages), has_tools=True, model=model)
        )
        if self._chance(self.people):
            self.meddle()
        if self._chance(self.failures):
            retry = None if attempt >= 3 or self._chance(0.3) else float(self.random.randrange(9))
            usage = self._pick((None, None, {"input_tokens": 9, "output_tokens": 1}))
            error = {"type": "overloaded_error", "message": "busy", "status": 529, "code": None, "request_id": None}
            self._append(ModelFailed(error=error, retry_in_seconds=retry, usage=usage))
            return
        message = self.model(self) if self.model is not None else self.answer()
        malformed = [
            index
            for index, block in enumerate(message["content"])
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict) and "_raw" in block["input"]
        ]
        cost = self._pick(("0.001", "0.02", "0.001", None))
        self._append(ModelAnswered(message=message, malformed=malformed, cost_usd=cost))

    def _run_tools(self, calls: Sequence[OpenCall]) -> None:
        """The first batch only, as the loop does it: before the next, it is decided again."""
        batch = next(iter(batches(calls, self.toolbox)))
        self._act([judge(call, self.toolbox, self.state, self._context(call), now=self.now) for call in batch])

    def _act(self, actions: Sequence[Action]) -> None:
        settled: list[Body] = []
        starts: list[Start] = []
        for action in actions:
            match action:
                case Refuse(call, error):
                    settled.append(self._end(call.call, failed(error)))
                case Suspend(call, until):
                    settled.append(_waits(call.call, until, call.call.input))
                case Ask(call, asked, given, arguments, attempt):
                    answer = self.random.randrange(3)
                    if answer == 0:
                        settled.append(self._end(call.call, "done before", given=given))
                    elif answer == 1:
                        settled.append(self._end(call.call, failed(unknown_outcome(call, "nobody can tell"))))
                    else:
                        starts.append(Start(call, asked, given, arguments, attempt))
                case Start():
                    starts.append(action)
        bodies = [*settled, *(self._started(start) for start in starts)]
        if bodies:
            self._append(*bodies)
        for start in self._shuffled(starts):
            start.tool.validate(start.input)  # the loop binds them, and it must not fail
            self._tick(5)
            self._append(self._ran(start))

    def _shuffled(self, starts: list[Start]) -> list[Start]:
        left, order = list(starts), []
        while left:
            order.append(left.pop(self.random.randrange(len(left))))
        return order

    def _ran(self, start: Start) -> Body:
        call = start.call.call
        if self._chance(self.jobs):
            until = {"type": "job", "expires_at": self._pick((None, (self.now + timedelta(seconds=50)).isoformat()))}
            return _waits(call, until, start.input)
        if self._chance(0.1):
            categories: tuple[Category, ...] = ("transient", "business", "internal")
            return self._end(call, failed(ToolError("it broke", category=self._pick(categories))), given=start.input)
        content: Any = self._pick(("fine", "fine", "", f"at {self.now}", [{"type": "text", "text": "block"}]))
        return self._end(call, content, given=start.input, data={"key": self._pick(("a", "b"))})

    def _started(self, start: Start) -> ToolStarted:
        call = start.call.call
        return ToolStarted(
            tool_use_id=call.id,
            name=start.tool.name,
            input=start.input,
            effect=start.tool.effect,
            key=idempotency_key(SESSION, call.id, call.name, start.input),
            attempt=start.attempt,
        )

    def _closed(self, call: OpenCall, why: str) -> ToolEnded:
        if call.started is not None:
            return self._end(call.call, failed(unknown_outcome(call, "it was interrupted while it ran")))
        error = ToolError(why, category="permission", code="not_executed", outcome="not_executed")
        return self._end(call.call, failed(error))

    def _end(self, call: Call, ending: Any, *, given: Any = None, data: Any = None) -> ToolEnded:
        assert self.limits is not None
        is_error = isinstance(ending, Failed)
        content = ending.content if isinstance(ending, Failed) else ending
        return ToolEnded(
            tool_use_id=call.id,
            name=call.name,
            content=content,
            note=note_for(self.state, call, content, is_error=is_error, cap=self.limits.repeats),
            is_error=is_error,
            error=ending.record() if isinstance(ending, Failed) else None,
            data=data,
            input=given,
        )

    def _context(self, call: OpenCall) -> ToolContext:
        return ToolContext(session_id=SESSION, call_id=call.call.id, tool=call.call.name, identity=self.state.identity)

    # The model

    def answer(self) -> dict[str, Any]:
        """Any answer that the API may give, and, when the world is wild, some that it should not."""
        if self._chance(self.chatter):
            stop = "tool_use"
        elif self._chance(0.5):
            stop = "end_turn"
        else:
            stop = self._pick(STOPS)
        content = self._blocks(stop)
        return message(content, stop, model=str(self.state.agent["model"]))

    def _blocks(self, stop: str) -> list[dict[str, Any]]:
        blocks = [self._saying() for _ in range(self.random.randrange(3))]
        calls = self.random.randrange(1, 4) if stop == "tool_use" else 0
        if stop == "max_tokens" and self._chance(0.5):
            calls = 1
        if self.wild and stop in ("end_turn", "stop_sequence", "refusal", "brand_new_reason") and self._chance(0.2):
            calls = 1  # stray
        if self.wild and stop == "tool_use" and self._chance(0.1):
            calls = 0
        blocks += [self._call() for _ in range(calls)]
        if calls and self._chance(0.2):
            blocks.insert(0, self._server_call())  # still open
        if self.wild and self._chance(0.05):
            blocks.append(self._server_call())
        if stop == "pause_turn":
            call = self._server_call()
            blocks += [call, _server_result(call)] if self._chance(0.4) else [call]
        if stop == "compaction":
            blocks.append({"type": "compaction", "content": "so far"})
        return blocks

    def _saying(self) -> dict[str, Any]:
        kinds = 9 if self.wild else 6
        match self.random.randrange(kinds):
            case 0 | 1 | 2:
                return {"type": "text", "text": self._pick(("well", "so it is\n", "more"))}
            case 3 | 4:
                return {"type": "thinking", "thinking": self._pick(("hm", "")), "signature": f"sig{len(self.log)}"}
            case 5:
                return {"type": "redacted_thinking", "data": "xxx"}
            case 6:
                return {"type": "text", "text": self._pick(("", "  ", "\n"))}
            case 7:
                return {"type": "mystery", "of": {"the": "future"}}
            case _:
                return {"type": "fallback", "from": {"model": MODEL}, "to": {"model": OTHER_MODEL}}

    def _call(self) -> dict[str, Any]:
        name = self._pick(tuple(INPUTS))
        block = {"type": "tool_use", "id": self._tool_use_id(), "name": name, "input": self._pick(INPUTS[name])}
        if self.wild:
            match self.random.randrange(14):
                case 0:
                    block["name"] = self._pick(("no_such_tool", "not a name!", "x" * 200, ""))
                case 1:
                    block["input"] = {"_raw": '{"key": "a'}
                case 2:
                    block["input"] = self._pick(([], None, 1, "s", True))
        return block

    def _tool_use_id(self) -> str:
        if self.wild and self._chance(0.15) and self.known_ids:
            return str(self._pick(self.known_ids))
        if self.wild and self._chance(0.1):
            # Also what we ourselves would make up, for an event still to come.
            return str(
                self._pick(("", "an id", "tóolu", f"toolu_{len(self.log) + 1}_0", f"toolu_{len(self.log) + 5}_1"))
            )
        self.known_ids.append(f"toolu_{self.random.randrange(10**6):06}{len(self.known_ids)}")
        return self.known_ids[-1]

    def _server_call(self) -> dict[str, Any]:
        unique = f"{len(self.log)}{self.random.randrange(10**6)}"
        return {"type": "server_tool_use", "id": f"srvtoolu_{unique}", "name": "web_search", "input": {"query": "q"}}


class _Crash(Exception):
    """The process is gone."""


def message(content: Sequence[Any], stop: str | None, *, model: str = MODEL) -> dict[str, Any]:
    """A whole answer of the API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no"} if stop == "refusal" else None,
        "usage": {"input_tokens": 20, "output_tokens": 10, "cache_read_input_tokens": None},
    }


def _waits(call: Call, until: Any, given: Any) -> ToolWaiting:
    return ToolWaiting(tool_use_id=call.id, name=call.name, input=given, until=until)


def _server_result(call: dict[str, Any]) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": call["id"], "content": []}


def play(random: Random, *, rounds: int = 4, settle: bool = True, **how: Any) -> World:
    """
    A world after some rounds of people doing things and processes taking the session up and dying.

    With `settle` it ends in peace: nobody speaks or dies any more, until nothing is owed or somebody outside must act.
    """
    world = World(random, **how)
    world.speak()
    for _ in range(random.randrange(1, rounds + 1)):
        for _ in range(random.randrange(3)):
            world.meddle()
        world._tick(200)
        world.drive()
    if settle:
        calm(world)
    return world


def calm(world: World) -> None:
    """From here on nobody speaks and no process dies: the session must come to rest."""
    world.people = world.crashes = 0
    world.drive()


def worlds(**how: Any) -> st.SearchStrategy[World]:
    """Small worlds that hypothesis can shrink, and large ones that it cannot."""
    return st.one_of(
        st.randoms(use_true_random=False).map(lambda random: play(random, **how)),
        st.integers(0, 2**32).map(lambda seed: play(Random(seed), rounds=6, **how)),
    )


def soup(random: Random) -> list[Event]:
    """Well-formed events in any order, some twice, some about calls that nobody made. No harness writes such a log."""
    bodies: list[Body] = [event.body for event in play(random, updates=True).log]
    answers = [body for body in bodies if isinstance(body, ModelAnswered)]
    call_ids = ["sevt_world_2.0", "sevt_world_3.0", "nobody"]
    strays: list[Body] = [
        UserMessage(content=[{"type": "text", "text": "hello"}]),
        UserInterrupt(),
        SessionIdle(stop_reason={"type": "limit_reached"}),
        SessionIdle(stop_reason={"type": "requires_action", "event_ids": ["x"]}),
        SessionIdle(stop_reason={}),
        LoopNudged(reason="empty", text="go on"),
        RequestStarted(model=MODEL, max_tokens=1),
        ModelFailed(error={}, retry_in_seconds=None),
        ModelAnswered(message={}),
        ModelAnswered(message=message([{"type": "tool_use", "input": 3}], "tool_use"), malformed=[0]),
        Unknown(unknown_kind="session.dreamt", version=7, data=[1]),
        *(ToolStarted(tool_use_id=each, name="look", input={}, effect="read", key="k") for each in call_ids),
        *(
            ToolWaiting(tool_use_id=each, name="look", input={}, until={"type": "order", "after": "x"})
            for each in call_ids
        ),
        *(ToolWaiting(tool_use_id=each, name="look", input={}, until={"expires_at": "soon"}) for each in call_ids),
        *(ToolEnded(tool_use_id=each, name="look", content="") for each in call_ids),
        *(ToolConfirmation(tool_use_id=each, result="allow", approver="a", input_sha256="") for each in call_ids),
        *answers,
    ]
    pot = [*bodies, *strays]
    return log_of(*(pot[random.randrange(len(pot))] for _ in range(random.randrange(1, 40))))


def soups() -> st.SearchStrategy[list[Event]]:
    """Soups that hypothesis can shrink."""
    return st.randoms(use_true_random=False).map(soup)


def log_of(*bodies: Body, at: datetime = START) -> list[Event]:
    """Bodies as a log, one second apart."""
    return [Event(SESSION, place, at + timedelta(seconds=place), body) for place, body in enumerate(bodies, 1)]


def project(events: Sequence[Event]) -> Projection:
    """All events applied."""
    projection = Projection()
    for event in events:
        projection.apply(event)
    return projection


def state_of(events: Sequence[Event]) -> State:
    """All events folded."""
    return fold_all(State(session_id=SESSION), events)
