"""The tools of one agent, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from relevo.content import Json
from relevo.errors import InvalidTool, ToolError
from relevo.tools.strict import MAX_STRICT_TOOLS, Complexity, complexity
from relevo.tools.tool import Tool


class Toolbox:
    """
    Tools in the order they are given, which is the order the model sees: the same bytes for the same tools.

    Raises:
        InvalidTool: two tools of one name, something that is no tool, or more strict tools than a request takes.
    """

    def __init__(self, tools: Iterable[Tool[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        for each in tools:
            if not isinstance(each, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]  users may have no checker
                raise InvalidTool(f"{each!r} is not a tool; declare it with @tool")
            if each.name in self._tools:
                raise InvalidTool(f"two tools are called {each.name!r}; give one another with name=")
            self._tools[each.name] = each
        _check_strict([each for each in self if each.strict])

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def get(self, name: str) -> Tool[..., Any] | None:
        """The tool of exactly this name, or None."""
        return self._tools.get(name)

    def find(self, name: str) -> Tool[..., Any]:
        """
        The tool a call asks for.

        Raises:
            ToolError: there is none; the text tells the model which there are.
        """
        found = self._tools.get(name)
        if found is None:
            known = ", ".join(self._tools) or "none"
            shown = name if len(name) <= 80 else f"{name[:80]}..."
            raise ToolError(
                f"There is no tool {shown!r}. The tools are: {known}.",
                category="validation",
                code="unknown_tool",
                outcome="not_executed",
            )
        return found

    def definitions(self) -> list[dict[str, Json]]:
        """The `tools` of a request; fresh copies."""
        return [each.definition() for each in self]


def _check_strict(tools: list[Tool[..., Any]]) -> None:
    if len(tools) > MAX_STRICT_TOOLS:
        raise InvalidTool(f"{len(tools)} strict tools; a request takes {MAX_STRICT_TOOLS}")
    total = sum((complexity(each.input_schema) for each in tools), Complexity())
    if excess := total.excess():
        raise InvalidTool(f"the strict tools have together {excess}")
