"""Wakes in processes of their own, and what a dead one leaves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from relevo import Harness
from relevo.events import ToolEnded, ToolStarted
from relevo.simulator import Simulator
from support_desk.brain import brain
from support_desk.business import Business
from support_desk.checks import check
from support_desk.scenes import APPROVER, Scene, scene_agent, scene_named
from support_desk.worker import main

HERE = Path(__file__).parents[2]


async def begin(scene: Scene, log: Path, books: Path) -> str:
    async with Harness(log) as harness:
        session = await harness.start(scene_agent(scene, books), identity=scene.identity)
        await session.say(scene.messages[0])
    return session.id


async def work(base_url: str, log: Path, books: Path, session_id: str, *more: str) -> tuple[int | None, Any]:
    """Wake in another process; the exit status, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "support_desk.worker", "--log", log, "--desk", books, "--session", session_id, *more,
        stdout=asyncio.subprocess.PIPE,
        env={
            "ANTHROPIC_BASE_URL": base_url, "ANTHROPIC_API_KEY": "any", "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": f"{HERE / 'src'}:{HERE / 'examples'}",
        },
    )  # fmt: skip
    printed, _ = await process.communicate()
    return process.returncode, json.loads(printed) if printed else None


async def test_killed_after_paying_and_before_writing_it_down_a_refund_is_paid_once(
    books: Path, tmp_path: Path
) -> None:
    scene, log = scene_named("crash"), tmp_path / "log.db"
    session_id = await begin(scene, log, books)
    async with Simulator(brain) as simulator:
        killed = await work(simulator.base_url, log, books, session_id, "--crash-after-refund")
        paid = Business(books).refunds_in(session_id)
        status, ended = await work(simulator.base_url, log, books, session_id)
    async with Harness(log) as harness:
        events = await harness.session(session_id).events()

    assert killed == (-signal.SIGKILL, None)
    assert len(paid) == 1
    assert (status, ended["outcome"]) == (0, "end_turn")
    assert paid[0].reference in ended["text"]
    assert Business(books).refunds_in(session_id) == paid
    assert [e.body.attempt for e in events if isinstance(e.body, ToolStarted) and e.body.name == "process_refund"] == [
        1
    ]
    assert len([e for e in events if isinstance(e.body, ToolEnded) and e.body.name == "process_refund"]) == 1
    assert check(scene, Business(books), events) == []
    assert simulator.violations == []


async def test_a_large_refund_goes_from_process_to_person_to_process(books: Path, tmp_path: Path) -> None:
    scene, log = scene_named("large_refund"), tmp_path / "log.db"
    session_id = await begin(scene, log, books)
    async with Simulator(brain) as simulator:
        _, waiting = await work(simulator.base_url, log, books, session_id)
        assert Business(books).refunds_in(session_id) == []
        async with Harness(log) as elsewhere:
            (question,) = await elsewhere.session(session_id).questions()
            await elsewhere.session(session_id).approve(question.call_id, approver=APPROVER)
        _, ended = await work(simulator.base_url, log, books, session_id)
    async with Harness(log) as harness:
        events = await harness.session(session_id).events()

    assert (waiting["outcome"], ended["outcome"]) == ("requires_action", "end_turn")
    assert check(scene, Business(books), events) == []


async def test_an_outage_can_be_ordered(books: Path, tmp_path: Path) -> None:
    scene, log = scene_named("outage"), tmp_path / "log.db"
    session_id = await begin(scene, log, books)
    async with Simulator(brain) as simulator:
        _, ended = await work(simulator.base_url, log, books, session_id, "--outage", "order=6")

    assert "T-00001" in ended["text"]


def test_a_session_that_is_not_there_is_told_on_one_line(
    books: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["--log", str(tmp_path / "log.db"), "--desk", str(books), "--session", "sesn_none"])

    assert status == 1
    assert capsys.readouterr().err == "SessionNotFound: no session 'sesn_none'\n"
