from __future__ import annotations

import functools
import inspect
from typing import Annotated, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relevo.errors import InvalidTool
from relevo.tools import ToolContext
from relevo.tools.signature import is_async, read


def plain(a: int, b: str = "x") -> str:
    """Say.

    Args:
        a: the number
    """
    return f"{a}{b}"


async def slow(a: int, b: str = "x") -> str:
    return f"{a}{b}"


class Speaker:
    async def __call__(self, a: int) -> str:
        """Speak."""
        return str(a)

    def method(self, a: int) -> str:
        return str(a)

    async def slow(self, a: int) -> str:
        return str(a)

    @staticmethod
    def static(a: int) -> str:
        return str(a)

    @classmethod
    def cls_method(cls, a: int) -> str:
        return str(a)


def names(function: Any) -> Any:
    return [parameter.name for parameter in read(function, {}).parameters]


@pytest.mark.parametrize(
    ("function", "name", "expected", "awaited"),
    [
        (plain, "plain", ["a", "b"], False),
        (slow, "slow", ["a", "b"], True),
        (functools.partial(plain, b="y"), "plain", ["a"], False),
        (functools.partial(slow, b="y"), "slow", ["a"], True),
        (functools.partial(functools.partial(slow, 1), b="y"), "slow", [], True),
        (Speaker(), "Speaker", ["a"], True),
        (functools.partial(Speaker()), "Speaker", ["a"], True),
        (Speaker().method, "method", ["a"], False),
        (Speaker().slow, "slow", ["a"], True),
        (Speaker.static, "static", ["a"], False),
        (staticmethod(slow), "slow", ["a", "b"], True),
        (Speaker.cls_method, "cls_method", ["a"], False),
    ],
)
def test_b145_whatever_can_be_called_is_read_as_python_would_call_it(
    function: Any, name: Any, expected: Any, awaited: Any
) -> None:
    signature = read(function, {})

    assert signature.name == name
    assert [parameter.name for parameter in signature.parameters] == expected
    assert signature.is_async is awaited
    assert is_async(function) is awaited
    assert all(parameter.annotation in (int, str) for parameter in signature.parameters)


def test_what_a_partial_fills_in_is_neither_the_models_to_set_nor_to_see() -> None:
    def call(query: str, api_key: str) -> Any: ...

    assert names(functools.partial(call, api_key="hush")) == ["query"]


def test_a_decorated_function_is_read_through_its_wrapper() -> None:
    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    assert names(wrapper) == ["a", "b"]
    assert read(wrapper, {}).description == "Say."


def test_the_context_is_found_by_type_whatever_its_name() -> None:
    def do(
        config: str,
        ctx: ToolContext,
        other: ToolContext | None = None,
        third: Annotated[ToolContext | None, "x"] = None,
    ) -> Any: ...

    signature = read(do, {})

    assert signature.context == ("ctx", "other", "third")
    assert [parameter.name for parameter in signature.parameters] == ["config"]


def takes_args(*args: int) -> Any: ...
def takes_kwargs(**kwargs: int) -> Any: ...
def positional(a: int, /) -> Any: ...
def generator(a: int) -> Any:
    yield a


async def agenerator(a: int) -> Any:
    yield a


def unknown(a: Missing) -> Any: ...  # type: ignore[name-defined]  # noqa: F821
def self_method(self, a: int) -> Any: ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (takes_args, "no names the model could fill in"),
        (takes_kwargs, "no names the model could fill in"),
        (positional, "positional-only"),
        (generator, "generator"),
        (agenerator, "generator"),
        (unknown, "annotation of 'a' cannot be resolved"),
        (self_method, r"tool\(instance.self_method\)"),
        (Speaker, "not a function"),
        ("text", "not a function"),
        (dict.get, "positional-only"),
        (max, "signature cannot be read|no names"),
        (print, "no names"),
    ],
)
def test_what_the_model_cannot_call_is_refused_with_the_reason(function: Any, why: Any) -> None:
    with pytest.raises(InvalidTool, match=why):
        read(function, {})


def test_a_parameter_without_annotation_may_be_anything() -> None:
    [parameter] = read(lambda a: a, {}).parameters

    assert parameter.annotation is Any


Order = int


def elsewhere(order: Order) -> None: ...


def test_names_around_the_declaration_do_not_change_what_a_function_from_elsewhere_means() -> None:
    assert read(elsewhere, {"Order": str}).parameters[0].annotation is int


@given(st.text())
@example("::    :param x:")
@example("Args:\n\nArgs:\n x:")
@example("Parameters\n----------\n")
def test_no_docstring_is_a_crash(text: str) -> None:
    def get(key: str) -> None: ...

    get.__doc__ = text

    read(get, {})


def test_the_return_annotation_need_not_exist() -> None:
    def do(a: int) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821

    assert names(do) == ["a"]


def test_a_cell_that_is_still_empty_is_no_crash() -> None:
    def outer() -> Any:
        def do(a: int) -> Any:
            return later

        read_now = names(do)
        later = 1
        return read_now

    assert outer() == ["a"]


GOOGLE = """Look up a customer.

Use it first: nothing else works without it.

Args:
    key: The key: an email
        or a phone number.
    limit (int): How many.
    ctx: Ours.

Returns:
    dict: The customer.

Example:
    key="a@b.c"

Raises:
    KeyError: never
"""
NUMPY = """Look up a customer.

Use it first: nothing else works without it.

Parameters
----------
key : str
    The key: an email
    or a phone number.
limit : int
    How many.

Returns
-------
dict
    The customer.
"""
REST = """Look up a customer.

Use it first: nothing else works without it.

:param key: The key: an email
    or a phone number.
:param int limit: How many.
:returns: The customer.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_b144_a_docstring_gives_the_description_and_one_text_for_each_parameter(text: Any) -> None:
    def get(key: str, limit: int = 5) -> Any: ...

    get.__doc__ = text
    signature = read(get, {})

    assert signature.description.startswith("Look up a customer.\n\nUse it first: nothing else works without it.")
    assert "Returns: The customer." in signature.description
    assert "phone" not in signature.description
    assert [" ".join(parameter.description.split()) for parameter in signature.parameters] == [
        "The key: an email or a phone number.",
        "How many.",
    ]


def test_b144_examples_stay_and_what_it_raises_does_not() -> None:
    def get(key: str) -> Any: ...

    get.__doc__ = GOOGLE

    assert 'Example: key="a@b.c"' in read(get, {}).description
    assert "KeyError" not in read(get, {}).description


def test_a_docstring_nobody_can_parse_is_the_description() -> None:
    def get(key: str) -> Any: ...

    get.__doc__ = "Look up.\n\n:param: broken\n:::"

    assert "Look up." in read(get, {}).description


def test_no_docstring_is_no_description() -> None:
    def get(key: str) -> Any: ...

    assert read(get, {}).description == ""
    assert read(functools.partial(get), {}).description == ""
    assert inspect.getdoc(functools.partial(get))
