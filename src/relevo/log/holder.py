"""
Is the process that holds a session still there?

A name is host, process id and the moment the process began, so that an id used again is not mistaken for its former
owner. Only the same host can tell; about another one nothing is known. Where the moment is not to be had (it is read
from /proc), a process of the same id counts as the same.
"""

from __future__ import annotations

import os
import socket
from enum import Enum
from pathlib import Path


class Standing(Enum):
    """What is known of a holder."""

    GONE = "gone"
    """It let go, or its process has ended: what it began and did not end is over."""
    ALIVE = "alive"
    UNKNOWN = "unknown"
    """It is on another host, it is stopped, or it is this very process: nothing it began is certain to be over."""


def me() -> str:
    """The name of this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{_began(os.getpid())}"


def standing(holder: str | None) -> Standing:
    """Whether the process of this name is there; None is nobody."""
    if holder is None:
        return Standing.GONE
    if holder == me():
        return Standing.UNKNOWN
    host, _, rest = holder.rpartition(":")[0].rpartition(":")
    pid, began = int(rest), holder.rpartition(":")[2]
    if host != socket.gethostname():
        return Standing.UNKNOWN
    if not _exists(pid) or _began(pid) != began:
        return Standing.GONE
    match _letter(pid):
        case "Z" | "X":
            return Standing.GONE
        case "T" | "t":
            return Standing.UNKNOWN
        case _:
            return Standing.ALIVE


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _began(pid: int) -> str:
    """Clock ticks since the machine started, as text; empty where /proc does not say. Source: proc(5), field 22."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def _letter(pid: int) -> str:
    """The state of a process: R, S, T, Z, ...; empty where /proc does not say."""
    fields = _stat(pid)
    return fields[0] if fields else ""


def _stat(pid: int) -> list[str]:
    try:
        # The name stands in parentheses and may hold anything; what follows the last one is plain.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
