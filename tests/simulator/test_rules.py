"""Each numbered rule: one valid request, changed until it breaks that rule and (nearly always) no other."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass, field
from typing import Any

import pytest

from relevo.simulator import MODELS, Model, Simulator, say
from relevo.simulator.signatures import Signer
from relevo.simulator.validate import Rulebook
from relevo.simulator.validate_compaction import NO_PREFIX
from relevo.simulator.verdict import Verdict

from .asking import HEADERS, MovableClock, ask, made, request, result, text, tool

EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
ALL_OF = "context-management-2025-06-27,compact-2026-01-12,compact-2026-09-04,task-budgets-2026-03-13"
OLD_WINDOW = Model("claude-old", "Old", window_tokens=1000, counts_output_in_window=True)
FORMAT: Any = {"type": "json_schema", "schema": {"type": "object", "properties": {}, "additionalProperties": False}}


@dataclass
class Case:
    rule: str
    body: Any = None
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None
    headers: dict[str, str] | None = None
    betas: str = ""
    path: str = "/v1/messages"
    method: str = "POST"
    raw: bytes | None = b""
    note: str = ""
    also: set[str] = field(default_factory=set)
    """Rules that cannot but be broken with it."""

    def __str__(self) -> str:
        return f"{self.rule} {self.note}".strip()


def round_trip(*results: Any, calls: Any = None, **more: Any) -> dict[str, Any]:
    return request("Hi", calls or [made()], list(results) or [result()], tools=[tool()], **more)


def image(**more: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}, **more}


def png(width: int, height: int) -> dict[str, Any]:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    data = base64.b64encode(head + bytes(8)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def without(name: str) -> Any:
    body = request()
    del body[name]
    return body


def schema(**more: Any) -> Any:
    return tool(input_schema={"type": "object", "properties": {}, **more})


def summary(*, good: bool = False) -> Any:
    signature = Signer(0).sign("x", model="", prefix=NO_PREFIX) if good else "c2ln"
    return {"type": "compaction", "content": "x", "signature": signature}


DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
SERVER = {"type": "url", "name": "files", "url": "https://example.com"}
MCP = "mcp-client-2025-11-20"
FABLE = {"model": "claude-fable-5-2"}

CASES = [
    Case("E1", request(), 401, "authentication_error", headers={"anthropic-version": "2026-10-21", "x-api-key": ""}),
    Case(
        "E1",
        request(),
        401,
        "authentication_error",
        headers={"x-api-key": "", "authorization": "Basic k"},
        note="basic",
    ),
    Case("E3", request(), headers={"anthropic-version": "2020-01-01"}),
    Case("E4", request(), betas="no-such-beta-2020-01-01"),
    Case("E5", raw=b"{", note="cut"),
    Case("E5", raw=b"[]", note="not an object"),
    Case("E5", raw=b'{"model": "\xff"}', note="not UTF-8"),
    Case("E5", raw=b'{"max_tokens": NaN}', note="NaN"),
    Case("E5", raw=b"[" * 100_000, note="too deep"),
    Case("E6", None, 413, "request_too_large", raw=None),
    Case("E7", request(nonsense=1), note="top level"),
    Case("E7", request(temperature=1.0), note="sampling on the new version"),
    Case("E7", request([text(nonsense=1)]), note="in a block"),
    Case("E7", request(thread={"type": "create"}), also={"H5"}, note="thread without its beta"),
    Case("E7", request(context_management={"edits": []}), note="context_management without its beta"),
    Case("E7", request(tools=[tool(nonsense=1)]), note="in a tool"),
    Case("E7", request(output_config={"task_budget": {"type": "tokens", "total": 20000}}), note="task budget"),
    Case("E7", request(metadata={"nonsense": 1}), note="in metadata"),
    Case("E8", without("max_tokens"), note="max_tokens"),
    Case("E8", without("model"), note="model"),
    Case("E8", without("messages"), note="messages"),
    Case("E8", request(messages="Hi"), note="messages is text"),
    Case("E8", request(messages=[{"role": "robot", "content": "Hi"}]), note="role"),
    Case("E8", request(messages=[7]), note="message is a number"),
    Case("E8", request([7]), note="block is a number"),
    Case("E8", request([{"type": "text"}]), note="text without text"),
    Case("E8", request([{"type": "text", "text": None}]), note="text is null"),
    Case("E8", request(max_tokens="many"), note="max_tokens is text"),
    Case("E8", request(max_tokens=True), note="max_tokens is a truth"),
    Case("E8", request(tools=[{"name": "f"}]), note="tool without schema"),
    Case("E8", request(system=[{"type": "image"}]), note="system of images"),
    Case("E8", request(stop_sequences=[1]), note="stop sequence is a number"),
    Case("E8", request(tools=[tool()], tool_choice={"type": "maybe"}), note="tool_choice"),
    Case("E9", request(model="claude-unheard-of"), 404, "not_found_error"),
    Case("E10", None, 404, "not_found_error", path="/v1/nothing"),
    Case("E11", None, 405, method="GET"),
    Case("M1", request(messages=[])),
    Case("M2", request(messages=[{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Hi"}])),
    Case("M5", request("Hi", [made()], "And?", tools=[tool()]), note="no result"),
    Case("M5", request("Hi", [made(), made("toolu_2")], [result()], tools=[tool()]), note="one of two"),
    Case("M5", request("Hi", [made()], tools=[tool()]), note="call at the end"),
    Case(
        "M5", request("Hi", [made()], "No.", "Oh.", [result()], tools=[tool()]), also={"M6"}, note="result a turn late"
    ),
    Case("M6", request([result()], tools=[tool()]), note="no call at all"),
    Case("M6", round_trip(result(), result("toolu_9")), note="another id"),
    Case("M7", round_trip(text(), result())),
    Case("M8", request("Hi", [made(), made()], [result()], tools=[tool()]), note="in one turn"),
    Case("M8", request("Hi", [made()], [result()], [made()], [result()], tools=[tool()]), note="in two turns"),
    Case("M9", round_trip(result(), result())),
    Case("M10", round_trip(result("toolu 1"), calls=[made("toolu 1")])),
    Case("M11", round_trip(calls=[made(input="text")])),
    Case("M12", request([text("")]), note="empty"),
    Case("M12", request("  "), note="blank"),
    Case("M12", request(system=" "), note="system"),
    Case("M12", round_trip(result(content=[text("")])), note="in a result"),
    Case("M13", request("")),
    Case("M13", request("Hi", [], "There?"), note="assistant in the middle"),
    Case("M14", request("Hi", "Well, ", model="claude-haiku-4-5")),
    Case("M15", request("Hi", "Well,")),
    Case("M16", request([made()], tools=[tool()]), note="call by the user"),
    Case("M16", request("Hi", [image()], "And?"), note="picture by the assistant"),
    Case("M16", request([{"type": "thinking", "thinking": "", "signature": ""}]), note="thinking by the user"),
    Case("M17", request("Hi", [text(), DOCUMENT], "And?"), note="document"),
    Case("M17", request([text(citations=[{"type": "char_location"}])]), note="citations"),
    Case("M18", request([{"type": "hologram"}])),
    Case("M18", request([{"type": "compaction", "content": "x"}]), note="beta block without its beta"),
    Case("M19", round_trip(result(content=[{"type": "hologram"}]))),
    Case("M20", request("Hi", [made()], [result()])),
    Case("M21", request(messages=[{"role": "system", "content": "Be."}, {"role": "user", "content": "Hi"}])),
    Case(
        "M21",
        request(messages=[{"role": "user", "content": "Hi"}, {"role": "system", "content": [image()]}]),
        note="picture",
    ),
    Case(
        "M21",
        request(
            messages=[
                {"role": "user", "content": "Hi"},
                {"role": "system", "content": "Be."},
                {"role": "user", "content": "Hi"},
            ]
        ),
        note="between user turns",
    ),
    Case(
        "M21",
        request(
            messages=[{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be."}], model="claude-sonnet-5"
        ),
        note="model",
    ),
    Case(
        "M23",
        round_trip(
            result(),
            text(),
            calls=[made(caller={"type": "code_execution_20260521", "tool_id": "srvtoolu_1"})],
            container="container_1",
        ),
        note="text",
    ),
    Case(
        "M23",
        round_trip(calls=[made(caller={"type": "code_execution_20260521", "tool_id": "srvtoolu_1"})]),
        note="no container",
    ),
    Case("T1", request(tools=[tool("get order")])),
    Case("T1", request(tools=[tool("x" * 129)]), note="long"),
    Case("T2", request(tools=[tool(), tool()])),
    Case("T3", request(tools=[tool(input_schema={"properties": {}})]), note="missing"),
    Case("T3", request(tools=[tool(input_schema={"type": "array"})]), note="array"),
    Case("T4", request(tools=[schema(properties={"a": {"type": "decimal"}})]), note="type"),
    Case("T4", request(tools=[schema(required="a")]), note="required"),
    Case("T4", request(tools=[schema(anyOf=[{}])]), note="union at the top"),
    Case("T5", request(tools=[tool(strict=True)]), note="additionalProperties"),
    Case(
        "T5",
        request(tools=[tool(strict=True, input_schema={**FORMAT["schema"], "properties": {"a": {"minimum": 1}}})]),
        note="minimum",
    ),
    Case(
        "T5",
        request(tools=[tool(f"f{n}", strict=True, input_schema=FORMAT["schema"]) for n in range(21)]),
        note="21 strict tools",
    ),
    Case("T6", request(tools=[tool()], tool_choice={"type": "tool", "name": "other"})),
    Case("T7", request(tool_choice={"type": "auto"})),
    Case(
        "T8",
        request(
            tools=[tool()],
            tool_choice={"type": "any"},
            model="claude-haiku-4-5",
            max_tokens=2000,
            thinking={"type": "enabled", "budget_tokens": 1024},
        ),
    ),
    Case("T9", request(tools=[tool()], tool_choice={"type": "any"}, **FABLE)),
    Case("T10", request(tools=[tool(defer_loading=True)])),
    Case("T11", request(tools=[tool("a"), tool(defer_loading=True, cache_control=EPHEMERAL)])),
    Case("T12", request(tools=[{"type": "bash_20991231", "name": "bash"}]), note="unknown"),
    Case("T12", request(tools=[{"type": "bash_20241022", "name": "bash"}]), note="too old for the model"),
    Case(
        "T13",
        round_trip(result(content=[{"type": "tool_reference", "tool_name": "other"}])),
        code="tool_reference_unresolved",
    ),
    Case("T14", request(mcp_servers=[SERVER]), betas=MCP, note="server without toolset"),
    Case(
        "T14",
        request(tools=[{"type": "mcp_toolset", "mcp_server_name": "x"}]),
        betas=MCP,
        note="toolset without server",
    ),
    Case("T15", request(tools=[tool(input_examples=[{"id": "seven"}])])),
    Case("L1", request(max_tokens=-1)),
    Case("L2", request(max_tokens=128_001)),
    Case("L3", request("x" * 4_100_000)),
    Case("L4", request("x" * 3_700, model="claude-old")),
    Case("L5", request([text(str(n), cache_control=EPHEMERAL) for n in range(5)])),
    Case(
        "L5",
        request([text(str(n), cache_control=EPHEMERAL) for n in range(4)], cache_control=EPHEMERAL),
        note="automatic",
    ),
    Case("L6", request([text(), text("", cache_control=EPHEMERAL)]), also={"M12"}),
    Case("L7", request([text("a", cache_control=EPHEMERAL), text("b", cache_control=HOUR)])),
    Case("L7", request([text("a", cache_control={"type": "ephemeral", "ttl": "1d"})]), note="unknown life"),
    Case("L8", request(model="claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 1023})),
    Case("L9", request(model="claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 1024})),
    Case("L10", request(thinking={"type": "disabled"}, **FABLE), note="disabled"),
    Case("L10", request(thinking={"type": "adaptive"}, model="claude-haiku-4-5"), note="adaptive"),
    Case("L10", request(thinking={"type": "dreaming"}), note="unknown"),
    Case("L10", request(thinking={"type": "adaptive", "display": "updates"}), note="display without its beta"),
    Case("L11", request(output_config={"effort": "xhigh"}, model="claude-opus-4-6")),
    Case("L12", request("Hi", [{"type": "thinking", "thinking": "", "signature": "bm8="}, text()], "And?")),
    Case(
        "L13",
        round_trip(model="claude-haiku-4-5", max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1024}),
        note="removed",
    ),
    Case("L14", request(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}})),
    Case(
        "L15",
        request([{**DOCUMENT, "citations": {"enabled": True}}], output_config={"format": FORMAT}),
        note="citations",
    ),
    Case("L15", request("Hi", "{", output_config={"format": FORMAT}, model="claude-haiku-4-5"), note="prefill"),
    Case("L16", request(output_config={"task_budget": {"type": "tokens", "total": 19999}}), betas=ALL_OF),
    Case(
        "L17",
        request(
            context_management={
                "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 1}}]
            }
        ),
        betas=ALL_OF,
    ),
    Case(
        "L18",
        request(
            thinking={"type": "adaptive"},
            context_management={"edits": [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}]},
        ),
        betas=ALL_OF,
        note="not first",
    ),
    Case("L18", request(context_management={"edits": [{"type": "clear_thinking_20251015"}]}), betas=ALL_OF, note="off"),
    Case(
        "L19",
        request(
            "Hi",
            "Yes?",
            "Go.",
            compaction={"type": "summarize"},
            context_management={"edits": []},
            stop_sequences=["x"],
        ),
        betas=ALL_OF,
    ),
    Case("L19", request(compaction={"type": "summarize"}), betas=ALL_OF, code="compaction_nothing_to_summarize"),
    Case(
        "L19",
        request("Hi", [made()], tools=[tool()], compaction={"type": "summarize"}),
        betas=ALL_OF,
        also={"M5"},
        note="open call",
    ),
    Case("L19", request([summary()]), betas=ALL_OF, code="compaction_signature_invalid", note="foreign"),
    Case("L19", request([text(), summary(good=True)]), betas=ALL_OF, code="compaction_block_misplaced", note="second"),
    Case(
        "L19",
        request([{**summary(good=True), "content": "other"}]),
        betas=ALL_OF,
        code="compaction_content_mismatch",
        note="changed",
    ),
    Case("L20", request(stop_sequences=[" "])),
    Case("L21", request([image() for _ in range(101)]), note="101 pictures"),
    Case("L21", request([png(8001, 10)]), code="image_dimensions_too_large", note="pixels"),
    Case("L22", request(speed="fast", model="claude-sonnet-5"), note="speed"),
    Case("L22", request(service_tier="gold"), note="tier"),
    Case("L22", request(metadata={"user_id": "x" * 257}), note="user"),
    Case(
        "H1",
        request(thread={"type": "continue", "previous_message_id": "msg_1"}, system="Be."),
        betas="message-threads-2026-08-12",
        also={"H5"},
    ),
    Case(
        "H5",
        request(thread={"type": "create"}),
        betas="message-threads-2026-08-12",
        code="thread_unsupported_request",
    ),
]
NEVER_PASSES = {"E1", "E5", "E6", "E8", "E10", "E11", "H5"}


def simulator(mode: Any, **more: Any) -> Simulator:
    return Simulator(mode=mode, models=(*MODELS, OLD_WINDOW), **more)


async def send(sim: Simulator, case: Case) -> Any:
    headers = {**HEADERS, **(case.headers or {})}
    return await ask(
        sim, case.body, path=case.path, method=case.method, headers=headers, betas=case.betas, raw=case.raw
    )


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_request_that_breaks_a_rule_is_refused_in_strict_mode(case: Case) -> None:
    sim = simulator("strict")

    answer = await send(sim, case)

    assert (answer.status, answer.error["type"]) == (case.status, case.type)
    assert answer.json["request_id"] == answer.outcome.headers["request-id"]
    if case.code:
        assert answer.error["details"]["error_code"] == case.code


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_record_mode_names_the_rule_and_no_other(case: Case) -> None:
    sim = simulator("record")

    answer = await send(sim, case)

    broken = set(sim.requests[0].rules)
    assert case.rule in broken
    assert broken <= {case.rule, *case.also}
    assert (answer.status == 200) == broken.isdisjoint(NEVER_PASSES)


async def test_a_missing_version_header_is_refused() -> None:
    sim = simulator("strict")

    answer = await ask(sim, request(), headers={"x-api-key": "k"}, bare=True)

    assert answer.status == 400
    assert sim.requests[0].rules == ("E2",)


async def test_lenient_mode_lets_unknown_fields_and_betas_pass_and_notes_them() -> None:
    sim = simulator("lenient")

    answer = await ask(sim, request(nonsense=1), betas="unheard-of-2030-01-01")

    assert answer.status == 200
    assert sim.requests[0].rules == ("E4", "E7")
    assert (await ask(sim, request(""))).status == 400


async def test_more_than_a_hundred_thousand_messages_are_refused() -> None:
    verdict = Verdict(body=request(*["x"] * 100_001))

    Rulebook({model.id: model for model in MODELS}).message(verdict)

    assert [violation.rule for violation in verdict.violations] == ["M3"]


async def test_consecutive_messages_of_one_role_are_one_turn() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Let me see."},
        {"role": "assistant", "content": [made()]},
        {"role": "user", "content": [result()]},
        {"role": "user", "content": "And hurry."},
    ]
    sim = simulator("strict")

    assert (await ask(sim, request(messages=messages, tools=[tool()]))).status == 200


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
async def test_sampling_belongs_to_the_old_version(name: str) -> None:
    sim = simulator("strict")

    old = await ask(sim, request(**{name: 1}), headers={**HEADERS, "anthropic-version": "2023-06-01"})

    assert old.status == 200
    assert (await ask(sim, request(**{name: 1}))).status == 400


async def test_documents_and_citations_may_stand_anywhere_in_the_old_version() -> None:
    sim = simulator("strict")
    body = request([text(citations=[{"type": "char_location"}])], [text(), DOCUMENT], "And?")

    assert (await ask(sim, body, headers={**HEADERS, "anthropic-version": "2023-06-01"})).status == 200


async def test_a_turn_that_a_server_tool_paused_may_come_last() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    tools = [{"type": "web_search_20260318", "name": "web_search"}]
    sim = simulator("strict")

    assert (await ask(sim, request("Hi", [text(), search], tools=tools))).status == 200  # M22


async def test_either_credential_is_accepted_and_a_given_key_is_the_only_one() -> None:
    sim = simulator("strict", api_key="right")

    assert (await ask(sim, request(), headers={**HEADERS, "x-api-key": "right"})).status == 200
    bearer = {"anthropic-version": "2026-10-21", "authorization": "Bearer right", "x-api-key": ""}
    assert (await ask(sim, request(), headers=bearer)).status == 200
    assert (await ask(sim, request(), headers={**HEADERS, "x-api-key": "wrong"})).status == 401


async def test_an_expired_container_is_refused(clock: MovableClock) -> None:
    ends = "2027-01-15T08:10:00Z"  # ten minutes after the clock begins
    reply = say("done").but(extra={"container": {"id": "container_1", "expires_at": ends}})
    sim = Simulator(lambda _: reply, clock=clock)
    await ask(sim, request())

    fresh = await ask(sim, request(container="container_1"))
    clock.move(601)
    stale = await ask(sim, request(container={"id": "container_1"}))

    assert fresh.status == 200
    assert stale.status == 400
    assert sim.requests[-1].rules == ("L23",)


async def test_a_picture_that_is_too_heavy_or_no_base64_is_refused() -> None:
    sim = simulator("record")
    heavy = {"type": "base64", "media_type": "image/png", "data": "A" * 14_000_000}
    broken = {"type": "base64", "media_type": "image/png", "data": "???"}

    await ask(sim, request([{"type": "image", "source": heavy}]))
    await ask(sim, request([{"type": "image", "source": broken}]))

    assert [seen.rules for seen in sim.requests] == [("L21",), ("L21",)]


async def test_any_text_that_json_can_hold_is_answered() -> None:
    sim = Simulator(lambda asked: say(asked.last_user_text))
    raw = (
        b'{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"\\ud83d \\u0000 \xc3\xa9"}]}'
    )

    answer = await ask(sim, raw=raw)

    assert answer.json["content"][0]["text"] == "\ud83d \0 é"


def test_every_rule_of_the_reference_has_a_case() -> None:
    elsewhere = {"E2", "M3", "M4", "M22", "L23"}
    beyond_a_stub = {"H2", "H3", "H4"}  # only a server that keeps threads can break or keep these
    numbered = {
        *(f"E{n}" for n in range(1, 12)),
        *(f"M{n}" for n in range(1, 24)),
        *(f"T{n}" for n in range(1, 16)),
        *(f"L{n}" for n in range(1, 24)),
        *(f"H{n}" for n in range(1, 6)),
    }

    assert numbered - elsewhere - beyond_a_stub == {case.rule for case in CASES}
