from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Optional, Required, TypedDict

import pytest
import typing_extensions

from relevo.errors import InvalidTool, ToolError
from relevo.tools import tool


class Place(TypedDict, total=False):
    """Where."""

    city: Required[str]
    street: str


class Order(TypedDict):
    id: int
    note: NotRequired[str]
    place: Place
    others: list[Place] | None


class Wide(Order, total=False):
    extra: int


class Ring(TypedDict):
    inner: Optional[Ring]  # noqa: UP045


class Modern(typing_extensions.TypedDict):
    a: int


ORDER = {"id": 1, "place": {"city": "x"}, "others": [{"city": "y", "street": "s"}]}


def schema_of(annotation: Any) -> Any:
    def do(order: Any) -> Any: ...

    do.__annotations__["order"] = annotation
    return tool(do).input_schema["$defs"]


def test_b144_required_and_optional_keys_are_told_apart_also_when_annotations_are_text() -> None:
    definitions = schema_of(Wide)

    assert set(definitions["Wide"]["properties"]) == {"id", "note", "place", "others", "extra"}
    assert definitions["Wide"]["required"] == ["id", "place", "others"]
    assert definitions["Place"]["required"] == ["city"]
    assert definitions["Place"]["description"] == "Where."


@pytest.mark.parametrize(
    "annotation",
    [
        Order,
        list[Order],
        dict[str, Order],
        Order | None,
        Optional[Order],  # noqa: UP045  both spellings
        Annotated[Order, "x"],
        tuple[Order, ...],
        Modern,
    ],
)
def test_b144_they_are_found_wherever_they_stand(annotation: Any) -> None:
    assert schema_of(annotation)


def test_other_types_are_left_alone() -> None:
    def do(a: Literal["x"], b: list[int], c: Annotated[int, "note"], d: int | None) -> Any: ...

    assert tool(do).validate({"a": "x", "b": [1], "c": 2, "d": None}) == {"a": "x", "b": [1], "c": 2, "d": None}


def test_b144_wrong_and_unknown_keys_are_named() -> None:
    @tool
    def do(order: Order) -> None: ...

    assert do.validate({"order": ORDER}) == {"order": ORDER}
    with pytest.raises(ToolError, match=r"order\.place\.city: required"):
        do.validate({"order": {**ORDER, "place": {}}})
    with pytest.raises(ToolError, match=r"order\.zip: unknown field"):
        do.validate({"order": {**ORDER, "zip": 1}})


def test_one_declared_in_a_function_is_found_with_the_names_around_it() -> None:
    class Inner(TypedDict):
        n: int

    class Outer(TypedDict):
        inner: Inner

    @tool
    def do(outer: Outer) -> None: ...

    assert do.validate({"outer": {"inner": {"n": 1}}}) == {"outer": {"inner": {"n": 1}}}


def test_one_that_contains_itself_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidTool, match="typing_extensions"):
        schema_of(Ring)
