"""Desks in processes of their own, and the ledger they leave behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import relevo
from relevo.simulator import Reply, call, say, think
from relevo.simulator.request import Request

DESK = Path(__file__).parent / "workers" / "desk.py"
S = "sesn_desk"


def go(*names: str) -> Any:
    """A model that asks for these tools at once, then repeats what it was told, so that a journey can read it."""

    def brain(request: Request) -> Reply | str:
        if request.new_results:
            return "told: " + " | ".join(f"{result.name}: {result.text}" for result in request.new_results)
        if request.last_user_text != "Go.":
            return f"heard: {request.last_user_text}"
        reply = think("Both at once.") + say("I will.")
        for name in names:
            reply += call(name, {"cents": 500} if name == "charge" else {})
        return reply

    return brain


@dataclass
class Desks:
    """Every process of one journey: the same files, the same simulator."""

    path: Path
    url: str
    kind: str

    @property
    def ledger(self) -> Path:
        return self.path.with_name("ledger")

    def noted(self, word: str, ledger: Path | None = None) -> list[tuple[str, int]]:
        """What really happened under a word: (key, attempt), in order."""
        file = ledger or self.ledger
        lines = file.read_text().splitlines() if file.exists() else []
        return [(key, int(attempt)) for what, key, attempt in map(str.split, lines) if what == word]

    async def process(self, verb: str, *words: object, session: str = S) -> asyncio.subprocess.Process:
        """Start a desk."""
        (source,) = (Path(one).parent for one in relevo.__path__)
        return await asyncio.create_subprocess_exec(
            sys.executable,
            str(DESK),
            verb,
            str(self.path),
            self.url,
            str(self.ledger),
            session,
            self.kind,
            *map(str, words),
            env=os.environ | {"PYTHONPATH": str(source)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Whoever runs the tests in the background has Ctrl-C ignored, and so would every process below.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    async def desk(self, verb: str, *words: object, session: str = S) -> dict[str, Any]:
        """Run a desk to its end; what it said, nothing when it was killed."""
        process = await self.process(verb, *words, session=session)
        out, err = await process.communicate()
        if process.returncode == -9:
            return {}
        assert process.returncode == 0, err.decode()
        said: dict[str, Any] = json.loads(out.splitlines()[-1])
        return said
