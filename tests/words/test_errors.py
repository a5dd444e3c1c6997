"""One tree of errors, drawn at its top."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from relevo import errors
from relevo.errors import InvalidRequest, InvalidValue, LeaseLost, LogMoved, ModelError, NotJson, RelevoError, ToolError

ALL = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, RelevoError)}


def test_the_tree_that_is_drawn_is_the_tree_that_is() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ([│├└─ ]*)([A-Z]\w+)", line)
        if found:
            depth = len(found.group(1)) // 4
            path[depth:] = [found.group(2)]
            drawn[found.group(2)] = path[depth - 1] if depth else "Exception"

    assert drawn == {name: kind.__bases__[0].__name__ for name, kind in ALL.items()}


def test_a_wrong_value_is_a_ValueError_too() -> None:
    assert issubclass(InvalidValue, ValueError)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (NotJson("$.a[0]", "set is not JSON"), ["$.a[0]", "set"]),
        (LogMoved("sesn_1", expected=3, actual=5), ["'sesn_1'", "3", "5"]),
        (LeaseLost("sesn_1", epoch=1, newest=2), ["'sesn_1'", "1", "2"]),
        (InvalidRequest(("one", "two")), ["one", "two"]),
        (ModelError("529 overloaded", status=529), ["529 overloaded"]),
    ],
)
def test_a_message_holds_the_values(error: RelevoError, shown: list[str]) -> None:
    assert all(part in str(error) for part in shown)


def test_errors_carry_their_data() -> None:
    moved, lost = LogMoved("s", expected=3, actual=5), LeaseLost("s", epoch=1, newest=2)

    assert (moved.expected, moved.actual, lost.epoch, lost.newest) == (3, 5, 1, 2)
    assert (NotJson("$", "no").path, NotJson("$", "no").reason) == ("$", "no")
    assert InvalidRequest(("a",)).violations == ("a",)


@pytest.mark.parametrize(
    "wrong", [{"category": "sad"}, {"outcome": "maybe"}, {"category": None}, {"outcome": "executed"}]
)
def test_tutorial_6_2_a_tools_failure_is_classed_by_known_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        ToolError("broken", **wrong)


def test_a_tools_failure_says_what_may_help() -> None:
    error = ToolError(
        "too much", category="validation", retryable=True, code="c", outcome="unknown", partial={"done": 1}
    )

    assert (error.message, error.category, error.retryable, error.code, error.outcome, error.partial) == (
        "too much",
        "validation",
        True,
        "c",
        "unknown",
        {"done": 1},
    )
    assert ToolError("x").outcome == "failed"
