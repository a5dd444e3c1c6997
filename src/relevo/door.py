"""The door for scripts: one call, no event loop in sight."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relevo.agent import Agent
from relevo.content import Message
from relevo.errors import InvalidValue
from relevo.harness import Harness
from relevo.log.log import Log
from relevo.model.model import Model
from relevo.outcome import Outcome


def run(
    agent: Agent,
    message: Message,
    *,
    log: Log | str | Path,
    model: Model | None = None,
    identity: Mapping[str, Any] | None = None,
) -> Outcome:
    """
    Begin a session, say something, drive it until it rests.

    Raises InvalidValue inside a running event loop (a notebook, a server): use `await Harness(...).run(...)` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_run(agent, message, log, model, identity))
    raise InvalidValue("an event loop is running here: use `await Harness(...).run(...)` instead of `run(...)`")


async def _run(
    agent: Agent,
    message: Message,
    log: Log | str | Path,
    model: Model | None,
    identity: Mapping[str, Any] | None,
) -> Outcome:
    async with Harness(log, agents=[agent], model=model) as harness:
        return await harness.run(agent, message, identity=identity)
