"""
JSON Schema, as far as the API looks at it: is it one, may it be enforced, does a value fit.

Small on purpose: the simulator must not need the library that its users test with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
# Source: platform.claude.com/docs structured-outputs, read 2026-12-01.
_NOT_ENFORCED = frozenset({"minimum", "maximum", "multipleOf", "minLength", "maxLength", "maxItems"})
MAX_DEPTH = 60


def faults_of(schema: Any, path: str = "") -> Iterator[str]:
    """Say where `schema` is not JSON Schema (draft 2020-12)."""
    for at, part in walk(schema, path):
        if isinstance(part, bool):
            continue
        if not isinstance(part, dict):
            yield f"{at}: a schema is an object"
            continue
        kinds = part.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if not isinstance(kind, str) or kind not in TYPES:
                yield f"{at}.type: {kind!r} is not a type"
        required = part.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            yield f"{at}.required: must be a list of names"
        if not isinstance(part.get("enum", []), list):
            yield f"{at}.enum: must be a list"
        if not isinstance(part.get("$ref", ""), str):
            yield f"{at}.$ref: must be text"
        yield from (f"{at}.{name}: must be an object" for name in _MAPS if not isinstance(part.get(name, {}), dict))
        yield from (f"{at}.{name}: must be a list" for name in _LISTS if not isinstance(part.get(name, []), list))
        if "pattern" in part:
            try:
                re.compile(part["pattern"])
            except (re.error, TypeError):
                yield f"{at}.pattern: is not a pattern"


def unenforceable(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Say why `schema` cannot be enforced on the model's output."""
    for at, part in walk(schema, path):
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if (kind == "object" or (isinstance(kind, list) and "object" in kind)) and part.get(
            "additionalProperties"
        ) is not False:
            yield f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        for name in sorted(_NOT_ENFORCED & part.keys()):
            yield f"{at}: '{name}' is not supported"
        if part.get("minItems", 0) not in (0, 1):
            yield f"{at}: 'minItems' may be 0 or 1"
        reference = part.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            yield f"{at}: external $ref is not supported"
        if reference == "#":
            yield f"{at}: recursive schemas are not supported"


def optional_count(schema: Mapping[str, Any]) -> int:
    """How many properties, at any depth, may be left out."""
    return sum(
        len(set(part["properties"]) - set(part.get("required") or ()))
        for _, part in walk(schema)
        if isinstance(part, dict) and isinstance(part.get("properties"), dict)
    )


def fits(value: Any, schema: Any, root: Any = None, depth: int = 0) -> bool:
    """Whether `value` is valid; keywords not known here are taken as kept."""
    root = schema if root is None else root
    if isinstance(schema, bool) or not isinstance(schema, dict) or depth > MAX_DEPTH:
        return schema is not False

    def ok(inner: Any, part: Any) -> bool:
        return fits(inner, part, root, depth + 1)

    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/") and not ok(value, _resolve(root, reference)):
        return False
    kinds = schema.get("type")
    if kinds is not None and not any(_is(value, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])):
        return False
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        return False
    if "anyOf" in schema and not any(ok(value, part) for part in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(ok(value, part) for part in schema["oneOf"]) != 1:
        return False
    if not all(ok(value, part) for part in schema.get("allOf", ())):
        return False
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        extra = schema.get("additionalProperties", True)
        return all(name in value for name in schema.get("required") or ()) and all(
            ok(inner, properties.get(name, extra)) for name, inner in value.items()
        )
    if isinstance(value, list):
        return all(ok(inner, schema.get("items", True)) for inner in value)
    if isinstance(value, str):
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def walk(schema: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every schema inside a schema, itself first."""
    yield path, schema
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    for name in _MAPS:
        found = schema.get(name)
        for key, part in found.items() if isinstance(found, dict) else ():
            yield from walk(part, f"{path}.{name}.{key}", depth + 1)
    for name in _LISTS:
        found = schema.get(name)
        for index, part in enumerate(found if isinstance(found, list) else ()):
            yield from walk(part, f"{path}.{name}.{index}", depth + 1)
    for name in _SINGLE:
        if name in schema:
            yield from walk(schema[name], f"{path}.{name}", depth + 1)


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return bool(kind == "boolean")
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES.get(kind, (object,)))


def _resolve(root: Any, reference: str) -> Any:
    for step in reference[2:].split("/"):
        root = root.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(root, dict) else {}
    return root
