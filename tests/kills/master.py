"""
Wakes sessions in children that die at a given line.

A process of its own, told by lines of JSON on standard input. Everything is imported once; every wake is a fork of its
own, so that hundreds of real deaths cost seconds. A child has its own event loop, its own log and its own connections;
it dies by SIGKILL, from within, right before or right after its n-th append, or inside the refund.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import relevo.model.connection  # loaded once here and not in every child
from relevo.clock import RealClock
from relevo.events import Body
from relevo.harness import Harness
from relevo.log.sqlite import SqliteLog
from relevo.model.client import DirectModel
from relevo.model.retry import RetryPolicy
from relevo.outcome import to_wire
from support_desk.agent import desk_agent
from support_desk.business import Business


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingLog(SqliteLog):
    """Kills its process right before, or right after, an append."""

    def __init__(self, path: Path, *, at: int, when: str) -> None:
        super().__init__(path)
        self._at = at
        self._when = when
        self.appends = 0

    async def append(
        self,
        session_id: str,
        bodies: Sequence[Body],
        *,
        expected: int,
        at: datetime,
        epoch: int | None = None,
        flush: bool = False,
    ) -> int:
        self.appends += 1
        if self.appends == self._at and self._when == "before":
            die()
        head = await super().append(session_id, bodies, expected=expected, at=at, epoch=epoch, flush=flush)
        if self.appends == self._at and self._when == "after":
            die()
        return head


async def wake(job: dict[str, Any]) -> dict[str, Any]:
    log = DyingLog(Path(job["log"]), at=job.get("at", 0), when=job.get("when", ""))
    agent = desk_agent(Business(job["desk"]), after_refund=(lambda _: die()) if job.get("when") == "refund" else None)
    model = DirectModel(api_key="any", base_url=job["base_url"])
    retry = RetryPolicy(base_seconds=0.01, cap_seconds=0.05, total_seconds=20)
    async with Harness(log, agents=[agent], model=model, clock=RealClock(), retry=retry) as harness:
        outcome = await harness.wake(job["session"])
        stop = None if outcome is None else to_wire(outcome)
        return {"outcome": stop, "text": "" if outcome is None else outcome.text, "appends": log.appends}


def child(job: dict[str, Any], pipe: int) -> None:
    try:
        said = asyncio.run(wake(job))
    except BaseException as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    os.write(pipe, json.dumps(said).encode())
    os._exit(0)


def main() -> None:
    assert relevo.model.connection.__name__ in sys.modules
    for line in sys.stdin:
        job = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            child(job, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        answer = {"killed": killed, "status": status, **(json.loads(said) if said else {})}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
