from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from relevo.errors import ToolError
from relevo.tools import Failed, ToolContext, tool
from relevo.tools.failure import failure_of, fate, timed_out

CONTEXT = ToolContext(session_id="sesn_1", call_id="sevt_9.0", identity={"token": "hush"})


def act() -> Any: ...


READ = tool(act, name="look", effect="read")
PAY = tool(act, name="pay")


async def awaited() -> Any: ...


TRANSACTION = tool(awaited, effect="transactional")


def of(error: Any, declared: Any = PAY) -> Any:
    return failure_of(error, declared, CONTEXT)


def test_a_tools_own_error_is_carried_unchanged() -> None:
    error = ToolError("No such order.", category="business", code="no_order", outcome="not_executed", partial=[1])

    assert of(error) == Failed(
        message="No such order.", category="business", code="no_order", outcome="not_executed", partial=[1]
    )


def test_a_tools_own_error_says_something_and_not_too_much_whatever_it_holds() -> None:
    assert of(ToolError("  ")).message == "pay failed."
    assert of(ToolError("\ud83d")).message == "�"
    assert len(of(ToolError("x" * 1_000_000)).message) == 4_000
    assert of(ToolError("m", partial=object())).partial == "(could not be encoded: $: object is not JSON)"


@pytest.mark.parametrize(
    "error", [KeyError("hush"), ValueError(), RuntimeError("hush"), SystemExit(3), RecursionError()]
)
def test_b173_b266_an_unforeseen_exception_shows_its_type_and_a_reference_and_nothing_else(
    error: Any, caplog: Any
) -> None:
    with caplog.at_level(logging.INFO):
        ending = of(error)

    assert ending.message == f"pay failed unexpectedly: {type(error).__name__} (reference sevt_9.0)."
    assert (ending.category, ending.outcome, ending.retryable) == ("internal", "unknown", False)
    assert (
        f"action=tool.raised session=sesn_1 call=sevt_9.0 tool=pay attempt=1 error={type(error).__name__} at="
        in caplog.text
    )
    assert "hush" not in ending.content + caplog.text


def test_the_place_in_the_code_is_logged_and_the_text_only_at_debug(caplog: Any) -> None:
    try:
        dict[str, int]()["the key"]
    except KeyError as raised:
        error = raised

    with caplog.at_level(logging.DEBUG):
        of(error)

    assert f"at={__file__}:" in caplog.messages[0]
    assert "the key" not in caplog.messages[0]
    assert "the key" in caplog.text


def test_a_read_that_failed_did_nothing_and_a_transaction_was_rolled_back() -> None:
    assert of(KeyError("x"), READ).outcome == "failed"
    assert fate(TRANSACTION) == "failed"
    assert {fate(tool(act, effect=effect)) for effect in ("idempotent", "compensable", "irreversible")} == {"unknown"}


def test_tutorial_6_1_transient_is_told_by_type_and_only_a_read_may_be_repeated() -> None:
    assert of(TimeoutError(), READ).category == "transient"
    assert of(ConnectionResetError(), READ).retryable
    assert not of(ConnectionResetError(), PAY).retryable
    assert of(RuntimeError("timeout, connection reset, 503"), READ).category == "internal"


def test_tutorial_9_1_a_time_out_of_an_effect_is_unknown_and_not_to_be_repeated() -> None:
    effect, read = timed_out(PAY, 60, began=True), timed_out(READ, 60, began=True)

    assert (effect.category, effect.outcome, effect.retryable) == ("transient", "unknown", False)
    assert (read.category, read.outcome, read.retryable) == ("transient", "failed", True)
    assert "within 60 seconds" in effect.content


def test_what_never_began_may_be_repeated_whatever_it_is() -> None:
    ending = timed_out(PAY, 0.5, began=False)

    assert (ending.outcome, ending.retryable) == ("not_executed", True)


class TestGroups:
    def test_b166_a_group_is_judged_by_its_leaves(self) -> None:
        error = ToolError("No such order.", code="no_order")

        assert of(ExceptionGroup("g", [ExceptionGroup("h", [error])])).code == "no_order"
        assert (
            of(ExceptionGroup("g", [ExceptionGroup("h", [ConnectionError()]), TimeoutError()])).category == "transient"
        )
        assert (
            of(ExceptionGroup("g", [KeyError(), ValueError(), KeyError()])).message.count("KeyError, ValueError (") == 1
        )

    def test_b166_cancelled_siblings_say_nothing(self) -> None:
        error = ToolError("m", code="x")

        assert of(BaseExceptionGroup("g", [asyncio.CancelledError(), error])).code == "x"

    def test_a_bug_among_tool_errors_is_a_bug(self) -> None:
        assert of(ExceptionGroup("g", [ToolError("m"), KeyError()])).category == "internal"

    def test_several_tool_errors_are_one_and_the_worst_outcome_counts(self) -> None:
        ending = of(
            ExceptionGroup(
                "g",
                [
                    ToolError("one", code="x", retryable=True, outcome="not_executed"),
                    ToolError("two", outcome="unknown"),
                    ToolError("one", outcome="failed"),
                ],
            )
        )

        assert (ending.message, ending.code, ending.retryable, ending.outcome) == ("one\ntwo", "x", False, "unknown")

    def test_b166_a_group_with_a_keyboard_interrupt_is_re_raised(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            of(BaseExceptionGroup("g", [ValueError(), BaseExceptionGroup("h", [KeyboardInterrupt()])]))


def test_b170_a_tool_that_cancels_itself_has_failed() -> None:
    assert of(asyncio.CancelledError()).message.startswith("pay failed unexpectedly: CancelledError")
