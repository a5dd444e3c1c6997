"""
The one object a program holds. Parts are joined here and only here.

A `Harness` keeps no session in memory: everything it answers, it reads from the log. A `Session` is an id with verbs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from relevo.agent import Agent, Limits, settings_of
from relevo.clock import Clock, RealClock
from relevo.content import Message, checked
from relevo.errors import InvalidAgent, LogCorrupt, LogError
from relevo.events import SessionCreated
from relevo.log.log import Log, SessionInfo
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.loop.run import run as run_loop
from relevo.model.capabilities import default_max_tokens, max_output
from relevo.model.model import Model, Watch
from relevo.model.retry import DEFAULT_POLICY, RetryPolicy
from relevo.outcome import Outcome
from relevo.session import Session, sendable
from relevo.state import OpenCall, State, Status
from relevo.tools.toolbox import Toolbox

logger = logging.getLogger("relevo")


class Harness:
    """
    Agents, a log and a way to the model.

    `log` is a `Log`, or the path of a SQLite file, made when it is not there. `model` is how the model is reached; None
    reads the SDK's environment variables (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, ...) at the first request.
    Use it as an async context manager, or close it.
    """

    def __init__(
        self,
        log: Log | str | Path,
        *,
        agents: Iterable[Agent] = (),
        model: Model | None = None,
        clock: Clock | None = None,
        retry: RetryPolicy = DEFAULT_POLICY,
        worker: str | None = None,
    ) -> None:
        self.clock: Clock = clock or RealClock()
        self.log = _log(log)
        self._agents: dict[str, Agent] = {}
        self._driving: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._model = model
        self._retry = retry
        self._worker = worker or f"{socket.gethostname()}:{os.getpid()}"
        for agent in agents:
            self.add(agent)

    def add(self, agent: Agent) -> None:
        """Make an agent known. Raises InvalidAgent when another of that name is known."""
        known = self._agents.setdefault(agent.name, agent)
        if known is not agent:
            raise InvalidAgent(f"two agents are named {agent.name!r}")

    async def start(
        self,
        agent: Agent | str,
        *,
        identity: Mapping[str, Any] | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """
        Begin a session. Nothing is asked yet.

        `identity` is who the session is for, as your channel authenticated them; tools and gates read it, the model
        cannot set it. With a `session_id` of your own, beginning twice raises LogMoved instead of making two.
        """
        if isinstance(agent, Agent):
            self.add(agent)
        else:
            agent = self._agent(agent)
        session_id = new_session_id(self.clock) if session_id is None else session_id
        created = SessionCreated(
            agent=agent.record(),
            identity=checked(dict(identity or {})),
            title=title,
            metadata=checked(dict(metadata or {})),
        )
        await self.log.append(session_id, [created], expected=0, at=self.clock.now())
        return self.session(session_id)

    def session(self, session_id: str) -> Session:
        """The session with this id. Nothing is read before a verb is used."""
        return Session(session_id, log=self.log, clock=self.clock, wake=self._woken, tools=self._tools)

    async def sessions(self, *, limit: int = 100, before: str | None = None) -> list[SessionInfo]:
        """The newest sessions first; `before` is the last id of the page before."""
        return await self.log.sessions(limit=limit, before=before)

    async def run(
        self,
        agent: Agent | str,
        message: Message,
        *,
        identity: Mapping[str, Any] | None = None,
        watch: Watch | None = None,
    ) -> Outcome:
        """Begin a session, say something, and drive it until it rests."""
        content = sendable(message)  # what is no message begins no session
        session = await self.start(agent, identity=identity)
        return await session.run(content, watch=watch)

    async def wake(self, session_id: str, *, watch: Watch | None = None, take_over: bool = False) -> Outcome | None:
        """
        Carry a session on from wherever it stopped, on this machine or another; return how its turn ended.

        A second wake in the same program waits for the first. While a process of another program drives the session,
        this raises SessionHeld; `take_over` fences that one off instead, and of what it began only what may be done
        twice is done again.

        None when nothing was ever asked. Harmless when nothing is owed.

        Raises:
            SessionNotFound: no such session.
            InvalidAgent: this program does not know the session's agent.
            SessionHeld: another process, which is alive, drives it.
            LeaseLost: another process took it over meanwhile and goes on with it.
        """
        async with self._driving.setdefault(session_id, asyncio.Lock()):
            return await self._drive(session_id, watch, take_over=take_over)

    async def _drive(self, session_id: str, watch: Watch | None, *, take_over: bool) -> Outcome | None:
        agent = self._agent(await self._agent_name(session_id))
        journal = await Journal.open(self.log, session_id, self.clock, take_over=take_over)
        try:
            if dict(journal.state.agent) != agent.record():
                # The log's word stands: other bytes would break caching and preserved thinking.
                logger.warning(
                    "action=wake.drift session=%s agent=%s the code differs from the record; the record is used",
                    session_id,
                    agent.name,
                )
            return await run_loop(journal, self._parts(agent, journal.state, watch), worker=self._worker)
        finally:
            # An effect that began and did not end may go on in a thread of this process: then it stays the holder.
            if not any(_is_under_way(call) for call in journal.state.open.values()):
                with suppress(LogError):
                    await self.log.release(journal.lease)

    async def close(self) -> None:
        """Let go of the log and of connections. Closing twice is fine."""
        if self._model is not None:
            await self._model.close()
        await self.log.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _agent(self, name: str) -> Agent:
        agent = self._agents.get(name)
        if agent is None:
            known = ", ".join(sorted(self._agents)) or "none"
            raise InvalidAgent(f"this program knows no agent {name!r} (known: {known})")
        return agent

    async def _woken(self, session_id: str, watch: Watch | None) -> Outcome | None:
        return await self.wake(session_id, watch=watch)

    def _tools(self, state: State) -> Toolbox | None:
        agent = self._agents.get(str(state.agent.get("name")))
        return None if agent is None else Toolbox(agent.tools)

    def _parts(self, agent: Agent, state: State, watch: Watch | None) -> Parts:
        record = state.agent
        model = str(record["model"])
        offered = {tool.get("name") for tool in record.get("tools") or ()}
        if self._model is None:
            from relevo.model.client import DirectModel

            self._model = DirectModel(clock=self.clock)
        return Parts(
            model=self._model,
            # A tool that the model was not offered is not its to call, whatever newer code has.
            toolbox=Toolbox(tool for tool in agent.tools if tool.name in offered),
            clock=self.clock,
            settings=settings_of(record),
            limits=Limits.of_record(record.get("limits") or {}),
            first_limit=record.get("max_tokens") or default_max_tokens(model, record.get("effort")),
            largest_limit=max_output(model),
            retry=self._retry,
            hooks=agent.hooks,
            watch=watch,
        )

    async def _agent_name(self, session_id: str) -> str:
        """Read before the session is claimed: who cannot run it must not take it from somebody who can."""
        (created,) = await self.log.read(session_id, until=1)
        if not isinstance(created.body, SessionCreated):
            raise LogCorrupt(f"session {session_id!r} does not begin with {SessionCreated.kind}")
        return str(created.body.agent.get("name"))


def _is_under_way(call: OpenCall) -> bool:
    return call.status is Status.STARTED and call.started is not None and call.started.effect != "read"


_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def new_session_id(clock: Clock) -> str:
    """`sesn_` and 26 characters: 10 of milliseconds, so that ids sort by age, and 16 at random."""
    number = (int(clock.now().timestamp() * 1000) << 80) | secrets.randbits(80)
    return "sesn_" + "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -5, -5))


def _log(log: Log | str | Path) -> Log:
    if isinstance(log, str | Path):
        from relevo.log.sqlite import SqliteLog

        return SqliteLog(log)
    return log
