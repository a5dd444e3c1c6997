from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from relevo import Ended, MemoryLog
from support_desk.agent import SYSTEM, agent, default_path, desk_agent
from support_desk.brain import brain
from support_desk.business import Business

HERE = Path(__file__).parents[2]


def test_what_the_model_is_told_is_the_same_for_every_customer_and_every_shop(tmp_path: Path) -> None:
    """The prompt is cached: nothing in it may change from session to session."""
    assert desk_agent(Business(tmp_path / "a.db")).record() == desk_agent(Business(tmp_path / "b.db")).record()
    assert agent.system == SYSTEM


def test_limits_are_nets_that_a_whole_conversation_does_not_touch() -> None:
    assert (agent.limits.turns, agent.limits.tool_calls, agent.limits.repeats) == (20, 40, 3)


def test_the_books_are_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert default_path() == Path(".relevo") / "support_desk.db"

    monkeypatch.setenv("RELEVO_DESK_DB", str(tmp_path / "x.db"))
    assert default_path() == tmp_path / "x.db"


def test_importing_the_agent_makes_no_file(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", "import support_desk.agent"],
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": f"{HERE / 'src'}:{HERE / 'examples'}"},
    )

    assert list(tmp_path.iterdir()) == []


async def test_the_shop_is_there_when_first_needed(tmp_path: Path, play: Any) -> None:
    made = desk_agent(Business(tmp_path / "new" / "desk.db", make=True))
    async with play(made, brain, "C-1001", log=MemoryLog()) as played:
        outcome = await played.say("Where is my order ORD-2001?")

    assert isinstance(outcome, Ended)
    assert "delivered on" in outcome.text
