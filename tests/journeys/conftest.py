from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from relevo import SqliteLog

from .stage import Stage


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A stage with a log in memory, the direct transport, and a clock that sleeps at once."""
    stage = Stage()
    yield stage
    await stage.close()


@pytest.fixture(params=["direct", "sdk"])
async def any_stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """The same on both transports."""
    stage = Stage(request.param)
    yield stage
    await stage.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
async def disk_stage(path: Path) -> AsyncIterator[Stage]:
    """A stage whose log is a file, so that other processes can come to it."""
    stage = Stage(log=SqliteLog(path))
    yield stage
    await stage.close()
