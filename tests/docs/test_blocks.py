"""What the pages show runs."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"```(python|console|yaml)\n(.*?)```", re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page) if kind == language]


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[str]:
    """A simulator in a process of its own, as a reader would start one."""
    yield from started(tmp_path)


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[str]:
    """The simulator with the script of the readme."""
    (tmp_path / "desk.yaml").write_text(blocks(README, "yaml")[0])
    yield from started(tmp_path, "--script", str(tmp_path / "desk.yaml"))


def started(folder: Path, *arguments: str) -> Iterator[str]:
    port_file = folder / "port"
    command = [sys.executable, "-m", "relevo.simulator", "--port-file", str(port_file), *arguments]
    process = subprocess.Popen(command)
    try:
        while not port_file.exists():
            assert process.poll() is None
        yield f"http://127.0.0.1:{port_file.read_text()}"
    finally:
        process.terminate()
        process.wait(10)


def test_the_first_agent_of_the_readme_runs_from_python(
    simulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", simulator)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    first, second = blocks(README, "python")
    names: dict[str, Any] = {"__name__": "desk", "__builtins__": __builtins__}

    exec(compile(first, "README.md", "exec"), names)
    exec(compile(second, "README.md", "exec"), names)
    asyncio.run(names["main"]())
    said = names["run"](names["desk"], "Hello", log=tmp_path / "other.db").text

    assert said


def test_the_first_agent_of_the_readme_fits_on_a_screen() -> None:
    first = blocks(README, "python")[0]

    assert len([line for line in first.splitlines() if line.strip()]) <= 17


def test_the_commands_of_the_readme_run(scripted: str, tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(blocks(README, "python")[0])
    environment = {**os.environ, "ANTHROPIC_BASE_URL": scripted, "ANTHROPIC_API_KEY": "any", "COLUMNS": "200"}
    session = ""
    ran = 0
    for line in blocks(README, "console")[1].splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[0] != "relevo" or words[1] == "sim":
            continue
        words = [session if word == "SESSION" else word for word in words[1:]]
        command = [sys.executable, "-m", "relevo.cli", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert words[0] != "run" or "I have refunded 49.99 USD for order 77." in done.stdout
        session = session or next(word for word in done.stderr.split() if word.startswith("sesn_"))
        ran += 1

    assert ran == 4


def test_the_phases_page_is_drawn_from_the_table() -> None:
    names: dict[str, Any] = {"__name__": "draw", "__file__": str(ROOT / "docs" / "draw.py")}
    exec((ROOT / "docs" / "draw.py").read_text(), names)

    assert (ROOT / "docs" / "phases.md").read_text() == names["page"]()


def test_the_tool_of_the_effects_page_can_be_declared() -> None:
    (text,) = blocks((ROOT / "docs" / "effects.md").read_text(), "python")
    names: dict[str, Any] = {"__name__": "effects", "bank": None}

    exec(compile(text, "effects.md", "exec"), names)

    assert names["pay"].reconcile is names["was_it_paid"]


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert broken == []


async def test_the_test_of_the_simulator_page_passes() -> None:
    (text,) = blocks((ROOT / "docs" / "simulator.md").read_text(), "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(text, "simulator.md", "exec"), names)

    await names["test_the_agent_answers"]()
