"""`relevo wake`: carry a session on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from relevo.cli.exits import Stopped, outcome_code
from relevo.cli.options import DEFAULT_LOG, Agents, AsJson, BaseUrl, LogPath, load_agent, opened
from relevo.cli.render import outcome_json, printable, say, say_json
from relevo.outcome import AwaitingAction, Ended, LimitReached, ModelUnavailable, Outcome, Refused, UnsupportedStop


def wake(
    session: Annotated[str, typer.Argument(help="The session's id.")],
    agent: Agents = None,
    log: LogPath = DEFAULT_LOG,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Carry a session on from wherever it stopped: after a crash, an approval, a restart."""
    raise Stopped(asyncio.run(_wake(session, agent or [], log, base_url, as_json)))


async def _wake(session_id: str, places: list[str], log: Path, base_url: str | None, as_json: bool) -> int:
    async with opened(log, [load_agent(place) for place in places], base_url=base_url) as harness:
        outcome = await harness.wake(session_id, watch=None if as_json else live())
        if as_json:
            say_json(outcome_json(session_id, outcome))
        else:
            explain(session_id, outcome)
        return outcome_code(outcome)


def live() -> Callable[[Mapping[str, Any]], None]:
    """Shows an answer's text as it arrives."""
    shown = False

    def watch(event: Mapping[str, Any]) -> None:
        nonlocal shown
        delta = event.get("delta") or {}
        if event.get("type") == "content_block_delta" and delta.get("type") == "text_delta":
            lines = str(delta.get("text", "")).split("\n")
            sys.stdout.write("\n".join(printable(line) for line in lines))
            sys.stdout.flush()
            shown = True
        elif event.get("type") == "message_stop" and shown:
            sys.stdout.write("\n")
            shown = False

    return watch


def explain(session_id: str, outcome: Outcome | None) -> None:
    """How the turn ended, unless the answer speaks for itself; then only the session's id."""
    match outcome:
        case None:
            say("nothing was asked in this session yet")
        case Ended():
            pass
        case AwaitingAction(event_ids=calls):
            say(f"waits for a decision about {len(calls)} call(s): relevo approvals")
        case Refused(category=category):
            say(f"the model refused{f' ({category})' if category else ''}")
        case LimitReached(limit=limit):
            say(f"stopped at the agent's limit of {limit}")
        case ModelUnavailable(error=error):
            say(printable(f"the model is not available: {error.get('type')}: {error.get('message')}"))
        case UnsupportedStop(stop_reason=reason):
            say(printable(f"stopped for a reason this version does not know: {reason}"))
        case _:
            say(f"ended: {outcome.type}")
    say(f"session {session_id}")
