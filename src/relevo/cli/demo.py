"""`relevo demo`: the support desk, from real-looking requests to their ends."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.text import Text

from relevo.cli.cost import Line, as_json_line, costs, table
from relevo.cli.exits import Stopped
from relevo.cli.options import AsJson, BaseUrl
from relevo.cli.render import say_json, wide_console
from relevo.cli.staging import Played, Stage, environment, play
from relevo.errors import InvalidValue
from relevo.harness import Harness


def demo(
    scene: Annotated[
        list[str] | None, typer.Option("--scene", help="Only this one; may be given more than once.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Keep log and books here, for `relevo events` and the like.")
    ] = None,
    base_url: BaseUrl = None,
    model: Annotated[str | None, typer.Option(help="The model to ask for.")] = None,
    simulator: Annotated[bool, typer.Option("--simulator", help="Use the simulator even if a key is set.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Let whoever sits at the terminal decide.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Play the support desk: refunds, an approval by another process, an identity swap, a kill -9 in the middle.

    Without a key and without --base-url the model is the simulator. Exit code 1 if anything is not as it must be.
    """
    raise Stopped(asyncio.run(_demo(scene or [], folder, base_url, model, simulator, ask, as_json)))


async def _demo(
    names: list[str],
    folder: Path | None,
    base_url: str | None,
    model: str | None,
    simulator: bool,
    ask: bool,
    as_json: bool,
) -> int:
    from support_desk.agent import MODEL, desk_agent
    from support_desk.business import Business
    from support_desk.dataset import seed
    from support_desk.scenes import SCENES, scene_named

    try:
        scenes = [scene_named(name) for name in names] or list(SCENES)
    except KeyError as error:
        known = ", ".join(scene.name for scene in SCENES)
        raise InvalidValue(f"no scene is called {error}; there are {known}") from None
    if folder is not None and (folder / "sessions.db").exists():
        raise InvalidValue(f"{str(folder)!r} holds an earlier demo, whose books would spoil this one; take another")
    console = wide_console(stderr=as_json)
    async with AsyncExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else folder
        place.mkdir(parents=True, exist_ok=True)
        log, desk = place / "sessions.db", place / "support_desk.db"
        if not desk.exists():
            seed(desk)
        where = base_url or os.environ.get("ANTHROPIC_BASE_URL")
        real = not simulator and (where is not None or "ANTHROPIC_API_KEY" in os.environ)
        if real:
            url, key = where or "https://api.anthropic.com", os.environ.get("ANTHROPIC_API_KEY")
            host = urlsplit(url).hostname  # and nothing else of it: an address may hold a password
            console.print(Text(f"A real model: {model or MODEL} at {host}. This costs what its owner asks.", "bold"))
            console.print(Text("--simulator plays with the built-in one instead.", style="dim"))
        else:
            url, key = await stack.enter_async_context(_simulator()), "any"
            console.print(Text(f"The model is the simulator at {url}; no key, no network, no cost.", style="dim"))
        harness = await stack.enter_async_context(
            Harness(log, agents=[desk_agent(Business(desk), model=model or MODEL)])
        )
        stage = Stage(
            harness=harness,
            log=log,
            desk=desk,
            environment=environment(url, key),
            model=model or MODEL,
            console=console,
            interactive=ask and not as_json and sys.stdin.isatty() and sys.stdout.isatty(),
            words=not real,
        )
        played = [await play(stage, each) for each in scenes]
        lines = [
            line for one in played for line in costs(one.session_id, await harness.session(one.session_id).events())
        ]
    good = not any(one.wrong for one in played)
    if as_json:
        say_json(_report(played, lines, url, model or MODEL, good=good))
    else:
        _finish(console, played, lines, folder, good=good)
    return 0 if good else 1


@asynccontextmanager
async def _simulator() -> AsyncIterator[str]:
    from relevo.simulator import Simulator
    from support_desk.brain import brain

    async with Simulator(brain, keep_requests=0) as simulator:
        yield simulator.base_url


def _finish(
    console: Console, played: Sequence[Played], lines: Sequence[Line], folder: Path | None, *, good: bool
) -> None:
    console.rule(Text("What it cost (at list prices, as if the model had been real)"), align="left")
    console.print(table(lines))
    done = sum(not one.wrong for one in played)
    processes, events = sum(len(one.processes) for one in played), sum(one.events for one in played)
    text = f"{done} of {len(played)} scenes as they must be; {processes} processes, {events} events"
    console.print(Text(text, style="bold green" if good else "bold red"))
    if folder is not None:
        console.print(Text(f"Look around: relevo sessions --log {folder / 'sessions.db'}", style="dim"))


def _report(played: Sequence[Played], lines: Sequence[Line], url: str, model: str, *, good: bool) -> dict[str, Any]:
    return {
        "ok": good,
        "model": model,
        "base_url": url,
        "scenes": [{**asdict(one), "ok": not one.wrong} for one in played],
        "cost": [as_json_line(line) for line in lines],
    }
