"""`relevo sessions`: what there is."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from relevo.cli.options import DEFAULT_LOG, AsJson, LogPath, opened
from relevo.cli.render import say, say_json, shortened
from relevo.log.log import SessionInfo


def sessions(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 50,
    before: Annotated[str | None, typer.Option(help="The last id of the page before.")] = None,
    log: LogPath = DEFAULT_LOG,
    as_json: AsJson = False,
) -> None:
    """List sessions, the newest first."""
    found = asyncio.run(_sessions(log, limit, before))
    if as_json:
        say_json([asdict(info) for info in found])
        return
    if not found:
        say("no sessions yet")
    for info in found:
        status = info.stop_reason or info.status
        title = f"  {shortened(info.title, 40)}" if info.title else ""
        when = f"{info.updated_at:%Y-%m-%d %H:%M:%S}"
        say(f"{info.id}  {when}  {info.head:>5}  {status:<16} {info.agent}{title}")


async def _sessions(log: Path, limit: int, before: str | None) -> list[SessionInfo]:
    async with opened(log) as harness:
        return await harness.sessions(limit=limit, before=before)
