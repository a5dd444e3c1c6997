"""Plays a scene of the support desk through processes that die where they are told to."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relevo import Event, Harness
from relevo.loop.verify import verify
from relevo.simulator import Simulator
from support_desk.agent import desk_agent
from support_desk.brain import brain
from support_desk.business import Business
from support_desk.checks import check
from support_desk.dataset import seed
from support_desk.scenes import APPROVER, Scene

MAX_WAKES = 40


@dataclass(frozen=True)
class Death:
    """Where the next process dies: before or after its n-th append, or once a refund is in the books."""

    when: str
    at: int = 0


class Master:
    """The process that forks one child for every wake."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def wake(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await self._process.stdout.readline())
        return answer


@asynccontextmanager
async def master() -> AsyncIterator[Master]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.kills.master", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield Master(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


@dataclass
class Ending:
    """What is left when a scene is over."""

    events: list[Event]
    appends: list[int]
    """How many appends each wake that came to its end made."""
    deaths: int
    wrong: list[str]


async def play(
    scene: Scene, folder: Path, where: Master, sim: Simulator, deaths: Sequence[Death | None] = ()
) -> Ending:
    """The scene to its end; the first wakes die as told, one each. None lives."""
    folder.mkdir()
    desk, log = folder / "desk.db", folder / "sessions.db"
    shutil.copy(seeded(folder.parent), desk)
    left: Iterator[Death | None] = iter(deaths)
    appends: list[int] = []
    died = 0
    async with Harness(log, agents=[desk_agent(Business(desk))]) as harness:
        session = await harness.start("support-desk", identity=scene.identity)
        for message in scene.messages:
            await session.say(message)
            for _ in range(MAX_WAKES):
                death = next(left, None)
                job: dict[str, Any] = {
                    "log": str(log),
                    "desk": str(desk),
                    "session": session.id,
                    "base_url": sim.base_url,
                }
                job |= {} if death is None else {"when": death.when, "at": death.at}
                answer = await where.wake(job)
                assert "error" not in answer, answer
                if answer["killed"]:
                    died += 1
                    continue
                appends.append(answer["appends"])
                if answer["outcome"]["type"] != "requires_action":
                    break
                for question in await session.questions():
                    assert scene.verdict is not None, question
                    verb = session.approve if scene.verdict == "allow" else session.deny
                    await verb(question.call_id, approver=APPROVER)
            else:
                raise AssertionError(f"still not at rest after {MAX_WAKES} wakes")
        events = await session.events()
    wrong = check(scene, Business(desk), events)
    wrong += [f"{breach.position}: {breach.law}: {breach.what}" for breach in verify(events)]
    return Ending(events, appends, died, wrong)


def seeded(folder: Path) -> Path:
    """The sample shop, made once for each test."""
    path = folder / "seeded.db"
    if not path.exists():
        seed(path)
    return path


def simulator() -> Simulator:
    return Simulator(brain, keep_requests=0)
