"""`relevo wake`: carry a session on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from relevo.cli.exits import Stopped, outcome_code
from relevo.cli.options import DEFAULT_LOG, Agents, AsJson, BaseUrl, LogPath, load_agent, opened
from relevo.cli.render import complain, event_line, outcome_json, printable, say, say_json
from relevo.errors import InvalidAgent, SessionHeld
from relevo.events import ModelFailed
from relevo.harness import Harness
from relevo.outcome import AwaitingAction, Ended, LimitReached, ModelUnavailable, Outcome, Refused, UnsupportedStop


def wake(
    session: Annotated[str, typer.Argument(help="The session's id.")],
    agent: Agents = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Also from a living process, which is then fenced off.")
    ] = False,
    log: LogPath = DEFAULT_LOG,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Carry a session on from wherever it stopped: after a crash, an approval, a restart."""
    raise Stopped(asyncio.run(_wake(session, agent or [], take_over, log, base_url, as_json)))


async def _wake(
    session_id: str, places: list[str], take_over: bool, log: Path, base_url: str | None, as_json: bool
) -> int:
    async with opened(log, [load_agent(place) for place in places], base_url=base_url) as harness:
        try:
            return await driven(harness, session_id, take_over=take_over, as_json=as_json)
        except InvalidAgent as error:
            raise InvalidAgent(f"{error}; say where its code is: --agent FILE:AGENT, or RELEVO_AGENTS") from None
        except SessionHeld as error:
            raise SessionHeld(session_id, holder=error.holder, hint="--take-over fences it off") from None


async def driven(harness: Harness, session_id: str, *, take_over: bool = False, as_json: bool = False) -> int:
    """Drive a session until it rests, showing what there is to see; return the exit code."""
    head = (await harness.session(session_id).state()).position
    complain(f"session {session_id}")  # first, so that it is known whatever happens next
    live = Live()
    async with _failures_shown(harness, session_id, head):
        outcome = await harness.wake(session_id, watch=None if as_json else live, take_over=take_over)
    if as_json:
        say_json(outcome_json(session_id, outcome))
    else:
        explain(outcome, live)
    return outcome_code(outcome)


@asynccontextmanager
async def _failures_shown(harness: Harness, session_id: str, head: int) -> AsyncIterator[None]:
    """Say on standard error why it takes so long, when the model has to be asked again."""

    async def show() -> None:
        async for event in harness.session(session_id).follow(after=head):
            if event.kind == ModelFailed.kind:
                complain(event_line(event))

    task = asyncio.create_task(show())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Live:
    """Shows an answer's text as it arrives, and remembers what it showed."""

    def __init__(self) -> None:
        self.text = ""
        self._in_line = False

    def __call__(self, event: Mapping[str, Any]) -> None:
        delta = event.get("delta") or {}
        if event.get("type") == "content_block_delta" and delta.get("type") == "text_delta":
            text = str(delta.get("text", ""))
            sys.stdout.write("\n".join(printable(line) for line in text.split("\n")))
            sys.stdout.flush()
            self.text += text
            self._in_line = True
        elif event.get("type") == "message_stop":
            self.end_line()

    def end_line(self) -> None:
        """Begin a new line, unless one is begun."""
        if self._in_line:
            say()
            self._in_line = False


def explain(outcome: Outcome | None, live: Live) -> None:
    """What was not shown live of the answer, and how the turn ended unless that speaks for itself."""
    live.end_line()
    text = "" if outcome is None else outcome.text.strip()
    if text not in live.text:  # a server may answer whole, without a stream
        for line in text.split("\n"):
            say(line)
    if ending := _ending(outcome):
        complain(ending)


def _ending(outcome: Outcome | None) -> str | None:
    match outcome:
        case None:
            return "nothing was asked in this session yet"
        case Ended():
            return None
        case AwaitingAction(event_ids=calls):
            return f"waits for a decision about {len(calls)} call(s): relevo approvals"
        case Refused(category=category):
            return f"the model refused{f' ({category})' if category else ''}"
        case LimitReached(limit=limit):
            return f"stopped at the agent's limit of {limit}"
        case ModelUnavailable(error=error):
            return f"the model is not available: {error.get('type')}: {error.get('message')}"
        case UnsupportedStop(stop_reason=reason):
            return f"stopped for a reason this version does not know: {reason}"
        case _:
            return f"ended: {outcome.type}"
