"""Options that several verbs share, and what they open."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from relevo.agent import Agent
from relevo.errors import InvalidAgent, InvalidValue, LogUnavailable
from relevo.harness import Harness
from relevo.model.client import DirectModel

DEFAULT_LOG = Path(".relevo") / "sessions.db"

LogPath = Annotated[
    Path, typer.Option("--log", envvar="RELEVO_LOG", help="SQLite file of the sessions.", show_default=True)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        envvar="RELEVO_AGENTS",
        help="Where the session's agent is: FILE.py:NAME or MODULE:NAME. May be given more than once.",
    ),
]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Where the Messages API is (else ANTHROPIC_BASE_URL).")]


def load_agent(place: str) -> Agent:
    """
    The agent at `FILE.py:NAME` or `MODULE:NAME`.

    Raises InvalidAgent: nothing is there, or it is not an Agent. What the file itself raises comes through.
    """
    source, _, name = place.rpartition(":")
    if not source or not name:
        raise InvalidAgent(f"{place!r} is not FILE.py:NAME or MODULE:NAME")
    module = _file(Path(source)) if source.endswith(".py") else _module(source)
    agent = getattr(module, name, None)
    if not isinstance(agent, Agent):
        raise InvalidAgent(f"{source} has no agent {name!r}" if agent is None else f"{place} is not an Agent")
    return agent


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidAgent(f"no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidAgent(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise InvalidAgent(f"no module {name!r}") from None


@asynccontextmanager
async def opened(
    log: Path, agents: list[Agent] | None = None, *, base_url: str | None = None, make: bool = False
) -> AsyncIterator[Harness]:
    """A harness on a log file that must be there already, unless `make`."""
    if not make and not log.exists():
        raise LogUnavailable(f"no log at {str(log)!r}; name one with --log or RELEVO_LOG")
    model = None if base_url is None else DirectModel(base_url=base_url)
    async with Harness(log, agents=agents or (), model=model) as harness:
        yield harness


def pairs(values: list[str] | None, option: str) -> dict[str, str]:
    """`KEY=VALUE` options as a mapping."""
    found: dict[str, str] = {}
    for value in values or ():
        key, equals, text = value.partition("=")
        if not equals or not key:
            raise InvalidValue(f"{option} {value!r} is not KEY=VALUE")
        found[key] = text
    return found
