"""A start without an end is a crash only when the process that wrote it is gone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from relevo import DirectModel, Ended, Harness, SessionHeld
from relevo.loop.verify import verify
from relevo.simulator import Simulator, call
from relevo.simulator.request import Request

from .workers.patient import agent_in

pytestmark = pytest.mark.crash
WORKER = Path(__file__).parent / "workers" / "patient.py"
S = "sesn_payer"


def brain(request: Request) -> object:
    if request.new_results:
        return f"told: {request.new_results[0].text}"
    return call("pay")


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(brain) as simulator:  # type: ignore[arg-type]
        yield simulator
    assert simulator.violations == []


async def paying(sim: Simulator, folder: Path) -> asyncio.subprocess.Process:
    """A process in the middle of its payment."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(WORKER), str(folder / "log.db"), str(folder), sim.base_url, stdout=asyncio.subprocess.PIPE
    )
    while not (folder / "begun").exists():
        assert process.returncode is None
        await asyncio.sleep(0.01)
    return process


def harness(sim: Simulator, folder: Path) -> Harness:
    return Harness(folder / "log.db", agents=[agent_in(folder)], model=DirectModel(api_key="k", base_url=sim.base_url))


async def test_a_session_that_somebody_drives_is_left_alone(sim: Simulator, tmp_path: Path) -> None:
    process = await paying(sim, tmp_path)
    async with harness(sim, tmp_path) as other:
        with pytest.raises(SessionHeld, match=str(process.pid)):
            await other.wake(S)
        (tmp_path / "go").touch()
        said, _ = await process.communicate()
        after = await other.wake(S)

    assert said.split() == [b"end_turn"]
    assert after == Ended(text="told: paid")
    assert len((tmp_path / "ledger").read_text().splitlines()) == 1


async def test_what_a_living_process_began_is_never_begun_again(sim: Simulator, tmp_path: Path) -> None:
    """The hook truthfully says that nothing was paid yet; the other process pays a moment later."""
    process = await paying(sim, tmp_path)
    async with harness(sim, tmp_path) as other:
        outcome = await other.wake(S, take_over=True)
        (tmp_path / "go").touch()
        said, _ = await process.communicate()
        events = await other.session(S).events()

    assert isinstance(outcome, Ended)
    assert "outcome of pay is unknown" in outcome.text
    assert said.split() == [b"lost"]
    assert len((tmp_path / "ledger").read_text().splitlines()) == 1
    assert verify(events) == []


async def test_what_a_dead_process_did_not_do_is_done_once(sim: Simulator, tmp_path: Path) -> None:
    process = await paying(sim, tmp_path)
    process.kill()
    await process.communicate()
    (tmp_path / "go").touch()
    async with harness(sim, tmp_path) as other:
        outcome = await other.wake(S)

    assert outcome == Ended(text="told: paid")
    assert len((tmp_path / "ledger").read_text().splitlines()) == 1
