"""`relevo run`: say something to an agent and print its answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from relevo.cli.exits import Stopped, outcome_code
from relevo.cli.options import DEFAULT_LOG, AsJson, BaseUrl, LogPath, load_agent, opened, pairs
from relevo.cli.render import outcome_json, say_json
from relevo.cli.wake import explain, live


def run(
    agent: Annotated[str, typer.Argument(metavar="FILE:AGENT", help="FILE.py:NAME or MODULE:NAME of an Agent.")],
    message: Annotated[str, typer.Argument(help="What to say; - reads standard input.")],
    session: Annotated[
        str | None, typer.Option("--session", help="Go on in this session instead of a new one.")
    ] = None,
    identity: Annotated[
        list[str] | None,
        typer.Option("--identity", metavar="KEY=VALUE", help="Who the session is for; the model cannot set it."),
    ] = None,
    log: LogPath = DEFAULT_LOG,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say something to an agent and print its answer. The session is kept, and can be woken by any process."""
    text = sys.stdin.read() if message == "-" else message
    code = asyncio.run(_run(agent, text, session, pairs(identity, "--identity"), log, base_url, as_json))
    raise Stopped(code)


async def _run(
    place: str,
    text: str,
    session_id: str | None,
    identity: dict[str, str],
    log: Path,
    base_url: str | None,
    as_json: bool,
) -> int:
    agent = load_agent(place)
    async with opened(log, [agent], base_url=base_url, make=True) as harness:
        session = harness.session(session_id) if session_id else await harness.start(agent, identity=identity)
        await session.say(text)
        outcome = await harness.wake(session.id, watch=None if as_json else live())
        if as_json:
            say_json(outcome_json(session.id, outcome))
        else:
            explain(session.id, outcome)
        return outcome_code(outcome)
