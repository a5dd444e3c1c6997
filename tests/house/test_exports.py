"""What the package promises is one list, said in three places."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import relevo

INIT = Path(relevo.__file__)


def names_for_checkers() -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(INIT.read_text())):
        if isinstance(node, ast.If):
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom):
                    names |= {alias.asname or alias.name for alias in inner.names}
    return names


def test_checkers_and_programs_see_the_same_names() -> None:
    assert names_for_checkers() - {"Any"} == set(relevo.__all__)
    assert set(relevo._HOME_OF) == set(relevo.__all__)
    assert relevo.__all__ == sorted(relevo.__all__, key=lambda name: (not name.isupper(), name)), "constants first"


def test_every_promised_name_is_there() -> None:
    for name in relevo.__all__:
        assert getattr(relevo, name) is not None, name


def test_every_public_name_says_what_it_is() -> None:
    undocumented = [
        name
        for name in relevo.__all__
        if isinstance(getattr(relevo, name), type) and not (getattr(relevo, name).__doc__ or "").strip()
    ]

    assert undocumented == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    """The core stays light: importing costs no pydantic, no aiohttp, no SDK, no server, no database driver."""
    script = (
        "import sys, relevo, relevo.harness, relevo.log.sqlite;"
        "heavy = {'pydantic', 'aiohttp', 'anthropic', 'httpx2', 'rich', 'typer', 'yaml', 'starlette', 'psycopg', 'mcp'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
