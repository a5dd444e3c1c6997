from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from relevo import Agent, DirectModel, Event, Harness, Log, MemoryLog, Outcome, Session, ToolContext
from relevo.events import ToolEnded
from relevo.simulator import Brain, Simulator
from support_desk.business import Business
from support_desk.dataset import seed
from support_desk.scenes import APPROVER
from support_desk.tools import Desk


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "RELEVO_"))]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "desk.db"
    seed(path)
    return path


@pytest.fixture
def books(sample: Path, tmp_path: Path) -> Path:
    """A sample shop of the test's own."""
    return Path(shutil.copy(sample, tmp_path / "desk.db"))


@pytest.fixture
def business(books: Path) -> Business:
    return Business(books)


@pytest.fixture
def desk(business: Business) -> Desk:
    return Desk(business)


Context = Callable[..., ToolContext]


@pytest.fixture
def context() -> Context:
    """Contexts as the harness makes them; a call has its own key unless told otherwise."""
    made = 0

    def make(
        identity: Mapping[str, Any] | str | None = "C-1001", *, session: str = "sesn_1", key: str = ""
    ) -> ToolContext:
        nonlocal made
        made += 1
        who = {"customer_id": identity} if isinstance(identity, str) else identity or {}
        return ToolContext(session_id=session, call_id=f"sevt_{made}.0", key=key or f"key-{made}", identity=who)

    return make


class Played:
    """A conversation played in this process against the simulator, in strict mode."""

    def __init__(self, harness: Harness, session: Session, simulator: Simulator) -> None:
        self.harness = harness
        self.session = session
        self.simulator = simulator
        self.outcomes: list[Outcome] = []

    async def say(self, message: str) -> Outcome:
        self.outcomes.append(await self.session.run(message))
        return self.outcomes[-1]

    async def wake(self) -> Outcome:
        self.outcomes.append(await self.session.run())
        return self.outcomes[-1]

    async def decide(self, verdict: str) -> None:
        """Every waiting call."""
        for question in await self.session.questions():
            if verdict == "allow":
                await self.session.approve(question.call_id, approver=APPROVER)
            else:
                await self.session.deny(question.call_id, approver=APPROVER)

    def elsewhere(self, log: Path, agent: Agent) -> Harness:
        """Another process, as far as the log can tell."""
        return Harness(log, agents=[agent], model=DirectModel(base_url=self.simulator.base_url, api_key="any"))

    async def events(self) -> list[Event]:
        return await self.session.events()

    async def ended(self, tool: str) -> list[ToolEnded]:
        return [e.body for e in await self.events() if isinstance(e.body, ToolEnded) and e.body.name == tool]


Play = Callable[..., AbstractAsyncContextManager[Played]]


@pytest.fixture
def play() -> Play:
    """Begin a conversation: `async with play(agent, brain, customer_id) as played`."""

    @asynccontextmanager
    async def begin(
        agent: Agent, brain: Brain, identity: Mapping[str, Any] | str | None = "C-1001", *, log: Log | None = None
    ) -> AsyncIterator[Played]:
        who = {"customer_id": identity} if isinstance(identity, str) else identity
        async with Simulator(brain) as simulator:
            model = DirectModel(base_url=simulator.base_url, api_key="any")
            async with Harness(log or MemoryLog(), model=model) as harness:
                session = await harness.start(agent, identity=who)
                yield Played(harness, session, simulator)
        assert simulator.violations == []
        assert simulator.mistakes == []

    return begin
