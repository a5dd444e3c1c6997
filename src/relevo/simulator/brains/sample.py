"""The smallest value that fits a JSON schema."""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 20


def sample(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """
    A small value for `schema`: first choices, lower bounds, required properties only.

    Understands what the API's structured outputs allow; patterns and other unusual constraints are not solved.
    """
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target = root
        for step in reference[2:].split("/"):
            target = target.get(step, {}) if isinstance(target, dict) else {}
        return sample(target, root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return sample(schema[key][0], root, depth + 1)
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            fields = schema.get("properties") or {}
            return {name: sample(fields.get(name, {}), root, depth + 1) for name in schema.get("required") or ()}
        case "array":
            return [sample(schema.get("items", {}), root, depth + 1)] * int(schema.get("minItems", 0))
        case "string":
            return _string(schema)
        case "integer" | "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1 if "exclusiveMinimum" in schema else 0)
            return low if "maximum" not in schema else min(low, schema["maximum"])
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return "sample"


def _string(schema: dict[str, Any]) -> str:
    known = {
        "date": "2026-01-01",
        "date-time": "2026-01-01T00:00:00Z",
        "time": "00:00:00Z",
        "email": "someone@example.com",
        "uri": "https://example.com",
        "uuid": "00000000-0000-4000-8000-000000000000",
    }
    text = known.get(schema.get("format", ""), "sample")
    return text.ljust(int(schema.get("minLength", 0)), "x")[: int(schema.get("maxLength", len(text) + 10**6))]
