"""`relevo run`: say something to an agent and print its answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from relevo.cli.exits import Stopped
from relevo.cli.options import DEFAULT_LOG, AsJson, BaseUrl, LogPath, load_agent, opened, pairs
from relevo.cli.wake import driven
from relevo.errors import InvalidAgent, InvalidValue
from relevo.session import sendable


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
    if session_id and identity:
        raise InvalidValue("a session keeps the identity it began with; --identity does not go with --session")
    agent = load_agent(place)
    content = sendable(text)  # what is no message begins no session
    async with opened(log, [agent], base_url=base_url, make=True) as harness:
        if session_id:
            session = harness.session(session_id)
            name = (await session.state()).agent.get("name")
            if name != agent.name:  # before anything is said: who cannot run a session leaves no message in it
                raise InvalidAgent(f"session {session_id!r} is of agent {name!r}, not {agent.name!r}")
        else:
            session = await harness.start(agent, identity=identity)
        await session.say(content)
        return await driven(harness, session.id, as_json=as_json)
