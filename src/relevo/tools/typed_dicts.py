"""
`typing.TypedDict` for pydantic, which takes only the one of `typing_extensions` before Python 3.12.

Delete this file with the support of Python 3.11.
"""

from __future__ import annotations

import functools
import operator
import sys
import typing
from collections.abc import Mapping
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, get_args, get_origin

from relevo.errors import InvalidTool


def readable(hint: Any, names: Mapping[str, Any]) -> Any:
    """The same type with each `typing.TypedDict` in it replaced by its twin; `names` resolve what is text in them."""
    return _readable(hint, names, ()) if sys.version_info < (3, 12) else hint


def _readable(hint: Any, names: Mapping[str, Any], inside: tuple[Any, ...]) -> Any:
    if isinstance(hint, type) and type(hint).__name__ == "_TypedDictMeta" and type(hint).__module__ == "typing":
        return _twin(hint, names, inside)
    origin, args = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal or not args:
        return hint
    if origin is Annotated:
        inner = _readable(args[0], names, inside)
        return hint if inner is args[0] else Annotated[(inner, *args[1:])]
    new = tuple(_readable(arg, names, inside) for arg in args)
    if all(a is b for a, b in zip(new, args, strict=True)):
        return hint
    if isinstance(hint, UnionType):
        return functools.reduce(operator.or_, new)
    return GenericAlias(origin, new) if isinstance(hint, GenericAlias) else hint.copy_with(new)


def _twin(hint: Any, names: Mapping[str, Any], inside: tuple[Any, ...]) -> Any:
    import typing_extensions

    if hint in inside:
        raise InvalidTool(f"{hint.__name__} contains itself; take it from typing_extensions, or use a model")
    try:
        found = typing.get_type_hints(hint, include_extras=True)
    except NameError:
        found = typing.get_type_hints(hint, localns=dict(names), include_extras=True)
    keys: dict[str, Any] = {}
    for key, each in found.items():
        new = _readable(each, names, (*inside, hint))
        if get_origin(each) not in (Required, NotRequired):
            new = NotRequired[new] if key in hint.__optional_keys__ else Required[new]
        keys[key] = new
    make: Any = typing_extensions.TypedDict
    twin = make(hint.__name__, keys)
    twin.__doc__, twin.__module__, twin.__qualname__ = hint.__doc__, hint.__module__, hint.__qualname__
    return twin
