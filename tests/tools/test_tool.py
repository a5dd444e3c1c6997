from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import relevo.tools
from relevo.content import encode
from relevo.errors import InvalidTool
from relevo.tools import Requires, Tool, ToolContext, tool
from relevo.tools.effects import Recovery

CONTEXT = ToolContext(session_id="sesn_1", call_id="c1")


def refund(order_id: str, cents: int = 1) -> str:
    """Pay an order back."""
    return f"{order_id}:{cents}"


def test_a_bare_declaration_takes_the_honest_defaults() -> None:
    declared = tool(refund)

    assert (declared.name, declared.description) == ("refund", "Pay an order back.")
    assert declared.effect == "irreversible"
    assert declared.timeout_seconds == 60
    assert declared.max_result_chars == 100_000
    assert declared.recovery is Recovery.NEVER
    assert not declared.parallel
    assert declared.approval_reason({}, CONTEXT) is None


def test_a_declared_tool_is_still_the_function() -> None:
    assert tool(refund)("o1", cents=2) == "o1:2"
    assert tool(effect="read")(refund)("o1") == "o1:1"


def test_only_reads_run_side_by_side() -> None:
    assert tool(refund, effect="read").parallel
    assert not any(tool(refund, effect=effect).parallel for effect in ("idempotent", "compensable", "irreversible"))


def test_name_and_description_may_be_given() -> None:
    declared = tool(refund, name="pay_back", description="  Pays. ")

    assert (declared.name, declared.description) == ("pay_back", "Pays.")
    with pytest.raises(Exception, match="Invalid input for pay_back"):
        declared.validate({})


def test_a_definition_has_its_keys_in_one_order_and_only_what_is_said() -> None:
    full = tool(refund, strict=True, examples=[{"order_id": "o1"}])

    assert list(full.definition()) == ["name", "description", "input_schema", "strict", "input_examples"]
    assert list(tool(lambda: None, name="x").definition()) == ["name", "input_schema"]
    assert encode(full.definition()) == encode(full.definition())


def test_the_hash_moves_with_the_definition_and_with_nothing_else() -> None:
    first = tool(refund)

    assert first.definition_sha256 == tool(refund, effect="read", timeout_seconds=5).definition_sha256
    assert first.definition_sha256 != tool(refund, description="Other.").definition_sha256
    assert first.definition_sha256 != tool(refund, strict=True).definition_sha256


def test_b097_definitions_are_the_same_bytes_in_every_process() -> None:
    script = (
        "import enum\nfrom relevo.tools import tool\n"
        "E = enum.Enum('E', ['a', 'b', 'c'])\n"
        "@tool\ndef do(a: E, b: set[E], c: dict[str, E] = {}): 'Do.'\n"
        "print(do.definition_sha256)"
    )
    source = str(Path(relevo.tools.__file__).parents[2])
    hashes = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": source},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"effect": "write"}, "unknown effect 'write'; one of read"),
        ({"effect": "transactional"}, "must be async"),
        ({"timeout_seconds": 0}, "None is no limit"),
        ({"timeout_seconds": -1}, "None is no limit"),
        ({"timeout_seconds": float("nan")}, "None is no limit"),
        ({"max_result_chars": 0}, "under 300"),
        ({"name": "a.b"}, "give another with name="),
        ({"approve": "yes"}, "approve is 'yes'"),
        ({"requires": Requires("get", customer="id")}, "'customer', which is not in its input"),
        ({"examples": [{"cents": 1}]}, "an example is not a valid input.*order_id: required"),
        ({"examples": [{"order_id": object()}]}, "an example is not"),
    ],
)
def test_a_tool_declared_wrongly_is_refused_at_once(options: Any, why: Any) -> None:
    with pytest.raises(InvalidTool, match=f"(?s){why}"):
        tool(refund, **options)


def test_a_tool_cannot_be_declared_twice() -> None:
    with pytest.raises(InvalidTool, match="a tool already"):
        tool(tool(refund))


def test_a_function_without_a_name_needs_one() -> None:
    with pytest.raises(InvalidTool, match="give another with name="):
        tool(lambda: None)


def test_what_is_required_may_be_one_or_many() -> None:
    one = Requires("get", order_id="id")

    assert tool(refund, requires=one).requires == (one,)
    assert tool(refund, requires=[one, Requires("login")]).requires == (one, Requires("login"))


def test_a_tool_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        tool(refund).effect = "read"  # type: ignore[misc]


def test_an_async_approval_rule_is_refused() -> None:
    async def rule(arguments: Any, context: Any) -> Any:
        return True

    with pytest.raises(InvalidTool, match="must not be async"):
        tool(refund, approve=rule)  # type: ignore[arg-type]


def raises(arguments: Any, context: Any) -> Any:
    raise KeyError("hush")


@pytest.mark.parametrize(
    ("approve", "reason"),
    [
        (None, None),
        (False, None),
        (True, "refund always needs approval"),
        (lambda arguments, context: False, None),
        (lambda arguments, context: arguments["cents"] > 100, "refund needs approval"),
        (lambda arguments, context: f"{arguments['cents']} cents to {context.identity['user']}", "200 cents to u1"),
        (lambda arguments, context: "", "refund needs approval"),
        (lambda arguments, context: "  ", "refund gave no decision"),
        (lambda arguments, context: None, "refund gave no decision"),
        (lambda arguments, context: 0, "refund gave no decision"),
        (lambda arguments, context: [], "refund gave no decision"),
        (raises, "the approval rule of refund failed (KeyError)"),
    ],
)
def test_b184_an_approval_rule_fails_closed(approve: Any, reason: Any) -> None:
    declared = tool(refund, approve=approve)
    context = ToolContext(session_id="s", call_id="c", identity={"user": "u1"})

    found = declared.approval_reason(declared.validate({"order_id": "o", "cents": 200}), context)

    assert (found is None) == (reason is None)
    assert reason is None or str(found).endswith(reason)
    assert "hush" not in str(found)


def test_static_methods_may_be_declared_in_either_order() -> None:
    class Desk:
        @staticmethod
        @tool
        def inner(a: int) -> int:
            return a

        @tool
        @staticmethod
        def outer(a: int) -> int:
            return a

    assert isinstance(Desk.inner, Tool)
    assert Desk.inner(1) == Desk.outer(1) == 1
    assert Desk.inner.input_schema == Desk.outer.input_schema


def test_importing_the_room_loads_no_heavy_library() -> None:
    source = str(Path(relevo.tools.__file__).parents[2])
    script = (
        "import sys, relevo.tools, relevo.tools.pipeline\n"
        "print([name for name in ('pydantic', 'docstring_parser', 'anthropic') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": source}, check=True, capture_output=True, text=True
    )

    assert done.stdout.strip() == "[]"


def test_what_the_room_exports_is_listed() -> None:
    assert set(relevo.tools.__all__) == {
        "Degraded", "Done", "Ending", "Failed", "NotDone", "Requires", "Returned", "Tool", "ToolContext", "ToolError",
        "Toolbox", "Unclear", "Waiting", "tool",
    }  # fmt: skip
    assert all(hasattr(relevo.tools, name) for name in relevo.tools.__all__)
