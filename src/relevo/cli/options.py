"""Options that several verbs share, and what they open."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from relevo.agent import Agent
from relevo.errors import InvalidAgent, InvalidValue, LogUnavailable, RelevoError
from relevo.harness import Harness
from relevo.log.log import SessionInfo
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

    Raises InvalidAgent: nothing is there, it is not an Agent, or the code itself fails.
    """
    source, _, name = place.rpartition(":")
    if not source or not name:
        raise InvalidAgent(f"{place!r} is not FILE.py:NAME or MODULE:NAME")
    try:
        module = _file(Path(source)) if source.endswith(".py") else _module(source)
    except RelevoError:
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        line = getattr(error, "lineno", None) or where.lineno
        file = getattr(error, "filename", None) or where.filename
        raise InvalidAgent(f"{place} cannot be loaded: {type(error).__name__}: {error} ({file}:{line})") from error
    agent = getattr(module, name, None)
    if not isinstance(agent, Agent):
        raise InvalidAgent(f"{source} has no agent {name!r}" if agent is None else f"{place} is not an Agent")
    return agent


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidAgent(f"no file {str(path)!r}")
    # A name of our own: `json.py` is a fine name for a file, and must not become the module `json`.
    name = f"_relevo_agent_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidAgent(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.append(str(path.parent.resolve()))  # last: what lies beside an agent takes no installed module's place
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidAgent(f"{name!r} is neither a .py file nor a module")
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


async def every_session(harness: Harness) -> AsyncIterator[SessionInfo]:
    """All sessions of a log, the newest first."""
    before: str | None = None
    while page := await harness.sessions(limit=1000, before=before):
        before = page[-1].id
        for info in page:
            yield info


def pairs(values: list[str] | None, option: str) -> dict[str, str]:
    """`KEY=VALUE` options as a mapping."""
    found: dict[str, str] = {}
    for value in values or ():
        key, equals, text = value.partition("=")
        if not equals or not key:
            raise InvalidValue(f"{option} {value!r} is not KEY=VALUE")
        found[key] = text
    return found
