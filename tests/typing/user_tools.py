"""What users write with tools, read by mypy and pyright; never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

from relevo.tools import (
    Done,
    NotDone,
    Requires,
    Returned,
    Tool,
    Toolbox,
    ToolContext,
    ToolError,
    Unclear,
    Waiting,
    tool,
)


@tool
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def may_refund(arguments: Mapping[str, Any], context: ToolContext) -> bool | str:
    return f"{arguments['cents']} cents" if arguments["cents"] > 5_000 else False


async def find_refund(arguments: Mapping[str, Any], context: ToolContext) -> Done[str] | NotDone | Unclear:
    return Done("refunded") if context.key else NotDone()


@tool(
    effect="compensable",
    timeout_seconds=None,
    requires=Requires("get_customer", customer_id="customer.id"),
    approve=may_refund,
    reconcile=find_refund,
)
async def refund(customer_id: str, cents: int, context: ToolContext) -> str:
    """Refund."""
    if cents <= 0:
        raise ToolError("cents must be positive", category="validation", outcome="not_executed")
    return context.key


@tool(effect="read")
async def start(name: str) -> Waiting:
    return Waiting({"type": "job", "name": name})


@tool(approve=lambda arguments, context: True)
def shown() -> Returned:
    return Returned("text", data={"a": 1})


class Desk:
    def close(self, ticket: str) -> bool:
        return bool(ticket)


close = tool(Desk().close, name="close_ticket", requires=[Requires("login"), Requires("get", {"ticket": "id"})])


async def use() -> None:
    assert_type(add(1), int)
    assert_type(add(a=1, b=2), int)
    assert_type(close("t"), bool)
    assert_type(await refund("c", 1, ToolContext(session_id="s", call_id="c")), str)
    assert_type(await start("x"), Waiting)
    assert_type(shown(), Returned)
    assert_type(add.definition_sha256, str)
    tools: list[Tool[..., Any]] = [add, refund, start, shown, close]
    assert_type(Toolbox(tools).find("add"), Tool[..., Any])
    Toolbox([add, refund])

    add("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    add()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    tool(effect="write")(add.function)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    add.effect = "read"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
