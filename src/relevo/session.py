"""
One session, from outside: an id with verbs.

Nothing here drives a session but `run`, and that only calls the harness. The other verbs append what a person did, from
any process, whether or not somebody else is driving.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Any, Literal

from relevo.agent import Agent
from relevo.clock import Clock
from relevo.content import Block, Json, Message, user_content
from relevo.errors import InvalidAgent, InvalidMessage, InvalidValue, LogMoved
from relevo.events import Body, Event, SessionUpdated, ToolConfirmation, UserInterrupt, UserMessage
from relevo.human.questions import Question, decide_about, questions
from relevo.log.log import Log
from relevo.loop.snapshot import replay
from relevo.model.model import Watch
from relevo.outcome import Outcome
from relevo.phases import Phase
from relevo.state import State
from relevo.tools.images import check_media
from relevo.tools.toolbox import Toolbox

Wake = Callable[[str, Watch | None], Awaitable[Outcome | None]]
Tools = Callable[[State], Toolbox | None]
"""The tools of a session's agent, None when this program does not know the agent."""


class Session:
    """An id with verbs. Any number of them, in any number of processes, may stand for the same session."""

    def __init__(self, session_id: str, *, log: Log, clock: Clock, wake: Wake, tools: Tools) -> None:
        self.id = session_id
        self._log = log
        self._clock = clock
        self._wake = wake
        self._tools = tools

    async def say(self, message: Message) -> int:
        """
        Add a message; return its position. Nothing is asked before the session is run or woken.

        While a turn is under way the message waits and is heard at the next request.

        Raises:
            InvalidMessage: it says nothing, or holds a block that a user message may not, or an image nobody can see.
            SessionNotFound: no such session.
        """
        return await self._speak(UserMessage(content=sendable(message)))

    async def run(self, message: Message | None = None, *, watch: Watch | None = None) -> Outcome:
        """
        Say something, if given, and drive the session until it rests.

        Raises as `say` and `Harness.wake` do, and InvalidMessage when there never was a message.
        """
        if message is not None:
            await self.say(message)
        outcome = await self._wake(self.id, watch)
        if outcome is None:
            raise InvalidMessage(f"nothing was said in session {self.id!r} yet")
        return outcome

    async def state(self) -> State:
        """What the log means now."""
        state, _, _ = await replay(self._log, self.id)
        return state

    async def events(self, *, after: int = 0, kinds: Collection[str] | None = None) -> list[Event]:
        """What happened, in order."""
        return await self._log.read(self.id, after=after, kinds=kinds)

    def follow(self, *, after: int = 0) -> AsyncIterator[Event]:
        """What happened and what will, each event once, in order."""
        return self._log.follow(self.id, after=after)

    async def questions(self) -> tuple[Question, ...]:
        """The calls that wait for a person."""
        return questions(await self.state())

    async def approve(self, call_id: str, *, approver: str, edited: Mapping[str, Any] | None = None) -> bool:
        """
        Allow a waiting call to run, once, as proposed or with an `edited` input; return False if it was so already.

        The session goes on when it is woken, by any process.

        Raises:
            NothingToDecide, AlreadyDecided, DecisionExpired: see there.
            ToolError: the edited input is not valid for the tool (checked here when this program has the tool).
        """
        return await self._decide(call_id, "allow", approver, None, edited)

    async def deny(self, call_id: str, *, approver: str, reason: str | None = None) -> bool:
        """Refuse a waiting call; the model reads `reason`. Returns and raises as `approve` does."""
        return await self._decide(call_id, "deny", approver, reason, None)

    async def interrupt(self, reason: str | None = None) -> None:
        """Ask whoever drives the session to stop at the next safe point; open calls are answered, not run."""
        await self._speak(UserInterrupt(reason=reason))

    async def update(self, agent: Agent) -> None:
        """
        Use another record of the agent from here on: model, system, tools.

        A change of what stands before the messages costs the prompt cache; a change of model also drops the thinking
        that the old model signed. Raises InvalidAgent while anything is owed: a turn is finished as it was begun.
        """
        while True:
            state, projection, _ = await replay(self._log, self.id)
            if agent.name != state.agent.get("name"):
                raise InvalidAgent(f"session {self.id!r} is of agent {state.agent.get('name')!r}, not {agent.name!r}")
            if state.phase is not Phase.QUIET:
                raise InvalidAgent(f"session {self.id!r} is in the middle of a turn; update it when it rests")
            if projection.memory.validator.tool_blocks and not agent.tools:
                raise InvalidAgent(f"session {self.id!r} holds calls, which the API takes only beside a tool; keep one")
            try:
                await self._add(SessionUpdated(agent=agent.record()), state)
            except LogMoved:
                continue
            return

    async def _decide(
        self,
        call_id: str,
        result: Literal["allow", "deny"],
        approver: str,
        message: str | None,
        edited: Mapping[str, Any] | None,
    ) -> bool:
        while True:
            state = await self.state()
            decisions = [event.body for event in await self.events(kinds={ToolConfirmation.kind})]
            earlier = {body.tool_use_id: body for body in decisions if isinstance(body, ToolConfirmation)}
            body = decide_about(
                state,
                call_id,
                result=result,
                approver=approver,
                now=self._clock.now(),
                message=message,
                edited=edited,
                decided=earlier.get,
                validate=_validator(self._tools(state)),
            )
            if body is None:
                return False
            try:
                await self._add(body, state)
            except LogMoved:
                continue
            return True

    async def _speak(self, body: Body) -> int:
        """Append wherever the log is: what a person says depends on nothing that came before."""
        expected = 1
        while True:
            try:
                return await self._log.append(self.id, [body], expected=expected, at=self._clock.now())
            except LogMoved as moved:
                expected = moved.actual

    async def _add(self, body: Body, state: State) -> int:
        return await self._log.append(self.id, [body], expected=state.position, at=self._clock.now())


def sendable(message: Message) -> list[Block]:
    """
    What a person says, as blocks that the API will take: one it refuses would make it refuse every later request.

    Raises InvalidMessage.
    """
    content = user_content(message)
    for place, block in enumerate(content):
        if block["type"] not in ("image", "document"):
            continue
        source = block.get("source")
        try:
            check_media({**block, "source": source if isinstance(source, Mapping) else {}})
        except InvalidValue as error:
            raise InvalidMessage(f"block {place} of the message, {error}") from error
    return content


def _validator(toolbox: Toolbox | None) -> Callable[[str, Json], object] | None:
    if toolbox is None:
        return None
    tools = toolbox
    return lambda name, given: tools.find(name).validate(given)
