"""
Programs that crash tests start: `python writers.py ROLE PATH ...`. Each says on stdout what it has been promised.

Not tests themselves; they talk to the log as any program does.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from datetime import UTC, datetime
from typing import Any

from relevo.errors import LeaseLost, LogMoved, RelevoError
from relevo.events import Body, SessionCreated, UserMessage
from relevo.log import SqliteLog

S = "sesn_1"


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def said(text: str) -> UserMessage:
    return UserMessage(content=[{"type": "text", "text": text}])


def now() -> datetime:
    return datetime.now(UTC)


async def head_of(log: SqliteLog) -> int:
    return (await log.sessions())[0].head


async def endless(path: str, flush: str) -> None:
    """Append three events at a time until killed; say every position that was promised."""
    log = SqliteLog(path)
    try:
        head = await head_of(log)
    except IndexError:
        head = await log.append(S, [SessionCreated(agent={"name": "a"})], expected=0, at=now())
    number = head
    while True:
        bodies: list[Body] = [said(f"{number}.{part} " + "x" * (number * 37 % 900)) for part in range(3)]
        head = await log.append(S, bodies, expected=head, at=now(), flush=flush == "flush" and number % 5 == 0)
        number += 1
        say(head)


async def some(path: str, name: str, count: str) -> None:
    """Append `count` events beside others, reading again whenever somebody was first."""
    log = SqliteLog(path)
    head = await head_of(log)
    for number in range(int(count)):
        while True:
            try:
                head = await log.append(S, [said(f"{name} {number}")], expected=head, at=now())
                break
            except LogMoved as moved:
                head = moved.actual
    await log.close()
    say("done")


async def claiming(path: str, name: str, count: str) -> None:
    """Claim and append, over and over, against somebody who does the same; say what was stored."""
    log = SqliteLog(path)
    for number in range(int(count)):
        lease = await log.claim(S)
        head = lease.head
        try:
            for part in range(3):
                head = await log.append(
                    S, [said(f"{name} {number}.{part}")], expected=head, at=now(), epoch=lease.epoch
                )
                say(head, name, lease.epoch)
                await asyncio.sleep(0)
        except (LogMoved, LeaseLost) as refused:
            say(type(refused).__name__)
    await log.close()


async def zombie(path: str) -> None:
    """Claim, wait for a line on stdin, then append with what was true before."""
    log = SqliteLog(path)
    lease = await log.claim(S)
    say(json.dumps({"epoch": lease.epoch, "head": lease.head}))
    asked = await asyncio.to_thread(sys.stdin.readline)
    try:
        await log.append(S, [said("from the dead")], expected=int(asked), at=now(), epoch=lease.epoch)
        say("stored")
    except RelevoError as refused:
        say(type(refused).__name__)
    await log.close()


async def full_disk(path: str, limit_bytes: str) -> None:
    """Append until the disk is full, twice; then read everything and say how much there was."""
    log = SqliteLog(path)
    head = await log.append(S, [SessionCreated(agent={"name": "a"})], expected=0, at=now())
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit_bytes), resource.RLIM_INFINITY))
    refusals: list[Any] = []
    while len(refusals) < 2:
        try:
            head = await log.append(S, [said("x" * 900)], expected=head, at=now())
        except RelevoError as refused:
            refusals.append(type(refused).__name__)
    readable = len(await log.read(S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = await log.append(S, [said("space again")], expected=head, at=now())
    say(json.dumps({"refusals": refusals, "head": head, "readable": readable, "after": after}))
    await log.close()


async def readonly(path: str) -> None:
    """As nobody, in a folder that is not ours."""
    import os

    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    log = SqliteLog(path)
    outcomes = []
    for use in (log.append(S, [said("a")], expected=1, at=now()), log.claim(S)):
        try:
            await use
            outcomes.append("stored")
        except RelevoError as refused:
            outcomes.append(type(refused).__name__)
    say(json.dumps(outcomes))
    await log.close()


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
