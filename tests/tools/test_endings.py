from __future__ import annotations

from relevo.errors import ToolError
from relevo.tools import Done, Failed
from relevo.tools.endings import failed


def test_a_tools_own_error_is_carried_unchanged() -> None:
    error = ToolError("no", category="permission", retryable=True, code="x", outcome="unknown", partial={"a": 1})

    assert failed(error) == Failed(
        message="no", category="permission", retryable=True, code="x", outcome="unknown", partial={"a": 1}
    )


def test_the_model_learns_what_became_of_the_effect() -> None:
    assert Failed(message="m", category="business").content == "m"
    assert "Nothing was executed" in Failed(message="m", category="business", outcome="not_executed").content
    assert "unknown whether it took effect" in Failed(message="m", category="business", outcome="unknown").content
    assert "do not repeat" in Failed(message="m", category="internal", outcome="executed").content


def test_the_model_learns_what_was_achieved_and_whether_a_repeat_may_help() -> None:
    content = Failed(message="m", category="transient", retryable=True, partial=["x" * 10_000]).content

    assert content.startswith('m\nAchieved before the failure: ["xxx')
    assert content.endswith("The same call may succeed later.")
    assert len(content) < 5_000


def test_the_record_is_what_the_log_keeps() -> None:
    assert Failed(message="m", category="business", code="c").record() == {
        "category": "business",
        "code": "c",
        "retryable": False,
        "outcome": "failed",
        "partial": None,
        "retry_after_seconds": None,
    }


def test_done_may_be_written_with_its_type() -> None:
    assert Done[int](1) == Done(1)
