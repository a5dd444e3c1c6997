from __future__ import annotations

import dataclasses

import pytest

from relevo.tools import ToolContext


def test_a_tool_cannot_change_who_speaks() -> None:
    identity = {"user": "u1", "roles": ["agent"]}
    context = ToolContext(session_id="sesn_1", call_id="c", identity=identity)

    with pytest.raises(TypeError):
        context.identity["user"] = "u2"  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.identity = {}  # type: ignore[misc]
    context.identity["roles"].append("admin")
    assert identity == {"user": "u1", "roles": ["agent"]}


def test_b266_what_may_be_private_is_not_in_the_repr() -> None:
    context = ToolContext(
        session_id="sesn_1", call_id="c", identity={"token": "hush"}, metadata={"k": "hush"}, transaction="hush"
    )

    assert "hush" not in repr(context)
