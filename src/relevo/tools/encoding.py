"""
One table that says how each Python value becomes JSON: the same value, the same JSON, in every process.

    None, bool, int, finite float, str   themselves; lone surrogates become U+FFFD
    Enum                                 its value
    datetime, date, time                 ISO 8601; a datetime without a zone says so
    timedelta                            ISO 8601 in seconds: "PT90.5S"
    Decimal, UUID, Path                  text
    bytes, bytearray, memoryview         base64
    dict, any Mapping                    object; keys as the text of their JSON
    list, tuple, deque, range            array
    named tuple, dataclass               object of its fields, those with default values too
    pydantic model or dataclass          as it writes itself as JSON, by alias
    set, frozenset                       array, sorted
    all else, NaN, infinity, cycles      refused
    more than `MAX_NODES` values         refused
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from relevo.content import MAX_DEPTH, Json, canonical, clean, encode
from relevo.errors import NotJson

NO_ZONE = " (no time zone)"

MAX_NODES = 200_000
"""Values inside a value, keys too. Larger ones are refused: reading one would stop the whole event loop for seconds."""


def to_json(value: Any) -> Json:
    """
    The value as JSON, by the table.

    Raises:
        NotJson: with the path of the first value the table does not know.
    """
    try:
        return _Walk().json(value, "$", 0)
    except NotJson:
        raise
    except Exception as error:  # a property or serialiser of the value's own
        raise NotJson("$", f"raised {type(error).__name__} when it was read") from error


class _Walk:
    """One walk through one value, which counts what it meets."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def json(self, value: Any, path: str, depth: int) -> Json:
        self._left -= 1
        if self._left < 0:
            raise NotJson("$", f"more than {MAX_NODES} values; return a part of it")
        if isinstance(value, Enum):
            return self.json(value.value, path, depth)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return clean(str.__str__(value))
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return _finite(float(value), value, path)
        if (text := _text(value, path)) is not None:
            return text
        if depth >= MAX_DEPTH:
            raise NotJson(_short(path), f"nested more than {MAX_DEPTH} deep, or cyclic")
        return self._container(value, path, depth + 1)

    def _container(self, value: Any, path: str, depth: int) -> Json:
        serializer = getattr(type(value), "__pydantic_serializer__", None)
        if serializer is not None:
            # A model's own JSON form, whatever its author made of it; then looked through again: NaN may hide in it.
            own = serializer.to_python(value, mode="json", by_alias=True, warnings=False)
            return self.json(own, path, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif isinstance(value, tuple) and (as_dict := getattr(value, "_asdict", None)) is not None:
            value = as_dict()
        if isinstance(value, Mapping):
            return self._object(value, path, depth)
        if isinstance(value, AbstractSet):
            return sorted((self.json(item, f"{path}[]", depth) for item in value), key=canonical)
        if isinstance(value, Sequence | ValuesView):
            return [self.json(item, f"{path}[{index}]", depth) for index, item in enumerate(value)]
        raise NotJson(_short(path), f"{type(value).__name__} is not JSON")

    def _object(self, value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Json]:
        shown: dict[str, Json] = {}
        for key, item in value.items():
            name = self.json(key, path, depth)
            if isinstance(name, list | dict):
                raise NotJson(_short(path), f"a key is {type(key).__name__}, which has no text")
            text = name if isinstance(name, str) else encode(name).decode()
            if text in shown:
                raise NotJson(_short(path), f"two keys are both {_short(text)!r} as JSON")
            shown[text] = self.json(item, f"{path}.{text}", depth)
        return shown


def _finite(number: Any, value: Any, path: str) -> Any:
    if not math.isfinite(value):
        raise NotJson(_short(path), f"{value} is not JSON")
    return number


def _text(value: Any, path: str) -> str | None:
    match value:
        case datetime():
            return value.isoformat() + ("" if value.tzinfo is not None else NO_ZONE)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"PT{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "S"
        case Decimal():
            return str(_finite(str(value), value, path))
        case UUID():
            return str(value)
        case PurePath():
            return clean(str(value))
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(value)).decode()
        case _:
            return None


def _short(path: str) -> str:
    return path if len(path) <= 100 else f"{path[:100]}..."
