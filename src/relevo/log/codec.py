"""
Bodies as bytes and back: the one place in the log where JSON is spoken.

A body is stored as its fields, under their own names; a field whose default is None or (), and that still is, is left
out. The rules for what another version of this program wrote:

- a kind or a version that is not known here becomes `Unknown`, with its data, and is written back as the same data;
- an older version is lifted (see upcast.py);
- a field that is not known, in a version that is, is passed over: whoever adds a field that older programs must not
  ignore raises the version. The stored bytes keep it.

Bodies were checked at the door (`content.checked`), so encoding takes the fast path and asks no questions; only when
that fails, or when there are enough brackets that a value may be too deep to be read again, is the body walked. Keys
that are numbers become texts, as `json` does it: only the door refuses them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, NamedTuple, get_args

from relevo import content
from relevo.content import MAX_DEPTH, Json
from relevo.errors import InvalidValue, NotJson
from relevo.events import Body, Unknown
from relevo.log.upcast import UPCASTS, Upcasts


class Stored(NamedTuple):
    """A body as a log keeps it."""

    kind: str
    version: int
    data: bytes
    """Compact UTF-8 JSON."""


class _Shape:
    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls
        self.kind: str = cls.kind
        self.names = tuple(one.name for one in fields(cls))
        self.required = tuple(
            one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING
        )
        self.empty = {one.name: one.default for one in fields(cls) if one.default is None or one.default == ()}
        self.values = _values_getter(self.names)


def _values_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda body: (get(body),)


_SHAPES = {cls: _Shape(cls) for cls in get_args(Body) if cls is not Unknown}
_BY_KIND = {shape.kind: shape for shape in _SHAPES.values()}


def encode(body: Body, *, upcasts: Upcasts = UPCASTS) -> Stored:
    """
    The stored form of a body. Lone surrogates are cleaned, mappings and tuples become objects and arrays.

    Raises:
        NotJson: with the path of a value that JSON cannot say, or that is nested too deeply to be read again.
        InvalidValue: not a body, or an `Unknown` of a kind and version that this program does know.
    """
    shape = _SHAPES.get(type(body))
    if shape is not None:
        pairs = zip(shape.names, shape.values(body), strict=True)
        empty = shape.empty
        data = {name: value for name, value in pairs if name not in empty or value is not empty[name]}
        return Stored(shape.kind, upcasts.current(shape.kind), _bytes(data))
    if not isinstance(body, Unknown):
        raise InvalidValue(f"{body!r} is not an event body")
    if body.unknown_kind in _BY_KIND and body.version <= upcasts.current(body.unknown_kind):
        raise InvalidValue(f"version {body.version} of {body.unknown_kind} is known here: use its own class")
    return Stored(body.unknown_kind, body.version, _bytes(body.data))


def decode(kind: str, version: int, data: bytes, *, upcasts: Upcasts = UPCASTS) -> Body:
    """
    The body that was stored. Arrays come back as lists.

    Raises:
        ValueError: the bytes are not what any version wrote. The log knows where they stood and says so.
    """
    value = _parsed(data)
    shape = _BY_KIND.get(kind)
    if shape is None or version > upcasts.current(kind):
        return Unknown(unknown_kind=kind, version=version, data=value)
    if type(value) is not dict or version < 1:
        raise ValueError(f"not version {version} of {kind}")
    if version < upcasts.current(kind):
        value = upcasts.lift(kind, version, value)
    try:
        body: Body = shape.cls(**value)
    except TypeError:
        missing = [name for name in shape.required if name not in value]
        if missing:
            raise ValueError(f"{kind} without {', '.join(missing)}") from None
        body = shape.cls(**{name: value[name] for name in shape.names if name in value})
    return body


def _bytes(value: Json) -> bytes:
    try:
        data = content.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _bytes_of_checked(value)
    # A decoder on a deep stack has less room than the encoder had: what cannot be read again must not be written.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        _checked(value)
    return data


def _bytes_of_checked(value: Json) -> bytes:
    safe = _checked(value)
    try:
        return content.encode(safe)
    except ValueError as error:  # an integer with more digits than Python converts
        raise NotJson("$", str(error)) from error


def _checked(value: Json) -> Json:
    """Field by field, since that is how the door checked: the object around the fields is ours and adds no depth."""
    if type(value) is not dict:
        return content.checked(value)
    safe: dict[str, Json] = {}
    for name, item in value.items():
        try:
            safe[name] = content.checked(item)
        except NotJson as error:
            raise NotJson(f"$.{name}{error.path[1:]}", error.reason) from None
    return safe


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# Made once, and without the Python frames of `decode`: `json.loads` with an option builds a decoder for every call.
_scan = json.JSONDecoder(parse_constant=_refuse_constant).scan_once  # type: ignore[attr-defined]  # not in typeshed


def _parsed(data: bytes) -> Json:
    text = data.decode()
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if end != len(text):
        raise ValueError(f"{len(text) - end} characters after the value")
    return value
