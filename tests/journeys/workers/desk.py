"""
A support desk in a process of its own: `python desk.py VERB DATABASE URL LEDGER SESSION KIND [WORDS...]`.

`KIND` is an effect class, with `+ledger` or `+unclear` for a `reconcile` hook. The ledger is the world outside: a line
is what really happened. Says one line of JSON. Not a test itself; journeys start it, kill it, and start it again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from relevo import Agent, Done, Harness, NotDone, RelevoError, SqliteLog, ToolContext, Unclear, tool
from relevo.model.client import DirectModel

MODEL = "claude-opus-5-5"


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def agent(ledger: Path, kind: str, *, dies: str = "") -> Agent:
    """`dies` says where the process ends in `charge`: `before` or `after` the money moved, or nowhere."""
    hook = kind.partition("+")[2]

    def note(*words: object) -> None:
        with ledger.open("a") as file:
            file.write(" ".join(map(str, words)) + "\n")

    @tool(effect="read")
    async def lookup(context: ToolContext) -> str:
        note("lookup", context.key, context.attempt)
        return "customer 7"

    async def charge(cents: int, context: ToolContext) -> str:
        if dies == "before":
            die()
        if context.transaction is None:
            note("charge", context.key, context.attempt)
        else:
            await context.transaction.execute("create table if not exists desk_charges (session text, cents integer)")
            await context.transaction.execute("insert into desk_charges values (?, ?)", (context.session_id, cents))
        if dies == "after":
            die()
        if dies == "sleeps":
            tell("charging")
            await asyncio.Event().wait()
        if dies == "waits":
            tell("charging")
            await asyncio.to_thread(sys.stdin.readline)
        return f"charged {cents}"

    def reconcile(arguments: Mapping[str, Any], context: ToolContext) -> Any:
        note("asked", context.key, context.attempt)
        if hook == "unclear":
            return Unclear("the bank is closed")
        done = any(line.split()[:2] == ["charge", context.key] for line in ledger.read_text().splitlines())
        return Done(f"charged {arguments['cents']}, says the bank") if done else NotDone()

    effect: Any = kind.partition("+")[0]
    charging = tool(charge, effect=effect, reconcile=reconcile if hook else None)
    return Agent(name="desk", model=MODEL, tools=[lookup, charging])


class DyingLog(SqliteLog):
    """A log whose process ends right before (`at` even) or right after (odd) one of its appends."""

    def __init__(self, path: str, at: int) -> None:
        super().__init__(path)
        self.left, self.after = divmod(at, 2)

    async def append(self, *args: Any, **options: Any) -> int:
        last = self.left == 0
        self.left -= 1
        if last and not self.after:
            die()
        head = await super().append(*args, **options)
        if last:
            die()
        return head


async def drive(database: str, url: str, ledger: str, session: str, kind: str, *, verb: str, words: list[str]) -> None:
    dies = words[0] if words and verb == "start" else ""
    log = DyingLog(database, int(words[-1])) if verb.startswith("dying") else SqliteLog(database)
    desk = agent(Path(ledger), kind, dies=dies)
    async with Harness(log, agents=[desk], model=DirectModel(base_url=url, api_key="k")) as harness:
        try:
            if verb in ("start", "dying_start"):
                begun = await harness.start(desk, session_id=session)
                outcome = await begun.run("Go.")
            elif verb == "say":
                outcome = await harness.session(session).run(words[0])
            else:
                woken = await harness.wake(session)
                assert woken is not None
                outcome = woken
        except RelevoError as error:
            tell(json.dumps({"error": type(error).__name__, "message": str(error)}))
            return
    tell(json.dumps({"type": outcome.type, **dataclasses.asdict(outcome)}))


def forked(verb: str, own: tuple[str, ...], *words: str) -> None:
    """Drive in a child, and wait until it is dead, one way or another."""
    child = os.fork()
    if not child:
        asyncio.run(drive(*own[:5], verb=verb, words=list(words)))
        os._exit(0)
    os.waitpid(child, 0)


def every_point(verb: str, database: str, url: str, ledger: str, session: str, kind: str, *words: str) -> None:
    """
    One session `SESSION.n`, with a ledger of its own, for every place to die from `words[0]` up to `words[1]`.

    `start`: the first process dies there. `wake`: it dies inside `charge`, and the second one there.
    """
    import_module("relevo.model.connection")  # once, not in every child
    agent(Path(ledger), kind)
    for point in range(*map(int, words)):
        own = (database, url, f"{ledger}.{point}", f"{session}.{point}", kind)
        if verb == "wake":
            forked("start", own, "after")
        forked(f"dying_{verb}", own, str(point))
    tell("{}")


def every_full(database: str, url: str, ledger: str, session: str, kind: str, *limits: str) -> None:
    """One child, with files of its own, for every size in bytes that no file may outgrow."""
    import resource

    import_module("relevo.model.connection")
    agent(Path(ledger), kind)
    errors = []
    for limit in range(*map(int, limits)):
        mine, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(theirs, 1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            asyncio.run(drive(f"{database}.{limit}", url, f"{ledger}.{limit}", session, kind, verb="start", words=[]))
            os._exit(0)
        os.close(theirs)
        os.waitpid(child, 0)
        with os.fdopen(mine) as said:
            errors.append(json.loads(said.read() or '{"error": "silence"}').get("error", ""))
    tell(json.dumps({"errors": errors}))


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    if verb == "every_full":
        every_full(*words)
    elif verb.startswith("every_"):
        every_point(verb.removeprefix("every_"), *words)
    else:
        asyncio.run(drive(*words[:5], verb=verb, words=words[5:]))
