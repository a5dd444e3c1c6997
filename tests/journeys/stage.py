"""
What a journey is played on: a strict simulator, a log, and any number of harnesses that share both.

When the curtain falls the stage looks everything over, whatever the test itself asserted: no request broke a rule, no
step of the script was left over or missing, every log keeps the laws, and what a session sends only ever grows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from anthropic import AsyncAnthropic

from relevo import Agent, DirectModel, Harness, Limits, Log, MemoryLog, Model, MovableClock, Outcome, SdkModel, Session
from relevo.clock import Clock
from relevo.context.project import Projection
from relevo.events import Event, ModelFailed, ToolEnded
from relevo.fold import fold_all
from relevo.loop.verify import verify
from relevo.model import Deadlines
from relevo.simulator import Script, Simulator
from relevo.simulator.brains.brain import Answers, Brain
from relevo.simulator.brains.script import Step
from relevo.state import State

MODEL = "claude-opus-5-5"
"""Always thinks, and binds every thinking block to the exact bytes before it: the strictest there is."""


class Stage:
    """One simulator, one log, one kind of transport."""

    def __init__(self, transport: str = "direct", *, log: Log | None = None, clock: Clock | None = None) -> None:
        self.transport = transport
        self.log: Log = log or MemoryLog()
        self.clock: Clock = clock or MovableClock(jump=True)
        self.sim = Simulator(self._unplanned)
        self.forgets = False
        """Set when a reset of the messages is part of the journey."""
        self.laws_of_another_version = False
        """Set when a log holds events that this version cannot judge."""
        self._clients: list[AsyncAnthropic] = []
        self._models: list[Model] = []

    async def plays(self, brain: Sequence[Step] | Brain | Answers, *, faults: str | None = None) -> Simulator:
        """Begin: what the model will say, and what goes wrong on the way."""
        self.sim = Simulator(Script(brain) if isinstance(brain, Sequence) else brain, faults=faults)
        await self.sim.start()
        return self.sim

    def model(self, *, deadlines: Deadlines | None = None) -> Model:
        """A way to the simulator by the stage's transport."""
        if self.transport == "sdk":
            client = AsyncAnthropic(base_url=self.sim.base_url, api_key="k")
            self._clients.append(client)
            made: Model = SdkModel(client, deadlines=deadlines, clock=self.clock)
        else:
            made = DirectModel(base_url=self.sim.base_url, api_key="k", deadlines=deadlines, clock=self.clock)
        self._models.append(made)
        return made

    def agent(self, *tools: Any, name: str = "clerk", **options: Any) -> Agent:
        """An agent with these tools; a `limits` mapping becomes `Limits`."""
        if isinstance(options.get("limits"), dict):
            options["limits"] = Limits(**options["limits"])
        return Agent(name=name, model=options.pop("model", MODEL), tools=tools, **options)

    def harness(self, *agents: Agent, deadlines: Deadlines | None = None, **options: Any) -> Harness:
        """Another process, as far as anybody can tell: it shares nothing with the others but the log."""
        options.setdefault("clock", self.clock)
        return Harness(options.pop("log", self.log), agents=agents, model=self.model(deadlines=deadlines), **options)

    async def begin(self, agent: Agent, **options: Any) -> Session:
        """A new session in a new harness."""
        return await self.harness(agent).start(agent, **options)

    async def run(self, agent: Agent, message: Any = "Go.", **options: Any) -> Outcome:
        """One session from its first message to its rest."""
        return await (await self.begin(agent, **options)).run(message)

    async def events(self, session_id: str | None = None) -> list[Event]:
        """Everything that happened in a session; None is the only one there is."""
        return await self.log.read(session_id or await self._only())

    async def bodies(self, kind: type[Any], session_id: str | None = None) -> list[Any]:
        """What happened of one kind."""
        return [event.body for event in await self.events(session_id) if isinstance(event.body, kind)]

    async def ended(self, session_id: str | None = None) -> dict[str, ToolEnded]:
        """The results of a session, by the name of the tool; of several calls the last."""
        return {body.name: body for body in await self.bodies(ToolEnded, session_id)}

    async def error(self, tool: str) -> dict[str, Any]:
        """What is known about the failure of the newest call of a tool."""
        known = (await self.ended())[tool].error
        assert known is not None, f"{tool} did not fail"
        return dict(known)

    async def failures(self) -> list[dict[str, Any]]:
        """The errors of failed attempts."""
        return [dict(body.error) for body in await self.bodies(ModelFailed)]

    async def state(self, session_id: str | None = None) -> State:
        """What the log means, folded from its beginning."""
        session_id = session_id or await self._only()
        return fold_all(State(session_id=session_id), await self.events(session_id))

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The bodies of all requests that reached a brain or were refused, in order."""
        return [seen.body for seen in self.sim.requests]

    def results(self, request: int = -1) -> list[dict[str, Any]]:
        """The newest tool results in a request: all of one message, since they may not be spread over two."""
        for message in reversed(self.sent[request]["messages"]):
            found = [block for block in message["content"] if block["type"] == "tool_result"]
            if found:
                return found
        return []

    async def close(self) -> None:
        """Let everything go, then look it over."""
        logs = [await self.log.read(info.id) for info in await self.log.sessions()]
        for model in self._models:
            await model.close()
        for client in self._clients:
            await client.close()
        await self.log.close()
        await self.sim.close()
        assert self.sim.violations == []
        assert self.sim.mistakes == []
        for events in logs:
            assert [
                breach for breach in verify(events) if breach.law != "known kinds" or not self.laws_of_another_version
            ] == []
        if isinstance(self.sim.brain, Script):
            self.sim.brain.finish()
        if len(logs) == 1 and not self.forgets:
            assert_only_grows([body["messages"] for body in self.sent if body])
            assert_projection_is_pure(logs[0])

    async def _only(self) -> str:
        (info,) = await self.log.sessions()
        return info.id

    @staticmethod
    def _unplanned(_: Any) -> str:
        raise AssertionError("nobody planned a request")


def assert_only_grows(conversations: Sequence[Sequence[dict[str, Any]]]) -> None:
    """What was sent before is a prefix of what is sent later, but for the places of cache marks."""
    plain = [[_without_marks(message) for message in conversation] for conversation in conversations]
    for before, after in pairwise(plain):
        assert after[: len(before)] == before


def assert_projection_is_pure(events: Sequence[Event]) -> None:
    """Two readings of a log give the same bytes."""
    one, other = Projection(), Projection()
    for event in events:
        one.apply(event)
    for event in events:
        other.apply(event)
    assert one.messages == other.messages


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [_without_marks(item) for item in value] if isinstance(value, list) else value


def texts_sent(request: dict[str, Any]) -> str:
    """A whole request as text, to look for what must not be there."""
    return json.dumps(request, ensure_ascii=False)
