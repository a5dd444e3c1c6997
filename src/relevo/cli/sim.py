"""`relevo sim`: a Claude Messages API on loopback, for anybody's SDK."""

from __future__ import annotations

import asyncio
import importlib
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from relevo.cli.render import say
from relevo.errors import InvalidValue


class Mode(Enum):
    """What the simulator does with a request that breaks a rule."""

    STRICT = "strict"
    LENIENT = "lenient"
    RECORD = "record"


def sim(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port_file: Annotated[Path | None, typer.Option(help="Gets the port once the server listens.")] = None,
    script: Annotated[Path | None, typer.Option(help="YAML steps to play.", exists=True, dir_okay=False)] = None,
    brain: Annotated[str, typer.Option(help="canned, recorded:FILE[,FILE...], desk, or MODULE:NAME.")] = "canned",
    mode: Annotated[Mode, typer.Option(help="What to do with a request that breaks a rule.")] = Mode.STRICT,
    faults: Annotated[str | None, typer.Option(help="A specification or a YAML file.")] = None,
    seed: Annotated[int, typer.Option(help="For everything random.")] = 0,
    api_key: Annotated[str | None, typer.Option(help="The only credential accepted; any by default.")] = None,
    record: Annotated[Path | None, typer.Option(help="Keep every exchange in this file.")] = None,
    pace_seconds: Annotated[float, typer.Option(min=0, help="Pause after each streamed piece.")] = 0.0,
) -> None:
    """Serve the Messages API: strict rules, streams, cache accounting, every stop reason, faults on demand."""
    from relevo.simulator import Recorded, Simulator, serve_forever

    try:
        chosen = _brain(brain, script)
        simulator = Simulator(
            chosen,
            mode=mode.value,
            faults=faults,
            seed=seed,
            api_key=api_key,
            keep_requests=0,
            signatures=not isinstance(chosen, Recorded),
            pace_seconds=pace_seconds,
            record=None if record is None else str(record),
        )
    except (OSError, ValueError) as error:
        raise InvalidValue(str(error)) from None

    async def serve() -> None:
        ready = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(serve_forever(simulator, host=host, port=port, port_file=port_file, ready=ready))
            await ready.wait()
            say(f"ANTHROPIC_BASE_URL={simulator.base_url}")
            say("any key will do; Ctrl-C stops" if api_key is None else "Ctrl-C stops")

    try:
        asyncio.run(serve())
    except* OSError as errors:
        reason = errors.exceptions[0]
        raise InvalidValue(f"cannot listen on {host}:{port}: {reason}; --port 0 takes a free one") from None


def _brain(name: str, script: Path | None) -> Any:
    from relevo.simulator.__main__ import brain_of

    if script is not None or ":" not in name or name.startswith("recorded:"):
        if name == "desk":
            name = "support_desk.brain:brain"
        else:
            return brain_of(name, script=None if script is None else str(script))
    module, _, attribute = name.rpartition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidValue(f"no brain at {name!r}: {error}") from None
