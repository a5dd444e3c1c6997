"""`relevo verify`: does a log keep the laws?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from relevo.cli.exits import Stopped
from relevo.cli.options import DEFAULT_LOG, AsJson, LogPath, every_session, opened
from relevo.cli.render import say, say_json
from relevo.errors import SessionNotFound
from relevo.harness import Harness
from relevo.loop.verify import Breach
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
            say(f"{breach['session_id']} at {breach['position']}: {breach['law']}: {breach['what']}")
        say(f"{count} session(s), {len(found)} breach(es)")
    raise Stopped(1 if found else 0)


async def _verify(log: Path, ids: list[str]) -> tuple[list[dict[str, Any]], int]:
    async with opened(log) as harness:
        if not ids:
            ids = [info.id async for info in every_session(harness)]
        found = [
            {"session_id": session_id, "position": breach.position, "law": breach.law, "what": breach.what}
            for session_id in ids
            for breach in await _breaches(harness, session_id)
        ]
        return found, len(ids)


async def _breaches(harness: Harness, session_id: str) -> list[Breach]:
    """One session that cannot be read is a breach of its own, and does not hide those of the others."""
    try:
        return breaches(await harness.session(session_id).events())
    except SessionNotFound:
        raise
    except Exception as error:  # noqa: BLE001  whatever is in the log
        return [Breach(0, "unreadable", f"{type(error).__name__}: {error}")]
