"""
The input of a tool: its JSON schema, and the check of what the model sent.

Built once, when the tool is declared, and the only place that knows pydantic. Parameters live in a model under names
of our own (`field_0`, ...), with the real names as aliases: so a parameter may be called `config`, `schema`, `self`
or `model_dump`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Optional, get_args, get_origin

from relevo.content import Json, checked, decode, encode
from relevo.errors import InvalidTool, NotJson, ToolError
from relevo.tools.context import ToolContext
from relevo.tools.signature import REQUIRED, Parameter, Signature

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

_SHOWN_PROBLEMS = 5
_SHOWN_CHARS = 80
_SHOWN_REASON_CHARS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """What a tool takes."""

    tool: str
    model: type[BaseModel]
    names: Mapping[str, str]
    """The model's field -> the function's parameter."""
    fields: tuple[str, ...]
    """The names the model of the API sees, in order."""
    context: tuple[str, ...]
    schema_json: bytes

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema: a fresh copy each time, so that nobody's change reaches anybody else."""
        schema: dict[str, Any] = decode(self.schema_json)
        return schema

    def validate(self, input: Json) -> dict[str, Any]:  # noqa: A002  the API's word
        """
        The arguments, typed, with defaults filled in, by the function's own parameter names.

        Strict: `"5"` is no number. JSON has no dates, sets or enums, so those are read from their JSON form, and
        `5` is a fine float. An empty text counts as an empty object: that is what a model sends for no arguments.

        Raises:
            ToolError: category `validation`, for the model: which field, what was expected, a little of what came.
                Whatever a check of the author's own raises ends here too. Its text may hold a secret, so it is shown
                only if it is a `ToolError`, which was written for the model.
        """
        from pydantic import ValidationError

        if isinstance(input, str) and not input:
            input = {}  # noqa: A001
        if not isinstance(input, Mapping):
            raise _invalid(f"Invalid input for {self.tool}: object expected; you sent {_excerpt(input)}.")
        try:
            found = self.model.model_validate_json(encode(checked(input)), strict=True)
        except NotJson as error:
            place = error.path if len(error.path) <= _SHOWN_CHARS else f"{error.path[:_SHOWN_CHARS]}..."
            raise _invalid(f"Invalid input for {self.tool}: {place}: {error.reason[:_SHOWN_REASON_CHARS]}") from None
        except ValidationError as error:
            raise _invalid(self._problems(error)) from None
        except ToolError as error:
            raise _invalid(f"Invalid input for {self.tool}: {error.message}") from error
        except (Exception, SystemExit) as error:
            raise _invalid(f"Invalid input for {self.tool}: a check of it raised {type(error).__name__}.") from error
        return {name: getattr(found, field) for field, name in self.names.items()}

    def bind(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The keyword arguments to call the function with."""
        return {**arguments, **dict.fromkeys(self.context, context)}

    def _problems(self, error: ValidationError) -> str:
        problems = error.errors(include_url=False, include_context=False)
        lines = [f"- {self._problem(problem)}" for problem in problems[:_SHOWN_PROBLEMS]]
        if len(problems) > _SHOWN_PROBLEMS:
            lines.append(f"- and {len(problems) - _SHOWN_PROBLEMS} more")
        return "\n".join([f"Invalid input for {self.tool}:", *lines, "Correct this and call it again."])

    def _problem(self, problem: Mapping[str, Any]) -> str:
        place = ".".join(str(step) for step in problem["loc"])[:_SHOWN_CHARS] or "input"
        match problem["type"]:
            case "missing":
                return f"{place}: required, but missing"
            case "extra_forbidden":
                known = f" (the fields are: {', '.join(self.fields)})" if len(problem["loc"]) == 1 else ""
                return f"{place}: unknown field{known}"[:_SHOWN_REASON_CHARS]
            case "value_error" | "assertion_error":  # the text of a check of the author's own: see `validate`
                return f"{place}: not accepted; you sent {_excerpt(problem.get('input'))}"
            case _:
                reason = str(problem["msg"])[:_SHOWN_REASON_CHARS].removeprefix("Input should be ")
                return f"{place}: expected {reason}; you sent {_excerpt(problem.get('input'))}"


def parameters(signature: Signature, *, strict: bool) -> Parameters:
    """
    Build the input of a tool from its signature.

    Raises:
        InvalidTool: a type that JSON schema, or strict mode, cannot say.
    """
    from pydantic import ConfigDict, PydanticUserError, create_model
    from pydantic.errors import PydanticUndefinedAnnotation
    from pydantic_core import SchemaError

    fields = {f"field_{place}": parameter for place, parameter in enumerate(signature.parameters)}
    names = {field: parameter.name for field, parameter in fields.items()}
    try:
        model = create_model(
            "Input",
            __config__=ConfigDict(extra="forbid"),
            **{field: _field(parameter) for field, parameter in fields.items()},
        )
        schema = model.model_json_schema(schema_generator=_generator())
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError, NameError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidTool(f"tool {signature.name!r}: its parameters have no JSON schema ({reason})") from error
    properties = schema.get("properties", {})
    if len(properties) != len(fields):
        raise InvalidTool(f"tool {signature.name!r}: two parameters share an alias: {', '.join(properties)}")
    for shown, parameter in zip(properties.values(), signature.parameters, strict=True):
        if parameter.description:
            shown.setdefault("description", parameter.description)
    schema = _ordered(schema)
    if strict:
        from relevo.tools.strict import strict_schema

        schema = strict_schema(signature.name, schema)
    return Parameters(
        tool=signature.name,
        model=model,
        names=names,
        fields=tuple(properties),
        context=signature.context,
        schema_json=encode(schema),
    )


def _field(parameter: Parameter) -> Any:
    from pydantic import Field
    from pydantic.fields import FieldInfo

    annotation, default = parameter.annotation, parameter.default
    base, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if default is None and base is not Any:
        # `filters: dict = None` means "or null" to whoever writes it and to the model that reads the default.
        base = Optional[base]  # noqa: UP045  a value, not an annotation; `|` fails on a text
    given = [note for note in (*notes, default) if isinstance(note, FieldInfo)]
    if not any(note.alias or note.validation_alias for note in given):
        notes.append(Field(alias=parameter.name))
    if default is REQUIRED:
        default = ...
    elif default is ...:  # pydantic's word for "required", here a sentinel of the function's own
        default = Field(default_factory=lambda: ...)
    return (Annotated[(base, *notes)] if notes else base, default)


def _generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        # A default that JSON cannot say is the function's own affair; the parameter is optional all the same.
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
            """No titles made from names: they tell the model nothing, and cost."""
            return False

    return Generator


def _ordered(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The top object with its keys in one order and without the titles pydantic makes of class names."""
    ordered: dict[str, Any] = {"type": "object", "properties": schema.get("properties", {})}
    if schema.get("required"):
        ordered["required"] = schema["required"]
    ordered["additionalProperties"] = False
    if definitions := schema.get("$defs"):
        for name, part in definitions.items():
            if part.get("title") == name:
                del part["title"]
        ordered["$defs"] = definitions
    return ordered


def _excerpt(value: Any) -> str:
    """A little of a value, with its JSON type where the text could mislead."""
    try:
        text = encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}... ({len(text)} characters)"


def _invalid(message: str) -> ToolError:
    return ToolError(message, category="validation", code="invalid_input", outcome="not_executed")
