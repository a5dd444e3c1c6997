from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import BaseModel, Field

from relevo.errors import InvalidTool
from relevo.tools import tool
from relevo.tools.strict import strict_schema


class Line(BaseModel):
    sku: Annotated[str, Field(min_length=3, description="The article.")]
    kind: Literal["a", "b"] = "a"


class Node(BaseModel):
    children: list[Node] = []


def objects(schema: Any) -> Any:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def test_every_object_is_closed_and_what_the_grammar_cannot_say_is_in_the_description() -> None:
    @tool(strict=True)
    def order(
        lines: list[Line],
        cents: Annotated[int, Field(ge=1, le=4999)],
        at: dt.datetime,
        title: str,
        properties: bool,
    ) -> None:
        """Order."""

    schema = order.input_schema
    assert all(each["additionalProperties"] is False for each in objects(schema))
    assert schema["properties"]["cents"] == {"type": "integer", "description": '{"maximum":4999,"minimum":1}'}
    assert schema["$defs"]["Line"]["properties"]["sku"]["description"] == 'The article.\n\n{"minLength":3}'
    assert schema["properties"]["at"] == {"type": "string", "format": "date-time"}
    assert list(schema["properties"]) == ["lines", "cents", "at", "title", "properties"]
    assert order.definition()["strict"] is True


def test_a_union_by_a_field_becomes_a_plain_union() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    @tool(strict=True)
    def pet(
        animal: Annotated[Cat | Dog, Field(discriminator="kind")], n: Annotated[list[int], Field(min_length=1)]
    ) -> None: ...

    assert pet.input_schema["properties"]["animal"] == {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
    assert pet.input_schema["properties"]["n"] == {"items": {"type": "integer"}, "minItems": 1, "type": "array"}


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (dict, "free keys"),
        (dict[str, int], "free keys"),
        (Any, "may be anything"),
        (list, "may be anything"),
        (tuple[int, str], "is a tuple"),
        (Node, "contains itself"),
    ],
)
def test_what_strict_mode_cannot_say_is_refused_when_declared(annotation: Any, why: Any) -> None:
    def do(value: Any) -> Any: ...

    do.__annotations__["value"] = annotation
    with pytest.raises(InvalidTool, match=why):
        tool(do, strict=True)
    assert tool(do).input_schema["properties"].keys() == {"value"}


def test_recursion_is_found_through_other_models() -> None:
    class B(BaseModel):
        a: A | None = None

    class A(BaseModel):
        b: B

    B.model_rebuild(_types_namespace={"A": A})

    with pytest.raises(InvalidTool, match="contains itself"):

        @tool(strict=True)
        def do(a: A) -> None: ...


def many(count: Any, annotation: Any, default: Any) -> Any:
    fields = {f"f{place}": (annotation, default) for place in range(count)}
    return pydantic.create_model("Many", **fields)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("annotation", "default", "limit", "word"), [(int, 1, 24, "optional"), (int | str, ..., 16, "union")]
)
def test_the_limits_of_strict_mode_are_checked_when_declared(
    annotation: Any, default: Any, limit: Any, word: Any
) -> None:
    def do(value: Any) -> Any: ...

    do.__annotations__["value"] = many(limit, annotation, default)
    tool(do, strict=True)
    do.__annotations__["value"] = many(limit + 1, annotation, default)
    with pytest.raises(InvalidTool, match=word):
        tool(do, strict=True)


def test_a_tool_without_arguments_may_be_strict() -> None:
    @tool(strict=True)
    def ping() -> None: ...

    assert ping.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_what_must_hold_together_is_kept_and_closed_too() -> None:
    part = {"type": "object", "properties": {}}

    assert strict_schema("do", {"allOf": [part]}) == {"allOf": [{**part, "additionalProperties": False}]}
