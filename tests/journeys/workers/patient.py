"""A process that is in the middle of paying until it is told to go on: `patient.py LOG FOLDER BASE_URL`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relevo import Agent, DirectModel, Harness, LeaseLost, NotDone, Tool, ToolContext, tool


def pay_in(folder: Path) -> Tool[..., Any]:
    """Pays by a line in the ledger, once `go` is there; asked for a key, it looks into the ledger."""

    def was_it_paid(arguments: Mapping[str, Any], context: ToolContext) -> NotDone:
        return NotDone()  # the truth, as long as nobody has gone on

    @tool(effect="irreversible", reconcile=was_it_paid, timeout_seconds=None)
    async def pay(context: ToolContext) -> str:
        """Pay."""
        (folder / "begun").touch()
        while not (folder / "go").exists():
            await asyncio.sleep(0.01)
        with (folder / "ledger").open("a") as ledger:
            ledger.write(f"{context.key}\n")
        return "paid"

    return pay


def agent_in(folder: Path) -> Agent:
    return Agent(name="payer", model="claude-opus-5-5", tools=[pay_in(folder)])


async def main(log: str, folder: str, base_url: str) -> None:
    model = DirectModel(api_key="any", base_url=base_url)
    async with Harness(log, agents=[agent_in(Path(folder))], model=model) as harness:
        session = await harness.start("payer", session_id="sesn_payer")
        try:
            sys.stdout.write((await session.run("Go.")).type)
        except LeaseLost:
            sys.stdout.write("lost")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
