"""`relevo verify`: does a log keep the laws?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from relevo.cli.exits import Stopped
from relevo.cli.options import DEFAULT_LOG, AsJson, LogPath, opened
from relevo.cli.render import printable, say, say_json
from relevo.loop.verify import verify as breaches


def verify(
    session: Annotated[list[str] | None, typer.Argument(help="Ids of sessions; none is all.")] = None,
    log: LogPath = DEFAULT_LOG,
    as_json: AsJson = False,
) -> None:
    """Check that every call was answered once, nothing ran unasked, and the messages are valid. Exit code 1 if not."""
    found, count = asyncio.run(_verify(log, session or []))
    if as_json:
        say_json({"sessions": count, "breaches": found})
    else:
        for breach in found:
            say(printable(f"{breach['session_id']} at {breach['position']}: {breach['law']}: {breach['what']}"))
        say(f"{count} session(s), {len(found)} breach(es)")
    raise Stopped(1 if found else 0)


async def _verify(log: Path, ids: list[str]) -> tuple[list[dict[str, Any]], int]:
    async with opened(log) as harness:
        if not ids:
            before: str | None = None
            while page := await harness.sessions(limit=1000, before=before):
                before = page[-1].id
                ids = [*ids, *(info.id for info in page)]
        found = [
            {"session_id": session_id, "position": breach.position, "law": breach.law, "what": breach.what}
            for session_id in ids
            for breach in breaches(await harness.session(session_id).events())
        ]
        return found, len(ids)
