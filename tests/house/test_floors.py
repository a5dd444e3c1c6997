"""A room imports rooms on lower floors only. Imports for types and inside functions count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "relevo"

FLOORS = {
    "errors": 0,
    "version": 0,
    "clock": 0,
    "content": 1,
    "headers": 1,
    "events": 1.1,
    "stops": 1.1,
    "outcome": 1.1,
    "phases": 1.1,
    "state": 1.2,
    "fold": 1.3,
    "artifacts": 2,
    "guards": 2,
    "sandbox": 2,
    "secrets": 2,
    "log": 3,
    "model": 3,
    "tools": 3,
    "context": 4,
    "hands": 4,
    "human": 4,
    "mcp": 4,
    "agent": 5,
    "loop": 6,
    "session": 7,
    "harness": 8,
    "door": 9,
    "cli": 10,
    "__main__": 11,
}
"""The floor of every room. Words within floor 1 stand on each other, so they have steps."""

BESIDE = {"simulator"}
"""Import nothing of ours but themselves. Only the command line, which starts them, may import them."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides where it goes"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "relevo" else [module]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "relevo" and name.count("."):
                yield node.lineno, name.split(".")[1]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_what_is_below_it(path: Path) -> None:
    room = room_of(path)
    wrong = []
    for line, other in imported_rooms(path):
        if other == room:
            continue
        if room in BESIDE:
            wrong.append(f"{path.name}:{line} imports {other}; it stands beside the house")
        elif other in BESIDE:
            if room != "cli":
                wrong.append(f"{path.name}:{line} imports {other}, which stands beside the house")
        elif FLOORS[other] >= FLOORS[room]:
            wrong.append(f"{path.name}:{line} imports {other} (floor {FLOORS[other]}) from floor {FLOORS[room]}")

    assert wrong == []


def test_every_room_has_a_floor() -> None:
    assert {room_of(path) for path in files()} <= set(FLOORS) | BESIDE


def test_no_file_is_named_after_nothing() -> None:
    vague = {"utils", "util", "core", "common", "base", "types", "manager", "helpers", "misc"}

    assert [path for path in files() if path.stem in vague] == []


def test_rooms_have_no_circles_inside() -> None:
    """Within a room, too, files form a graph without circles, counting every import."""
    modules = {".".join(("relevo", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in files()}
    edges: dict[str, set[str]] = {}
    for name, path in modules.items():
        found: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("relevo."):
                module = node.module or ""
                found |= {f"{module}.{alias.name}" for alias in node.names} & modules.keys()
                found |= {module} & modules.keys()
        edges[name] = found - {name}
    done: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way[way.index(name) :], name))
        if name not in done:
            for other in edges[name]:
                walk(other, (*way, name))
            done.add(name)

    for name in edges:
        walk(name, ())
