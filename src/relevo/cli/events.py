"""`relevo events`: what happened in a session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from relevo.cli.options import DEFAULT_LOG, AsJson, LogPath, opened
from relevo.cli.render import event_json, event_line, say, say_json
from relevo.events import Event


def events(
    session: Annotated[str, typer.Argument(help="The session's id.")],
    after: Annotated[int, typer.Option(min=0, help="Only what came after this position.")] = 0,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Only this kind; may be given more than once.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as events come; stop with Ctrl-C.")] = False,
    log: LogPath = DEFAULT_LOG,
    as_json: AsJson = False,
) -> None:
    """Show what happened in a session. With --json one JSON object a line."""
    asyncio.run(_events(session, after, set(kind or ()), follow, log, as_json))


async def _events(session_id: str, after: int, kinds: set[str], follow: bool, log: Path, as_json: bool) -> None:
    async with opened(log) as harness:
        session = harness.session(session_id)
        if not follow:
            for event in await session.events(after=after, kinds=kinds or None):
                _show(event, as_json)
            return
        async for event in session.follow(after=after):
            if not kinds or event.kind in kinds:
                _show(event, as_json)


def _show(event: Event, as_json: bool) -> None:
    if as_json:
        say_json(event_json(event))
    else:
        say(f"{event.position:>5}  {event.at:%H:%M:%S.%f}  {event.kind:<26} {event_line(event)}")
