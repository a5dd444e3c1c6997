"""The simulator as a process, and as a neighbour that imports nothing of ours."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import pytest

import relevo.simulator
from relevo.simulator import Simulator, serve_forever
from relevo.simulator.__main__ import main

ROOM = Path(relevo.simulator.__file__).parent
BODY = json.dumps(
    {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
).encode()


def post(port: str) -> bytes:
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/messages", BODY, headers)
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return bytes(answer.read())


async def test_the_process_names_its_port_and_ends_when_told(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOM.parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "relevo.simulator", "--port-file", str(port_file), "--seed", "3", env=environment
    )
    try:
        while not port_file.exists():
            assert process.returncode is None
            await asyncio.sleep(0)
        answer = await asyncio.to_thread(post, port_file.read_text())
        process.send_signal(signal.SIGTERM)
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

    assert json.loads(answer)["content"][0]["text"] == "This is a simulated answer."
    assert status == 0
    assert not port_file.exists()


async def test_serving_ends_when_cancelled_and_can_begin_again(tmp_path: Path) -> None:
    sim = Simulator()
    for _ in range(2):
        ready = asyncio.Event()
        serving = asyncio.create_task(serve_forever(sim, port_file=tmp_path / "port", ready=ready))
        await ready.wait()
        assert (tmp_path / "port").read_text() == str(sim.port)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    with pytest.raises(RuntimeError, match="does not listen"):
        _ = sim.base_url


async def test_a_simulator_listens_once_and_closes_twice() -> None:
    sim = Simulator()
    await sim.start()
    with pytest.raises(RuntimeError, match="already listens"):
        await sim.start()
    await sim.close()
    await sim.close()


@pytest.mark.parametrize(
    "arguments", [["--brain", "oracle"], ["--script", "/no/such/file"], ["--faults", "earthquake"]]
)
def test_arguments_that_make_no_sense_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err


async def test_what_is_kept_is_bounded() -> None:
    from .asking import ask, request

    few, none = Simulator(keep_requests=2), Simulator(keep_requests=0)
    for sim in (few, none):
        for _ in range(3):
            await ask(sim, request())

    assert [seen.number for seen in few.requests] == [2, 3]
    assert list(none.requests) == []


def test_an_unknown_mode_is_refused() -> None:
    mode: str = "gentle"
    with pytest.raises(ValueError, match="gentle"):
        Simulator(mode=mode)  # type: ignore[arg-type]


def test_the_room_imports_nothing_of_ours() -> None:
    for file in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith("relevo") or name.startswith("relevo.simulator"), (file, name)


def test_everything_public_is_there() -> None:
    assert all(hasattr(relevo.simulator, name) for name in relevo.simulator.__all__)
