# ruff: noqa: A002, B006, PT017, RUF013  what users write in their tools is the matter here
from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema  # type: ignore[import-untyped]
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import relevo.tools
from relevo.errors import InvalidTool, ToolError
from relevo.tools import tool


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Address(BaseModel):
    street: str = Field(alias="streetName")
    number: int = 1


class Customer(BaseModel):
    home: Address
    older: list[Address] = []


class Tree(BaseModel):
    children: list[Tree] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


Mode = Literal["fast", "slow"]


def refused(declared: Any, sent: Any) -> Any:
    with pytest.raises(ToolError) as caught:
        declared.validate(sent)
    assert caught.value.category == "validation"
    assert caught.value.outcome == "not_executed"
    assert caught.value.retryable is False
    assert len(str(caught.value)) < 2_000
    return str(caught.value)


class TestSchema:
    def test_it_is_one_closed_object_with_keys_in_order(self) -> None:
        @tool
        def do(a: int, b: str = "x") -> Any:
            """Do.

            Args:
                a: the a
            """

        assert do.input_schema == {
            "type": "object",
            "properties": {"a": {"type": "integer", "description": "the a"}, "b": {"type": "string", "default": "x"}},
            "required": ["a"],
            "additionalProperties": False,
        }
        assert list(do.input_schema) == ["type", "properties", "required", "additionalProperties"]

    def test_nested_types_are_described(self) -> None:
        @tool
        def do(
            customer: Customer, size: Size, point: Point, mode: Mode, tree: Tree, number: int | str | None = None
        ) -> Any: ...

        schema = do.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$defs"]["Address"]["properties"].keys() == {"streetName", "number"}
        assert schema["$defs"]["Size"] == {"enum": ["s", "l"], "type": "string"}
        assert schema["properties"]["mode"] == {"enum": ["fast", "slow"], "type": "string"}
        assert schema["properties"]["number"]["anyOf"] == [{"type": "integer"}, {"type": "string"}, {"type": "null"}]
        assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}

    def test_a_field_of_pydantic_says_more(self) -> None:
        @tool
        def do(
            cents: Annotated[int, Field(ge=1, description="Cents.")],
            user_id: Annotated[int, Field(alias="userId")],
            other: int = Field(5, alias="otherId", le=9),
            both: Annotated[int, Field(alias="bothId")] = None,  # type: ignore[assignment]
        ) -> Any:
            """Do.

            Args:
                cents: not this text
                user_id: Whose.
            """

        properties = do.input_schema["properties"]
        assert properties["cents"] == {"type": "integer", "minimum": 1, "description": "Cents."}
        assert properties["userId"] == {"type": "integer", "description": "Whose."}
        assert properties["otherId"] == {"type": "integer", "default": 5, "maximum": 9}
        assert do.validate({"cents": 1, "userId": 2}) == {"cents": 1, "user_id": 2, "other": 5, "both": None}
        assert "userId: required" in refused(do, {"cents": 1, "user_id": 2})

    def test_b120_the_names_in_schema_input_and_messages_are_the_aliases(self) -> None:
        @tool
        def do(customer: Customer) -> Any: ...

        assert do.validate({"customer": {"home": {"streetName": "s"}}})["customer"].home.street == "s"
        assert "customer.home.streetName: required" in refused(do, {"customer": {"home": {"street": "s"}}})

    def test_b135_b139_parameters_may_have_any_name(self) -> None:
        @tool
        def do(
            config: str,
            agent: str = "x",
            args: list[Any] = [],
            model_extra: str = "",
            schema: str = "",
            class_: str = "",
            self: str = "",
            title: str = "",
            description: str = "",
            default: int = 0,
            type: str = "",
            properties: dict[Any, Any] = {},
            required: bool = False,
            model_config: str = "",
            model_dump: str = "",
            model_post_init: str = "",
            model_fields: str = "",
            copy: str = "",
            json: str = "",
            _hidden: str = "",
            __dunder__: str = "",
            input: str = "",
            tool: str = "",
            function: str = "",
            field_0: str = "",
            context: str = "",
        ) -> Any:
            return {**locals()}

        sent = {
            name: {"string": name, "array": [name], "integer": 7, "boolean": True, "object": {"k": name}}[part["type"]]
            for name, part in do.input_schema["properties"].items()
        }
        assert len(sent) == 26
        assert do(**do.validate(sent)) == sent

    def test_b136_annotations_that_are_text_give_the_same_schema(self) -> None:
        body = textwrap.dedent(
            """
            import enum
            from typing import Annotated, Literal, Optional, TypedDict, NotRequired
            from pydantic import BaseModel, Field
            from relevo.tools import tool, ToolContext
            import json
            class Top(TypedDict):
                a: NotRequired[int]
            Mode = Literal["x", "y"]
            def outer():
                class Local(BaseModel):
                    n: int
                @tool
                def do(a: Optional[Local], b: list[Local], c: Mode, d: Top, ctx: ToolContext,
                       e: Annotated[int, Field(ge=1)] = 1): ...
                return do
            print(json.dumps(outer().definition()))
            """
        )
        source = str(Path(relevo.tools.__file__).parents[2])
        outputs = {
            subprocess.run(
                [sys.executable, "-c", head + body],
                env={"PYTHONPATH": source},
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            for head in ("", "from __future__ import annotations\n")
        }
        assert len(outputs) == 1
        assert "ctx" not in outputs.pop()

    def test_b136_a_name_defined_too_late_is_a_clear_error(self) -> None:
        with pytest.raises(InvalidTool, match=r"annotation of 'a' cannot be resolved .* before the tool is declared"):

            @tool
            def do(a: Later) -> Any: ...

        class Later(BaseModel): ...

    def test_b140_a_tool_without_arguments_can_be_called(self) -> None:
        @tool
        def ping() -> Any: ...

        assert ping.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
        assert ping.validate({}) == {}

    def test_b140_a_free_object_stays_free(self) -> None:
        @tool
        def do(
            a: dict,  # type: ignore[type-arg]
            b: dict[str, Any],
            c: dict[str, int],
        ) -> Any: ...

        properties = do.input_schema["properties"]
        assert properties["a"] == properties["b"] == {"type": "object", "additionalProperties": True}
        value = {"x": [1, 1.5, None, {"y": 2**70}]}
        assert do.validate({"a": value, "b": {}, "c": {}})["a"] == value

    def test_b141_whoever_changes_a_schema_changes_only_their_copy(self) -> None:
        @tool(examples=[{"a": 1}])
        def do(a: int) -> Any: ...

        before = do.definition()
        changed = do.definition()
        changed["input_schema"]["properties"].clear()
        changed["input_examples"][0]["a"] = 2
        do.input_schema["properties"]["a"]["type"] = "null"

        assert do.definition() == before

    def test_b142_none_as_default_makes_a_parameter_optional_and_null_fine(self) -> None:
        @tool
        def do(
            q: str,
            filters: dict[str, Any] = None,  # type: ignore[assignment]
            limit: Annotated[int, Field(ge=1)] = None,  # type: ignore[assignment]
            anything: Any = None,
        ) -> Any: ...

        assert do.input_schema["required"] == ["q"]
        assert do.validate({"q": "x", "filters": None}) == {"q": "x", "filters": None, "limit": None, "anything": None}
        assert "limit: expected greater than or equal to 1" in refused(do, {"q": "x", "limit": 0})

    def test_b142_a_weird_default_is_no_crash(self) -> None:
        class Weird:
            def __eq__(self, other: object) -> Any:
                raise ValueError("the truth of an array is ambiguous")

            def __bool__(self) -> Any:
                raise ValueError

            __hash__ = None  # type: ignore[assignment]

        weird = Weird()

        @tool
        def do(q: str, array: Any = weird, sentinel: Any = ..., many: list[Any] = []) -> Any: ...

        arguments = do.validate({"q": "x"})
        assert isinstance(arguments["array"], Weird)
        assert "default" not in do.input_schema["properties"]["array"]

    def test_a_list_as_default_is_not_shared_between_calls(self) -> None:
        @tool
        def do(many: list[Any] = []) -> Any: ...

        do.validate({})["many"].append(1)
        assert do.validate({}) == {"many": []}

    def test_a_type_without_a_schema_is_refused_when_declared(self) -> None:
        class Opaque: ...

        with pytest.raises(InvalidTool, match="tool 'do': its parameters have no JSON schema"):

            @tool
            def do(a: Opaque) -> Any: ...

        with pytest.raises(InvalidTool, match="no JSON schema"):

            @tool
            def call(a: pydantic.types.Callable[[], int]) -> Any: ...  # type: ignore[name-defined]

    def test_two_parameters_of_one_alias_are_refused(self) -> None:
        with pytest.raises(InvalidTool, match="share an alias"):

            @tool
            def do(a: Annotated[int, Field(alias="x")], x: int) -> Any: ...


class TestValidate:
    @pytest.mark.parametrize("sent", [[], None, 123, "x", True, '{"a": 1}'])
    def test_b033_what_is_no_object_is_refused_by_name(self, sent: Any) -> None:
        @tool
        def do(a: int = 1) -> Any: ...

        message = refused(do, sent)
        assert message.startswith("Invalid input for do: object expected; you sent ")

    def test_b032_an_empty_text_counts_as_no_arguments_and_only_that(self) -> None:
        @tool
        def free(a: int = 1) -> Any: ...

        @tool
        def needy(a: int) -> Any: ...

        assert free.validate("") == {"a": 1}
        assert "a: required" in refused(needy, "")

    @pytest.mark.parametrize(
        ("annotation", "value"),
        [
            (int, "5"), (int, 5.0), (int, True), (int, None), (float, "1"), (float, True), (str, 5), (str, None),
            (bool, 1), (bool, "true"), (list[int], "1,2"), (list[int], {}), (dict, []), (Size, "SMALL"), (Mode, "FAST"),
            (dt.datetime, 5), (dt.date, "tomorrow"), (Decimal, "abc"), (Point, [1, 2]), (Address, "s"),
        ],
    )  # fmt: skip
    def test_a_mistake_of_the_model_is_not_bent_into_shape(self, annotation: Any, value: Any) -> None:
        def do(a: Any) -> Any: ...

        do.__annotations__["a"] = annotation
        message = refused(tool(do), {"a": value})
        assert "- a" in message
        assert f"you sent {json.dumps(value, separators=(',', ':'))}" in message

    @pytest.mark.parametrize(
        ("annotation", "value", "expected"),
        [
            (float, 5, 5.0),
            (float, 5.5, 5.5),
            (int, 2**70, 2**70),
            (Size, "s", Size.SMALL),
            (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
            (Decimal, "1.10", Decimal("1.10")),
            (set[str], ["a"], {"a"}),
            (tuple[int, str], [1, "a"], (1, "a")),
            (Path, "a", Path("a")),
            (Point, {"x": 1}, Point(1)),
            (Any, {"a": [None]}, {"a": [None]}),
            (int | str, "5", "5"),
        ],
    )
    def test_what_json_has_no_type_for_is_read_from_its_json_form(
        self, annotation: Any, value: Any, expected: Any
    ) -> None:
        def do(a: Any) -> Any: ...

        do.__annotations__["a"] = annotation
        assert tool(do).validate({"a": value}) == {"a": expected}

    def test_unknown_fields_are_named_beside_the_known_ones(self) -> None:
        @tool
        def do(a: int, b: int = 1) -> Any: ...

        message = refused(do, {"a": 1, "A": 2})
        assert message == (
            "Invalid input for do:\n- A: unknown field (the fields are: a, b)\nCorrect this and call it again."
        )

    def test_b042_no_key_has_a_meaning_of_its_own(self) -> None:
        @tool
        def do(id: int, function: str, arguments: dict[str, Any]) -> Any: ...

        sent = {"id": 7, "function": "sum", "arguments": {}}
        assert do.validate(sent) == sent

    def test_b159_b040_a_huge_input_is_not_sent_back(self) -> None:
        @tool
        def do(a: int, many: list[int] = []) -> Any: ...

        message = refused(do, {"a": "x" * 200_000, "many": ["y" * 1000] * 2000, "k" * 100_000: 1})
        assert message.count("\n- ") == 6
        assert "- and " in message

    def test_the_text_of_a_check_is_the_authors_and_not_for_the_model(self) -> None:
        class Order(BaseModel):
            cents: int

            @pydantic.field_validator("cents")
            @classmethod
            def _check(cls, value: int) -> int:
                if value > 4999:
                    raise ValueError("amount must be an integer number of cents <= 4999")
                return value

        @tool
        def do(order: Order) -> Any: ...

        said = refused(do, {"order": {"cents": 5000}})
        assert "order.cents: not accepted; you sent 5000" in said
        assert "amount must be" not in said

    @pytest.mark.parametrize("error", [KeyError("hush"), RuntimeError("hush"), RecursionError(), SystemExit("hush")])
    @pytest.mark.parametrize("check", [pydantic.BeforeValidator, pydantic.AfterValidator])
    def test_whatever_a_check_raises_is_an_error_for_the_model_without_its_text(self, error: Any, check: Any) -> None:
        def broken(_: Any) -> Any:
            raise error

        @tool
        def do(a: Annotated[Any, check(broken)]) -> Any: ...

        said = refused(do, {"a": 1})
        assert said == f"Invalid input for do: a check of it raised {type(error).__name__}."

    def test_a_check_may_speak_to_the_model_with_a_ToolError(self) -> None:
        def closed(_: Any) -> Any:
            raise ToolError("The shop is closed on Mondays.", category="business")

        @tool
        def do(a: Annotated[Any, pydantic.AfterValidator(closed)]) -> Any: ...

        assert "The shop is closed on Mondays." in refused(do, {"a": 1})

    def test_broken_texts_and_numbers_are_no_crash(self) -> None:
        @tool
        def do(a: Any) -> Any: ...

        assert do.validate({"a": "\ud83d"}) == {"a": "�"}
        assert "$.a: nan is not JSON" in refused(do, {"a": float("nan")})
        deep: list[Any] = []
        for _ in range(500):
            deep = [deep]
        assert "nested more than" in refused(do, {"a": deep})
        refused(do, {"a": 1, 5: 2})
        assert "you sent set" in refused(do, {1})

    def test_the_input_is_left_as_it_was(self) -> None:
        @tool
        def do(a: list[Any]) -> Any: ...

        sent = {"a": [1]}
        do.validate(sent)["a"].append(2)
        assert sent == {"a": [1]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["a", "b"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@tool
def sample(a: int | list[Point], b: dict[str, Address | None] = {}, c: float = 1) -> Any: ...


@given(json_values)
def test_any_input_gives_arguments_or_a_short_error_for_the_model(sent: Any) -> None:
    try:
        sample.validate(sent)
    except ToolError as error:
        assert error.category == "validation"
        assert len(str(error)) < 3_000


@given(
    st.fixed_dictionaries(
        {"a": st.integers() | st.lists(st.fixed_dictionaries({"x": st.integers()}))},
        optional={"c": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**50), 2**50)},
    )
)
def test_what_the_schema_allows_is_accepted(sent: Any) -> None:
    jsonschema.validate(sent, sample.input_schema)

    sample.validate(sent)
