from __future__ import annotations

from typing import Any

import pytest

from relevo.content import encode
from relevo.errors import InvalidTool, ToolError
from relevo.tools import Toolbox, tool


@tool
def search(query: str) -> None: ...


@tool
def fetch(url: str = "x") -> None: ...


def test_b097_the_same_tools_give_the_same_bytes_in_the_order_given() -> None:
    box = Toolbox([search, fetch])

    assert box.names == ("search", "fetch")
    assert encode(box.definitions()) == encode(Toolbox(each for each in (search, fetch)).definitions())
    assert [each["name"] for each in Toolbox([fetch, search]).definitions()] == ["fetch", "search"]


def test_b133_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidTool, match="two tools are called 'search'"):
        Toolbox([search, tool(fetch.function, name="search")])


@pytest.mark.parametrize("name", ["constructor", "toString", "__class__", "names", "find", "SEARCH", "search ", ""])
def test_tutorial_2_3_only_a_tools_own_name_finds_it(name: Any) -> None:
    box = Toolbox([search])

    assert box.get(name) is None
    assert name not in box
    with pytest.raises(ToolError):
        box.find(name)


def test_b157_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(ToolError) as caught:
        Toolbox([search, fetch]).find("foobar")

    assert str(caught.value) == "There is no tool 'foobar'. The tools are: search, fetch."
    assert (caught.value.category, caught.value.outcome) == ("validation", "not_executed")
    with pytest.raises(ToolError, match="The tools are: none"):
        Toolbox().find("foobar")


def test_b157_an_endless_name_is_not_repeated() -> None:
    with pytest.raises(ToolError) as caught:
        Toolbox([search]).find("x" * 100_000)

    assert len(str(caught.value)) < 200


def test_a_known_name_finds_its_tool() -> None:
    box = Toolbox([search, fetch])

    assert box.find("fetch") is fetch
    assert len(box) == 2
    assert list(box) == [search, fetch]


def test_a_function_that_was_never_declared_is_refused() -> None:
    with pytest.raises(InvalidTool, match="declare it with @tool"):
        Toolbox([search.function])  # type: ignore[list-item]


def test_the_limits_of_strict_tools_hold_for_all_together() -> None:
    def optional(a: int = 1, b: int = 1, c: int = 1, d: int = 1, e: int = 1) -> None: ...

    five = [tool(optional, name=f"t{place}", strict=True) for place in range(5)]
    with pytest.raises(InvalidTool, match="together 25 optional"):
        Toolbox(five)
    Toolbox(five[:4])
    with pytest.raises(InvalidTool, match="21 strict tools"):
        Toolbox(tool(search.function, name=f"t{place}", strict=True) for place in range(21))
