"""Requests as bytes, and where the cache marks stand."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import encode
from relevo.errors import InvalidValue
from relevo.model.request import MAX_CACHE_MARKS, Request, build
from relevo.model.settings import Settings

USER = b'{"role":"user","content":"Hi"}'
MARKS = st.sampled_from([None, "5m", "1h"])


def mark(lifetime: str | None) -> dict[str, Any]:
    match lifetime:
        case None:
            return {}
        case "5m":
            return {"cache_control": {"type": "ephemeral"}}
        case _:
            return {"cache_control": {"type": "ephemeral", "ttl": lifetime}}


def message(*lifetimes: str | None) -> bytes:
    """A user message whose blocks carry these marks, the first nested in a tool result."""
    blocks: list[Any] = [{"type": "text", "text": "x", **mark(lifetime)} for lifetime in lifetimes]
    if blocks:
        blocks[0] = {"type": "tool_result", "tool_use_id": "t", "content": [blocks[0]]}
    return encode({"role": "user", "content": blocks or "x"})


def marks_of(request: Request) -> list[str]:
    """Every lifetime in the body, in the order of the prompt, the automatic mark last."""
    body = json.loads(request.body)
    automatic = body.pop("cache_control", None)
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "cache_control" in value:
                found.append(value["cache_control"].get("ttl", "5m"))
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    for part in ("tools", "system", "messages"):
        walk(body.get(part))
    return found + ([automatic.get("ttl", "5m")] if automatic else [])


def test_the_body_is_the_head_and_the_messages_as_they_are() -> None:
    odd = b'{ "role":"user",  "content":"kept" }'
    request = build(Settings(model="qwen"), [odd, USER], max_tokens=100)

    assert request.body == request.head + odd + b"," + USER + b"]}"
    assert json.loads(request.body) == {
        "model": "qwen",
        "max_tokens": 100,
        "stream": True,
        "cache_control": {"type": "ephemeral"},
        "messages": [json.loads(odd), json.loads(USER)],
    }


def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter() -> None:
    settings = Settings(model="claude-opus-5-5", system="s", tools=[{"name": "t"}])
    messages = [message() for _ in range(5)]
    bodies = [build(settings, messages[:n]).body for n in range(1, 6)]

    assert all(long.startswith(short.removesuffix(b"]}")) for short, long in pairwise(bodies))


def test_the_head_is_encoded_once_for_settings_and_room() -> None:
    settings = Settings(model="claude-opus-5-5", system="s")
    first, second = build(settings, [USER]), build(settings, [USER, USER])

    assert first.head is second.head
    assert build(settings, [USER], max_tokens=7).head is not first.head


def test_equal_settings_give_equal_bytes_in_any_process() -> None:
    settings = {"model": "claude-opus-5-5", "system": "s", "tools": [{"name": "t"}], "betas": ("b", "a")}

    assert build(Settings(**settings), [USER]) == build(Settings(**settings), [USER])  # type: ignore[arg-type]


def test_the_room_defaults_to_what_model_and_effort_want() -> None:
    assert build(Settings(model="claude-opus-4-8", effort="xhigh"), [USER]).max_tokens == 64_000
    assert build(Settings(model="qwen"), [USER]).max_tokens == 8_192


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_a_request_without_room_or_messages_is_refused(max_tokens: int) -> None:
    with pytest.raises(InvalidValue):
        build(Settings(model="qwen"), [USER], max_tokens=max_tokens)
    with pytest.raises(InvalidValue):
        build(Settings(model="qwen"), [])


def test_our_marks_stand_at_the_end_of_the_head_and_of_all() -> None:
    tools = [{"name": "a"}, {"name": "b"}]
    with_system = json.loads(build(Settings(model="qwen", system="s", tools=tools), [USER]).body)
    without = json.loads(
        build(Settings(model="qwen", tools=[*tools, {"name": "c", "defer_loading": True}]), [USER]).body
    )

    assert with_system["system"] == [{"type": "text", "text": "s", **mark("5m")}]
    assert with_system["tools"] == tools
    assert without["tools"] == [{"name": "a"}, {"name": "b", **mark("5m")}, {"name": "c", "defer_loading": True}]
    assert with_system["cache_control"] == without["cache_control"] == {"type": "ephemeral"}


def test_no_mark_stands_on_an_empty_block_b104() -> None:
    blocks = [{"type": "text", "text": "s"}, {"type": "text", "text": ""}]
    body = json.loads(build(Settings(model="qwen", system=blocks), [USER]).body)

    assert body["system"] == [{"type": "text", "text": "s", **mark("5m")}]


def test_caching_can_be_off_or_last_an_hour() -> None:
    assert marks_of(build(Settings(model="qwen", system="s", cache=False), [USER])) == []
    assert marks_of(build(Settings(model="qwen", system="s", cache="1h"), [USER])) == ["1h", "1h"]


def test_the_harness_yields_to_the_callers_marks_b098() -> None:
    system = [
        {"type": "text", "text": "a", **mark("5m")},
        {"type": "text", "text": "b", **mark("5m")},
        text := {"type": "text", "text": "c"},
    ]
    settings = Settings(model="qwen", system=system, tools=[{"name": "t", **mark("5m")}])
    request = build(settings, [message("5m"), USER])

    assert len(marks_of(request)) == 4
    assert text in json.loads(request.body)["system"]


def test_whoever_knows_the_marks_in_the_messages_may_say_so() -> None:
    settings = Settings(model="qwen", system="s")

    assert len(marks_of(build(settings, [USER], marked=()))) == 2
    assert len(marks_of(build(settings, [USER], marked=("5m",) * 3))) == 1
    assert build(settings, [message("5m"), USER], marked=("5m",)) == build(settings, [message("5m"), USER])


def test_a_mark_in_a_text_is_only_text() -> None:
    quoted = encode({"role": "user", "content": '"cache_control":{"type":"ephemeral"}' * 9})

    assert len(marks_of(build(Settings(model="qwen", system="s"), [quoted]))) == 2


@given(
    st.lists(MARKS, max_size=2),
    st.lists(MARKS, max_size=2),
    st.lists(st.lists(MARKS, max_size=2), min_size=1, max_size=3),
    st.sampled_from([True, "1h"]),
)
def test_a_lawful_request_stays_lawful_with_our_marks_b098(
    tools: list[str | None], system: list[str | None], messages: list[list[str | None]], cache: Any
) -> None:
    given_marks = [m for m in [*tools, *system, *(m for part in messages for m in part)] if m]
    if len(given_marks) > MAX_CACHE_MARKS or given_marks != sorted(given_marks):
        return
    settings = Settings(
        model="qwen",
        tools=[{"name": f"t{n}", **mark(m)} for n, m in enumerate(tools)],
        system=[{"type": "text", "text": "x", **mark(m)} for m in system],
        cache=cache,
    )
    found = marks_of(build(settings, [message(*part) for part in messages]))

    assert len(found) <= MAX_CACHE_MARKS
    assert found == sorted(found)
    assert len(found) >= len(given_marks)
