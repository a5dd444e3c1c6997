"""A simulated desk in a process of its own, and the verbs in this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from relevo.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a verb left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Relevo = Callable[..., Done]


@pytest.fixture(scope="session")
def desk_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port_file = tmp_path_factory.mktemp("sim") / "port"
    command = [sys.executable, "-m", "relevo.cli", "sim", "--brain", "desk", "--port-file", str(port_file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not port_file.exists():
            assert process.poll() is None
        yield f"http://127.0.0.1:{port_file.read_text()}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def relevo(
    desk_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Relevo:
    """The command line, in an empty folder, with the desk's simulator as its model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", desk_url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    monkeypatch.setenv("RELEVO_DESK_DB", str(tmp_path / "desk.db"))
    sys.modules.pop("support_desk.agent", None)  # its books are at a path of this test

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(arguments)
        shown = capsys.readouterr()
        return Done(int(left.value.code or 0), shown.out, shown.err)

    return run
