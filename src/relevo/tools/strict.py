"""
Schemas for `strict: true`, where the API compiles them to a grammar and takes only part of JSON Schema.

What the grammar cannot say moves to the description, where the model may still heed it; we check it anyway.
Source: Claude docs, "Strict tool use" and "Structured outputs", read 2026-08: closed objects only, no recursion, no
bounds on numbers, texts and lists; a request takes 20 strict tools, 24 optional and 16 union parameters in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relevo.content import Json, encode
from relevo.errors import InvalidTool

MAX_STRICT_TOOLS = 20
MAX_OPTIONAL = 24
MAX_UNIONS = 16

_KEPT = frozenset({"type", "description", "title", "enum", "const", "default", "required", "$ref", "anyOf", "allOf"})
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
)


@dataclass(frozen=True, slots=True)
class Complexity:
    """What a schema takes of the limits of one request."""

    optional: int = 0
    unions: int = 0

    def __add__(self, other: Complexity) -> Complexity:
        return Complexity(self.optional + other.optional, self.unions + other.unions)

    def excess(self) -> str:
        """Which limit is broken, in words; empty if none."""
        if self.optional > MAX_OPTIONAL:
            return f"{self.optional} optional parameters, at most {MAX_OPTIONAL} are allowed in strict tools"
        if self.unions > MAX_UNIONS:
            return f"{self.unions} parameters with a union type, at most {MAX_UNIONS} are allowed in strict tools"
        return ""


def strict_schema(tool: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """
    The schema as strict mode takes it.

    Raises:
        InvalidTool: it says something strict mode cannot: an open object, a tuple, any value at all, recursion.
    """
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    for name in definitions:
        if _reaches(name, definitions[name], definitions, frozenset()):
            raise InvalidTool(f"tool {tool!r}: {name} contains itself, which strict mode cannot say")
    closed = _closed(tool, "input", schema)
    if definitions:
        closed["$defs"] = {name: _closed(tool, name, part) for name, part in definitions.items()}
    if excess := complexity(closed).excess():
        raise InvalidTool(f"tool {tool!r} has {excess}")
    return closed


def complexity(schema: Mapping[str, Any]) -> Complexity:
    """Count the optional and the union parameters of a schema and its definitions."""
    total = Complexity()
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    for name, part in properties.items():
        is_union = "anyOf" in part or isinstance(part.get("type"), list)
        total += Complexity(optional=int(name not in required), unions=int(is_union))
    for part in _parts(schema):
        total += complexity(part)
    return total


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas directly inside a schema. Names of properties are never taken for keywords."""
    parts: list[Mapping[str, Any]] = []
    for keyword in ("properties", "$defs"):
        parts += schema.get(keyword, {}).values()
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        parts += schema.get(keyword, ())
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            parts.append(schema[keyword])
    return parts


def _reaches(goal: str, schema: Mapping[str, Any], definitions: Mapping[str, Any], seen: frozenset[str]) -> bool:
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        if name == goal:
            return True
        if name not in seen and _reaches(goal, definitions[name], definitions, seen | {name}):
            return True
    return any(_reaches(goal, part, definitions, seen) for part in _parts(schema))


def _closed(tool: str, place: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    closed: dict[str, Any] = {}
    moved: dict[str, Json] = {}
    kind = schema.get("type")
    if kind is None and not schema.keys() & {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"}:
        raise InvalidTool(f"tool {tool!r}: {place} may be anything, which strict mode cannot say; give it a type")
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                closed["properties"] = {name: _closed(tool, f"{place}.{name}", part) for name, part in value.items()}
            case "items":
                closed["items"] = _closed(tool, f"{place}[]", value)
            case "oneOf" | "anyOf":
                closed["anyOf"] = [_closed(tool, place, part) for part in value]
            case "allOf":
                closed["allOf"] = [_closed(tool, place, part) for part in value]
            case "additionalProperties" | "$defs" | "discriminator":
                continue
            case "prefixItems":
                raise InvalidTool(f"tool {tool!r}: {place} is a tuple, which strict mode cannot say; use a model")
            case "format" if value in _FORMATS:
                closed["format"] = value
            case "minItems" if value in (0, 1):
                closed["minItems"] = value
            case _ if keyword in _KEPT:
                closed[keyword] = value
            case _:
                moved[keyword] = value
    if kind == "object":
        if schema.get("additionalProperties", False) is not False or "properties" not in schema:
            raise InvalidTool(f"tool {tool!r}: {place} is an object with free keys, which strict mode cannot say")
        closed["additionalProperties"] = False
    if moved:
        said = encode(moved).decode()
        closed["description"] = f"{closed['description']}\n\n{said}" if closed.get("description") else said
    return closed
