"""Plays one scene of the support desk: people here, every turn in a process of its own, the timeline from the log."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from relevo.cli.render import event_line, printable
from relevo.events import Event
from relevo.harness import Harness
from relevo.human.questions import Question
from relevo.session import Session

ASK_SECONDS = 60
"""How long the demo waits for the word of whoever sits at the terminal; then it denies."""

CaughtUp = Callable[[], Awaitable[None]]
"""Waits until everything that is in the log was shown."""

_STYLES = {
    "user.message": "bold cyan",
    "user.tool_confirmation": "bold magenta",
    "model.answered": "green",
    "model.failed": "red",
    "tool.started": "yellow",
    "tool.waiting": "bold magenta",
    "tool.ended": "yellow",
    "session.status_idle": "bold",
}


@dataclass(slots=True)
class Played:
    """What became of a scene."""

    name: str
    title: str
    session_id: str
    wrong: list[str] = field(default_factory=list)
    """What is not as it must be; nothing is a good scene."""
    outcome: str | None = None
    text: str = ""
    processes: list[str] = field(default_factory=list)
    """Every process that had a part, and how it ended."""
    events: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """Where scenes are played."""

    harness: Harness
    log: Path
    desk: Path
    environment: dict[str, str]
    model: str
    console: Console
    interactive: bool
    words: bool
    """Whether the model must also choose the words that the rule brain does."""


async def play(stage: Stage, scene: Any) -> Played:
    """One scene from its first word to its check."""
    from support_desk.business import Business
    from support_desk.checks import check
    from support_desk.scenes import scene_agent

    stage.console.print()
    stage.console.rule(Text(scene.title), align="left")
    stage.console.print(Text(f"{scene.story}  (signed in: {scene.identity.get('customer_id', 'nobody')})", style="dim"))
    agent = scene_agent(scene, stage.desk, model=stage.model)
    session = await stage.harness.start(agent.name, identity=scene.identity, title=scene.title)
    played = Played(scene.name, scene.title, session.id)
    async with _timeline(stage, session) as caught_up:
        for message in scene.messages:
            await session.say(message)
            await _turn(stage, scene, session, played, caught_up)
            verdict = await _decisions(stage, scene, session, played)
            if verdict is not None:
                scene = replace(scene, verdict="deny", refunds={}, says=()) if verdict == "deny" else scene
                await _turn(stage, scene, session, played, caught_up)
    events = await session.events()
    played.events = len(events)
    played.wrong = check(scene, Business(stage.desk), events, words=stage.words)
    stage.console.print(Text(f"  “{printable(played.text)}”", style="italic"))
    said = "as it must be" if not played.wrong else "; ".join(played.wrong)
    _note(stage, f"{said} ({session.id})", good=not played.wrong)
    return played


async def _turn(stage: Stage, scene: Any, session: Session, played: Played, caught_up: CaughtUp) -> None:
    """Wake the session in a process, and in another if the first is killed."""
    outages = [word for books, number in scene.outages.items() for word in ("--outage", f"{books}={number}")]
    crash = ["--crash-after-refund"] if scene.crash_after_refund and not played.processes else []
    arguments = ["--log", str(stage.log), "--desk", str(stage.desk), "--session", session.id, "--model", stage.model]
    code = await _process(stage, played, "support_desk.worker", *arguments, *outages, *crash)
    await caught_up()
    if code == -signal.SIGKILL and crash:
        _note(stage, "killed with -9: the refund is in the books, its result is not in the log; another process wakes")
        await _process(stage, played, "support_desk.worker", *arguments)
        await caught_up()


async def _process(stage: Stage, played: Played, module: str, *arguments: str) -> int:
    """A Python process of its own; it does not outlive this one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        env=stage.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complained = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = process.returncode or 0
    played.processes.append(f"{module} {process.pid}: {'killed' if code < 0 else code}")
    if code > 0:
        raise RuntimeError(f"{module} failed: {complained.decode(errors='replace').strip()[-2000:]}")
    if said and module == "support_desk.worker":
        from relevo.content import decode

        report = decode(said)
        played.outcome, played.text = report["outcome"], report["text"]
    return code


async def _decisions(stage: Stage, scene: Any, session: Session, played: Played) -> str | None:
    """A person's word about every waiting call, given in yet another process; None when nothing waits."""
    from support_desk.scenes import APPROVER

    verdict: str | None = None
    for question in await session.questions():
        verdict = scene.verdict or "deny"
        if stage.interactive and verdict == "allow":
            verdict = await asyncio.to_thread(_asked, stage.console, question)
        verb = "approve" if verdict == "allow" else "deny"
        _note(stage, f"nothing runs while it waits; in another process: relevo {verb} ... --by {APPROVER}")
        arguments = [verb, question.call_id, "--by", APPROVER, "--log", str(stage.log)]
        await _process(stage, played, "relevo.cli", *arguments)
    return verdict


def _asked(console: Console, question: Question) -> str:
    console.print(Text(printable(f"  {question.tool}: {question.reason}"), style="bold magenta"))
    console.print(Text(f"  Approve? [y/N] (no in {ASK_SECONDS} s) ", style="bold magenta"), end="")
    ready, _, _ = select.select([sys.stdin], [], [], ASK_SECONDS)
    answer = sys.stdin.readline() if ready else "\n"
    if not ready:
        console.print()
    return "allow" if answer.strip().lower().startswith("y") else "deny"


@asynccontextmanager
async def _timeline(stage: Stage, session: Session) -> AsyncIterator[CaughtUp]:
    """Show events as they come; what is given waits until everything there is was shown."""
    shown = asyncio.Condition()
    position = 0

    async def show() -> None:
        nonlocal position
        async for event in session.follow():
            _show(stage.console, event)
            async with shown:
                position = event.position
                shown.notify_all()

    async def caught_up() -> None:
        head = (await session.state()).position
        async with shown:
            await shown.wait_for(lambda: position >= head)

    task = asyncio.create_task(show())
    try:
        yield caught_up
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _show(console: Console, event: Event) -> None:
    line = Text(f"{event.at:%H:%M:%S.%f}"[:-3], style="dim")
    line.append(f" {event.position:>3} ")
    line.append(f"{event.kind:<25}", style=_STYLES.get(event.kind, "dim"))
    line.append(f" {event_line(event)}")
    console.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def _note(stage: Stage, text: str, *, good: bool | None = None) -> None:
    style = {None: "magenta", True: "bold green", False: "bold red"}[good]
    stage.console.print(Text(f"  {'✓' if good else '✗' if good is False else '·'} {printable(text)}", style=style))


def environment(base_url: str, key: str | None) -> dict[str, str]:
    """What the processes of the demo see: this one's environment, and where the model is."""
    found = {**os.environ, "ANTHROPIC_BASE_URL": base_url, "PYTHONPATH": os.pathsep.join(sys.path)}
    if key is not None:
        found["ANTHROPIC_API_KEY"] = key
    return found
