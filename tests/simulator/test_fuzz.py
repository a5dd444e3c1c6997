"""No request, however strange, makes the simulator stumble."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relevo.simulator import Canned, Simulator
from relevo.simulator.betas import BETAS

from .asking import ask, made, result, text, tool

RICH: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 100,
    "stream": False,
    "system": [text(cache_control={"type": "ephemeral", "ttl": "1h"})],
    "tools": [
        tool(strict=True, input_examples=[{"id": 1}]),
        {"type": "web_search_20260318", "name": "web_search", "max_uses": 3},
        {"type": "mcp_toolset", "mcp_server_name": "files"},
    ],
    "mcp_servers": [{"type": "url", "name": "files", "url": "https://example.com"}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
    "thinking": {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    },
    "output_config": {
        "effort": "high",
        "format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "task_budget": {"type": "tokens", "total": 20000},
    },
    "context_management": {
        "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50000}}]
    },
    "metadata": {"user_id": "u"},
    "container": {"id": "container_1"},
    "stop_sequences": ["x"],
    "cache_control": {"type": "ephemeral"},
    "diagnostics": {"previous_message_id": None},
    "thread": None,
    "fallbacks": None,
    "messages": [
        {"role": "user", "content": [text(), {"type": "image", "source": {"type": "base64", "data": "aGk="}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                text(citations=[{"type": "char_location"}]),
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {
                    "type": "tool_search_tool_result",
                    "tool_use_id": "s1",
                    "content": {"tool_references": [{"tool_name": "x"}]},
                },
                made(caller={"type": "direct"}),
            ],
        },
        {
            "role": "user",
            "content": [
                result(content=[text(), {"type": "tool_reference", "tool_name": "get_order"}]),
                {"type": "document", "source": {"type": "text", "data": "x"}, "citations": {"enabled": True}},
            ],
        },
        {"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "x"}}]},
    ],
}


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, item in inner for path in paths(item, (*at, key)))]


PATHS = [path for path in paths(RICH) if path]
STRANGE: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "text",
    [],
    [None],
    [[]],
    {},
    {"type": None},
    {"type": "text"},
    {"type": []},
    "\ud800",
]


def changed(*changes: tuple[tuple[Any, ...], Any]) -> dict[str, Any]:
    body = copy.deepcopy(RICH)
    for path, value in changes:
        target: Any = body
        try:
            for step in path[:-1]:
                target = target[step]
            target[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return body


async def survives(body: Any, mode: Any = "record") -> None:
    sim = Simulator(Canned(), mode=mode)
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        answer = await ask(sim, body, path=path, betas=",".join(BETAS))
        assert answer.status in (200, 400, 404)
        if answer.outcome.acts is not None:
            assert list(answer.outcome.acts)
    assert not [mistake for mistake in sim.mistakes if "raised" in str(mistake)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
async def test_one_strange_value_anywhere_is_survived(path: tuple[Any, ...]) -> None:
    for value in STRANGE:
        await survives(changed((path, value)))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(STRANGE)), min_size=2, max_size=6))
async def test_several_strange_values_are_survived(changes: list[Any]) -> None:
    await survives(changed(*changes))


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(RICH)), inner, max_size=4),
    )
)
async def test_any_json_is_survived(body: Any) -> None:
    await survives(json.loads(json.dumps(body)))
