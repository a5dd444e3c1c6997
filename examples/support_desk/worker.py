"""
One wake of one session in a process of its own: `python -m support_desk.worker --log LOG --desk DB --session ID`.

The model is where `ANTHROPIC_BASE_URL` says. Prints one line of JSON: how the turn ended, and what was said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from relevo import Harness, RelevoError
from support_desk.agent import MODEL, desk_agent
from support_desk.order import Refund
from support_desk.outages import FlakyBusiness


def main(arguments: Sequence[str] | None = None) -> int:
    """Wake the session; the exit status is 0 when its turn ended in a typed way, 1 with a line on stderr when not."""
    parser = argparse.ArgumentParser(prog="support_desk.worker", description="Carry one session of the desk on.")
    parser.add_argument("--log", required=True, help="SQLite file of the sessions")
    parser.add_argument("--desk", required=True, help="SQLite file of the shop")
    parser.add_argument("--session", required=True, help="the session's id")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--outage", action="append", default=[], metavar="BOOKS=N", help="the next N operations fail")
    parser.add_argument("--crash-after-refund", action="store_true", help="SIGKILL once a refund is in the books")
    given = parser.parse_args(arguments)
    outages = {books: int(number) for books, _, number in (each.partition("=") for each in given.outage)}
    try:
        ended = asyncio.run(_wake(given, outages))
    except RelevoError as error:  # another process holds the session, say
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(ended, ensure_ascii=False), flush=True)
    return 0


async def _wake(given: argparse.Namespace, outages: Mapping[str, int]) -> dict[str, Any]:
    agent = desk_agent(
        FlakyBusiness(given.desk, outages),
        model=given.model,
        after_refund=die if given.crash_after_refund else None,
    )
    async with Harness(given.log, agents=[agent]) as harness:
        outcome = await harness.wake(given.session)
    if outcome is None:
        return {"session": given.session, "outcome": None, "text": ""}
    return {"session": given.session, "outcome": outcome.type, "text": outcome.text}


def die(refund: Refund) -> None:  # noqa: ARG001
    """Be gone, as after a power cut: nothing is closed, flushed or said."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
