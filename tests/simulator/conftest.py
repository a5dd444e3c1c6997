from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable

import pytest
from anthropic import AsyncAnthropic

from relevo.simulator import Simulator

from .asking import MovableClock


@pytest.fixture(autouse=True)
def _no_anthropic_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


Connect = Callable[[Simulator], AsyncAnthropic]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Make clients of the official SDK that believe nothing and try once."""
    made: list[AsyncAnthropic] = []

    def client(sim: Simulator) -> AsyncAnthropic:
        made.append(AsyncAnthropic(base_url=sim.base_url, api_key="k", max_retries=0, _strict_response_validation=True))
        return made[-1]

    yield client
    for each in made:
        await each.close()
