"""The demo shows what it says, and fails when it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Relevo


@pytest.mark.crash
def test_the_demo_plays_every_scene_as_it_must_be(relevo: Relevo, tmp_path: Path) -> None:
    done = relevo("demo", "--simulator", "--json", "--folder", str(tmp_path / "kept"))
    report = done.json

    assert done.code == 0
    assert report["ok"]
    assert [scene["wrong"] for scene in report["scenes"]] == [[]] * 8
    crash = next(scene for scene in report["scenes"] if scene["name"] == "crash")
    large = next(scene for scene in report["scenes"] if scene["name"] == "large_refund")
    assert sum("killed" in process for process in crash["processes"]) == 1
    assert any("relevo.cli" in process for process in large["processes"])
    assert relevo("verify", "--log", str(tmp_path / "kept" / "sessions.db")).code == 0


def test_without_a_terminal_the_demo_asks_nobody(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "relevo.cli", "demo", "--simulator", "--scene", "large_refund"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert "1 of 1 scenes as they must be" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_demo_says_that_it_uses_a_real_model(relevo: Relevo) -> None:
    """The desk's simulator stands in for one: the demo is only told a base URL."""
    done = relevo("demo", "--scene", "status")

    assert done.code == 0
    assert "A real model" in done.out
