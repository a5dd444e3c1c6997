"""Only the end of a process ends what it began; nothing else may be taken for that."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from relevo.log import holder
from relevo.log.holder import Standing, me, standing


def name_of(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:{holder._began(pid)}"


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)


def test_nobody_is_gone() -> None:
    assert standing(None) is Standing.GONE


def test_this_process_may_still_be_doing_it() -> None:
    assert standing(me()) is Standing.UNKNOWN


def test_a_process_is_alive_until_it_ends(sleeper: subprocess.Popen[bytes]) -> None:
    name = name_of(sleeper.pid)
    alive = standing(name)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    dead_and_not_buried = standing(name)
    sleeper.communicate()

    assert (alive, dead_and_not_buried, standing(name)) == (Standing.ALIVE, Standing.GONE, Standing.GONE)


def test_a_stopped_process_may_go_on(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)
    stopped = standing(name_of(sleeper.pid))
    sleeper.kill()
    sleeper.communicate()

    assert stopped is Standing.UNKNOWN


def test_an_id_used_again_is_another_process(sleeper: subprocess.Popen[bytes]) -> None:
    earlier = f"{socket.gethostname()}:{sleeper.pid}:1"
    found = standing(earlier)
    sleeper.kill()
    sleeper.communicate()

    assert found is Standing.GONE


def test_another_host_says_nothing() -> None:
    assert standing(f"elsewhere:{os.getpid()}:5") is Standing.UNKNOWN


def test_a_name_of_a_process_may_hold_anything(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    found = standing(name_of(process.pid))
    process.kill()
    process.wait()

    assert found is Standing.ALIVE
