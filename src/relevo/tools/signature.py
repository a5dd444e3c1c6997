"""
What a callable says about itself: its parameters, their types and docs, and whether it is awaited.

Whatever can be called is read as Python would call it: functions, partials, bound methods, static methods, objects
with a (possibly async) `__call__`, decorated functions.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from relevo.errors import InvalidTool
from relevo.tools.context import ToolContext
from relevo.tools.typed_dicts import readable

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing the model fills in."""

    name: str
    annotation: Any
    """Resolved; `Any` when there is none."""
    default: Any
    """`REQUIRED` when there is none."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """A callable, read."""

    name: str
    description: str
    """The docstring without its parameter section."""
    parameters: tuple[Parameter, ...]
    context: tuple[str, ...]
    """The parameters that take the `ToolContext`."""
    is_async: bool


def read(function: Callable[..., Any], local_names: Mapping[str, Any]) -> Signature:
    """
    Read a callable. `local_names` are the names where it is declared, for annotations that are text.

    Raises:
        InvalidTool: it cannot be called with an object of named arguments, or an annotation means nothing here.
    """
    if not callable(function) or inspect.isclass(function):
        raise InvalidTool(f"{function!r} is not a function; a tool is declared from something to call")
    plain = _plain(function)
    name = _name(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise InvalidTool(f"tool {name!r} is a generator; return one value")
    try:
        found = inspect.signature(function).parameters
    except (ValueError, TypeError, NameError) as error:
        raise InvalidTool(f"tool {name!r}: its signature cannot be read ({error})") from error
    hidden = _filled(function)
    wanted = [parameter for parameter in found.values() if parameter.name not in hidden]
    for place, parameter in enumerate(wanted):
        _check_kind(name, parameter, place)
    hints = _hints(name, plain, wanted, local_names)
    summary, docs = _documentation(inspect.getdoc(plain) or "")
    context = tuple(parameter.name for parameter in wanted if _is_context(hints[parameter.name]))
    return Signature(
        name=name,
        description=summary,
        parameters=tuple(
            Parameter(parameter.name, hints[parameter.name], parameter.default, docs.get(parameter.name, ""))
            for parameter in wanted
            if parameter.name not in context
        ),
        context=context,
        is_async=is_async(function),
    )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine for sure. A sync wrapper of an async function is found out when it runs."""
    while isinstance(function, functools.partial | staticmethod):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    if inspect.isroutine(function):
        return inspect.iscoroutinefunction(function)
    return inspect.iscoroutinefunction(type(function).__call__)


def _plain(function: Any) -> Any:
    """The `def` behind it all: the home of names, docs and annotations."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, staticmethod) or inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and not inspect.isclass(function):
            function = type(function).__call__
        else:
            return function


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _filled(function: Any) -> set[str]:
    """What a partial already fills in by keyword: not the model's to set, nor its value to show."""
    filled: set[str] = set()
    while isinstance(function, functools.partial):
        filled |= set(function.keywords)
        function = function.func
    return filled


def _check_kind(tool: str, parameter: inspect.Parameter, place: int) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise InvalidTool(f"tool {tool!r}: {parameter} has no names the model could fill in; name the parameters")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise InvalidTool(f"tool {tool!r}: {parameter.name!r} is positional-only; the model gives arguments by name")
    if place == 0 and parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
        raise InvalidTool(f"tool {tool!r} looks like a method of a class; declare the bound one: tool(instance.{tool})")


def _hints(tool: str, plain: Any, wanted: list[inspect.Parameter], local_names: Mapping[str, Any]) -> dict[str, Any]:
    """Annotations as types, text or not. The return type is never read: it need not exist at run time."""
    globals_: dict[str, Any] = getattr(plain, "__globals__", {})
    # Names around the declaration mean something to a function born there; one from elsewhere brings its own.
    born_here = "<locals>" in getattr(plain, "__qualname__", "")
    space = {**globals_, **local_names} if born_here else {**local_names, **globals_}
    space |= _closure(plain)
    hints: dict[str, Any] = {}
    for parameter in wanted:
        if parameter.annotation is parameter.empty:
            hints[parameter.name] = Any
            continue
        holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
        try:
            found = typing.get_type_hints(holder, globalns=space, localns=space, include_extras=True)
            hints[parameter.name] = readable(found[parameter.name], space)
        except InvalidTool:
            raise
        except Exception as error:
            raise InvalidTool(
                f"tool {tool!r}: the annotation of {parameter.name!r} cannot be resolved ({error}); "
                "import or define what it names before the tool is declared"
            ) from error
    return hints


def _closure(plain: Any) -> dict[str, Any]:
    names: dict[str, Any] = {}
    free = getattr(getattr(plain, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(plain, "__closure__", None) or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names


def _is_context(hint: Any) -> bool:
    if hint is ToolContext:
        return True
    if get_origin(hint) in (Annotated, Union, UnionType):
        return any(_is_context(part) for part in get_args(hint))
    return False


def _documentation(text: str) -> tuple[str, dict[str, str]]:
    """A docstring as the tool's description and one text for each parameter; Google, NumPy, reST and epydoc style."""
    import docstring_parser

    try:
        doc = docstring_parser.parse(text)
    except Exception:  # noqa: BLE001  it trips over odd texts with errors of every kind
        return text.strip(), {}
    parts = [doc.short_description, doc.long_description]
    parts += [f"Example: {example.description}" for example in doc.examples if example.description]
    if doc.returns is not None and doc.returns.description:
        parts.append(f"Returns: {doc.returns.description}")
    description = "\n\n".join(part.strip() for part in parts if part and part.strip())
    return description, {param.arg_name: (param.description or "").strip() for param in doc.params}


def renamed(signature: Signature, *, name: str | None, description: str | None) -> Signature:
    """The same with what the declaration says over it."""
    return replace(
        signature,
        name=signature.name if name is None else name,
        description=signature.description if description is None else description.strip(),
    )
