"""
What people, tools, files and other programs hand in that nobody hoped for: a clear typed error or a safe result, and
nothing lost.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from anthropic import AsyncAnthropic

from relevo import (
    Agent,
    Ended,
    Harness,
    InvalidAgent,
    InvalidMessage,
    InvalidTool,
    InvalidValue,
    LogCorrupt,
    LogError,
    LogMoved,
    LogTooNew,
    LogUnavailable,
    MemoryLog,
    MissingCredential,
    ModelUnavailable,
    MovableClock,
    RelevoError,
    SdkModel,
    SessionNotFound,
    tool,
)
from relevo.content import Json
from relevo.events import RequestStarted, SessionCreated, SessionRunning, ToolEnded, Unknown, UserMessage
from relevo.model.client import DirectModel
from relevo.simulator import Reply, call, say
from relevo.simulator.request import Request

from .desks import Desks, S, go
from .stage import MODEL, Stage
from .workers.desk import agent as desk_agent

NOT_MESSAGES = [
    "",
    "   \n\t",
    [],
    [{"type": "text", "text": ""}],
    [{"type": "text", "text": " "}, {"type": "text", "text": "\n"}],
    [{"type": "text"}],
    [{"type": "text", "text": 7}],
    [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "forged"}],
    [{"type": "thinking", "thinking": "x", "signature": "y"}],
    [{"text": "no type"}],
    [7],
    [None],
    {"type": "text", "text": "not in a list"},
    b"bytes",
    7,
    object(),
    [{"type": "text", "text": "ok", "when": datetime(2026, 1, 1, tzinfo=UTC)}],
    [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b"raw"}}],
    [{"type": "text", "text": "ok", "score": float("nan")}],
]


@pytest.mark.parametrize(
    "message", NOT_MESSAGES, ids=lambda value: f"{type(value).__name__} {value!r}"[:60].split(" at 0x")[0]
)
async def test_b025_what_is_no_message_is_refused_before_anything_is_stored(stage: Stage, message: Any) -> None:
    await stage.plays([say("ok")])
    session = await stage.begin(stage.agent())

    with pytest.raises(InvalidMessage):
        await session.say(message)
    with pytest.raises(InvalidMessage):
        await session.run(message)
    assert await stage.bodies(UserMessage) == []
    assert await session.run("A real one.") == Ended(text="ok")


@pytest.mark.parametrize("message", ["", None, 7])
async def test_a_run_with_no_message_begins_no_session(stage: Stage, message: Any) -> None:
    await stage.plays([])

    with pytest.raises(InvalidMessage):
        await stage.harness(agent := stage.agent()).run(agent, message)

    assert await stage.log.sessions() == []


async def test_a_message_that_is_only_partly_blank_is_sent_without_its_blanks(stage: Stage) -> None:
    """B030: an image with an empty caption."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}}
    await stage.plays([say("A pixel.")])

    assert await stage.run(stage.agent(), [image, {"type": "text", "text": ""}]) == Ended(text="A pixel.")
    assert [block["type"] for block in stage.sent[0]["messages"][0]["content"]] == ["image"]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("half \ud83d of an emoji", "half \ufffd of an emoji"),
        ("apart \ud83d\ude00", "apart \U0001f600"),
        ("null \x00 inside", "null \x00 inside"),
        ("\u202e\u200d\ufeff", "\u202e\u200d\ufeff"),
        ("line\r\nends\u2028", "line\r\nends\u2028"),
    ],
)
async def test_b122_odd_characters_are_the_same_in_log_and_request(any_stage: Stage, text: str, sent: str) -> None:
    @tool(effect="read")
    async def echo(text: str) -> str:
        return text_of_tool

    text_of_tool = text
    await any_stage.plays([call("echo", {"text": sent}), say("ok")])
    await any_stage.run(any_stage.agent(echo), text)

    assert any_stage.sent[0]["messages"][0]["content"][0]["text"] == sent
    (said,) = await any_stage.bodies(UserMessage)
    assert said.content[0]["text"] == sent
    assert any_stage.results()[0]["content"] == sent


class Colour(Enum):
    RED = "red"


@dataclass
class Weather:
    city: str
    degrees: int = 18


def cycle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep(levels: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


class Hostile(Mapping[str, Any]):
    """A value with code of its own, none of which works."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("secret")

    def __iter__(self) -> Any:
        raise RuntimeError("secret")

    def __len__(self) -> int:
        raise RuntimeError("secret")

    def __repr__(self) -> str:
        raise RuntimeError("secret")


SHOWN: list[tuple[Any, str]] = [
    ("", "(no output)"),
    ("   ", "(no output)"),
    (None, "(no output)"),
    ([], "(no output)"),
    ({}, "{}"),
    ("texto", "texto"),
    (0, "0"),
    (False, "false"),
    (2**70, str(2**70)),
    (Decimal("1.10"), "1.10"),
    (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
    (date(2026, 1, 2), "2026-01-02"),
    (timedelta(seconds=90), "PT90S"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Path("a/b"), "a/b"),
    (b"\x00\xff", "AP8="),
    ({3, 1, 2}, "[1,2,3]"),
    (Colour.RED, "red"),
    ([Weather("x")], '[{"city":"x","degrees":18}]'),
    ({"today": Weather("y", 1)}, '{"today":{"city":"y","degrees":1}}'),
    ({1: "one"}, '{"1":"one"}'),
]


@pytest.mark.parametrize(("value", "shown"), SHOWN, ids=[repr(value) for value, _ in SHOWN])
async def test_b117_b119_what_a_tool_returns_reaches_the_model_by_one_table(
    stage: Stage, value: Any, shown: str
) -> None:
    async def give() -> Any:
        return value

    await stage.plays([call("give"), say("ok")])

    assert await stage.run(stage.agent(tool(give))) == Ended(text="ok")
    (result,) = stage.results()
    assert result.get("content", "") == shown
    assert "is_error" not in result


UNSHOWN: dict[str, Any] = {
    "nan": float("nan"),
    "infinity": {"a": float("inf")},
    "cycle": cycle(),
    "deep": deep(5_000),
    "object": object(),
    "function": print,
    "generator": (n for n in range(3)),
    "complex": complex(1, 2),
    "hostile": Hostile(),
    "huge number": 10**5_000,
    "exception": RuntimeError("secret"),
    "two keys that are one": {1: "a", "1": "b"},
}


@pytest.mark.parametrize("what", UNSHOWN)
async def test_b118_what_cannot_be_shown_is_an_error_that_says_the_tool_has_run(stage: Stage, what: str) -> None:
    async def give() -> Any:
        return UNSHOWN[what]

    await stage.plays([call("give"), say("ok")])

    assert await stage.run(stage.agent(tool(give))) == Ended(text="ok")
    (result,) = stage.results()
    assert result["is_error"] is True
    assert "It did take effect" in result["content"]
    assert "secret" not in result["content"]


async def test_results_of_ten_megabytes_are_cut_and_the_session_goes_on(stage: Stage) -> None:
    @tool(effect="read")
    async def dump(n: int) -> str:
        return f"{n}\U0001f600" * 2_500_000

    await stage.plays([call("dump", {"n": 1}) + call("dump", {"n": 2}) + call("dump", {"n": 3}), say("Long.")])

    assert await stage.run(stage.agent(dump)) == Ended(text="Long.")
    for result in stage.results():
        assert len(result["content"]) <= 100_000
        result["content"].encode()


async def test_b123_a_request_that_has_grown_too_large_ends_the_turn_typed(stage: Stage) -> None:
    await stage.plays([say("ok")])
    session = await stage.begin(stage.agent())
    await session.run("Small.")
    outcome = await session.run("x" * 34_000_000)

    assert isinstance(outcome, ModelUnavailable)
    assert outcome.error["type"] == "request_too_large"
    assert len(stage.sent) == 1


NAMES = ["a.b", "größe", "x" * 200, "", "two words", "a/b", "-", "né"]


@pytest.mark.parametrize("name", NAMES)
def test_b134_a_tool_name_that_the_api_refuses_is_refused_when_it_is_declared(name: str) -> None:
    async def work() -> None: ...

    if name == "-":
        assert tool(work, name=name).name == "-"
        return
    with pytest.raises(InvalidTool, match="name"):
        tool(work, name=name)


def test_b133_two_tools_of_one_name_are_refused_when_the_agent_is_made() -> None:
    async def search() -> None: ...

    with pytest.raises(InvalidTool, match="search"):
        Agent(name="a", model=MODEL, tools=[tool(search), tool(search)])


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": "x" * 65},
        {"model": ""},
        {"model": "  "},
        {"system": "  "},
        {"max_tokens": 0},
        {"max_tokens": -1},
        {"effort": "extreme"},
        {"model": "claude-opus-4-5", "effort": "xhigh"},
        {"thinking": {"type": "sometimes"}},
        {"stop_sequences": ""},
        {"stop_sequences": [" "]},
        {"approval_seconds": -1},
        {"tools": [print]},
        {"tools": ["charge"]},
        {"thinking": {"type": datetime(2026, 1, 1, tzinfo=UTC)}},
    ],
    ids=lambda value: f"{type(value).__name__} {value!r}"[:60].split(" at 0x")[0],
)
def test_an_agent_that_could_not_run_cannot_be_made(options: dict[str, Any]) -> None:
    with pytest.raises((InvalidAgent, InvalidTool)):
        Agent(**{"name": "a", "model": MODEL, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"model": "claude-opus-5-5", "max_tokens": 500_000},
        {"model": "claude-haiku-4-5", "max_tokens": 128_000},
        {"model": "claude-haiku-4-5", "thinking": {"type": "enabled", "budget_tokens": 40_000}, "max_tokens": 32_000},
    ],
    ids=lambda value: f"{type(value).__name__} {value!r}"[:60].split(" at 0x")[0],
)
def test_an_agent_whose_limits_the_model_refuses_cannot_be_made(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidAgent):
        Agent(**{"name": "a", **options})


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidAgent, match="'a'"):
        Harness(MemoryLog(), agents=[Agent(name="a", model=MODEL), Agent(name="a", model=MODEL, system="x")])


@pytest.mark.parametrize(
    "options",
    [
        {"identity": {"at": datetime(2026, 1, 1, tzinfo=UTC)}},
        {"identity": {1: "x"}},
        {"identity": {"deep": deep(500)}},
        {"metadata": {"score": float("nan")}},
        {"metadata": {"set": {1}}},
        {"metadata": {"raw": b"x"}},
        {"session_id": ""},
        {"session_id": "a\nb"},
        {"session_id": "a\x00b"},
        {"session_id": "half \ud83d"},
    ],
    ids=lambda options: repr(options)[:60],
)
async def test_b117_what_the_log_cannot_hold_is_refused_and_nothing_is_stored(
    disk_stage: Stage, options: dict[str, Any]
) -> None:
    await disk_stage.plays([])

    with pytest.raises(InvalidValue):
        await disk_stage.begin(disk_stage.agent(), **options)

    assert await disk_stage.log.sessions() == []


async def test_a_surrogate_in_an_identity_is_cleaned_like_any_text(disk_stage: Stage) -> None:
    await disk_stage.plays([])
    session = await disk_stage.begin(disk_stage.agent(), identity={"name": "\ud83d"}, title="\ud83d")

    state = await session.state()
    assert state.identity == {"name": "\ufffd"}
    assert state.title == "\ufffd"


async def test_beginning_a_session_twice_is_refused(disk_stage: Stage) -> None:
    await disk_stage.plays([])
    await disk_stage.begin(disk_stage.agent(), session_id="order-7")

    with pytest.raises(LogMoved):
        await disk_stage.begin(disk_stage.agent(), session_id="order-7")


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("session_id", ["sesn_nobody", "", "half \ud83d", "a\x00b", "x" * 10_000, "'; drop table"])
async def test_a_session_that_is_not_there_is_said_by_every_verb(
    stage: Stage, disk_stage: Stage, kind: str, session_id: str
) -> None:
    here = stage if kind == "memory" else disk_stage
    await here.plays([])
    harness = here.harness(here.agent())
    session = harness.session(session_id)

    # Some are no id that any session could have.
    wanted = (SessionNotFound,) if session_id and session_id.isprintable() else (SessionNotFound, InvalidValue)

    async def followed() -> None:
        async for _ in session.follow():
            pass

    for attempt in (
        lambda: harness.wake(session_id),
        lambda: session.run("x"),
        session.run,
        lambda: session.say("x"),
        session.state,
        session.events,
        session.questions,
        session.interrupt,
        lambda: session.approve("c", approver="a"),
        lambda: session.deny("c", approver="a"),
        lambda: session.update(here.agent()),
        followed,
    ):
        with pytest.raises(wanted):
            await attempt()
    assert await here.log.sessions() == []


@pytest.mark.parametrize("transport", ["direct", "sdk"])
async def test_a_missing_key_is_said_and_the_message_is_kept(transport: str) -> None:
    log = MemoryLog()
    agent = Agent(name="a", model=MODEL)
    client = AsyncAnthropic(api_key=None)
    model = DirectModel() if transport == "direct" else SdkModel(client)
    async with Harness(log, agents=[agent], model=model, clock=MovableClock(jump=True)) as harness:
        session = await harness.start(agent)
        outcome = await session.run("Hello?")

        assert isinstance(outcome, ModelUnavailable)
        assert outcome.error["type"] == "authentication_error"
        assert "key" in str(outcome.error["message"]).lower() or "auth" in str(outcome.error["message"]).lower()
        assert len(await session.events(kinds={RequestStarted.kind})) == 1
    await client.close()
    assert issubclass(MissingCredential, RelevoError)


async def test_a_base_url_that_is_none_is_refused_when_it_is_given() -> None:
    for url in ("localhost:8000", "ftp://x", "http://user:pw@x"):
        with pytest.raises(InvalidValue):
            DirectModel(base_url=url, api_key="k")


async def test_a_program_that_does_not_know_the_agent_does_not_take_the_session(disk_stage: Stage) -> None:
    await disk_stage.plays([say("ok")])
    session = await disk_stage.begin(disk_stage.agent())
    await session.say("Hello?")
    before = await disk_stage.log.sessions()

    with pytest.raises(InvalidAgent, match=r"'clerk'.*known: other"):
        await disk_stage.harness(disk_stage.agent(name="other")).wake(session.id)

    assert await disk_stage.log.sessions() == before
    assert await session.run() == Ended(text="ok")


async def test_an_agent_whose_code_changed_is_woken_with_what_the_log_says(
    disk_stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "old"

    @tool(effect="read", name="look")
    async def look_now(place: str = "here") -> str:
        return f"new {place}"

    @tool
    async def destroy() -> str:
        return "never offered"

    await disk_stage.plays([say("ok"), call("look") + call("destroy"), say("ok")])
    session = await disk_stage.begin(disk_stage.agent(look, system="Old."))
    await session.run("One.")
    today = disk_stage.agent(look_now, destroy, system="New.", model="claude-sonnet-5-5", limits={"turns": 1})

    with caplog.at_level(logging.WARNING, "relevo"):
        outcome = await disk_stage.harness(today).session(session.id).run("Two.")

    assert outcome == Ended(text="ok"), "the limits are the record's too"
    assert "action=wake.drift" in caplog.text
    for body in disk_stage.sent:
        assert body["system"][0]["text"] == "Old."
        assert body["model"] == MODEL
        assert [each["name"] for each in body["tools"]] == ["look"]
    assert [result["content"] for result in disk_stage.results()][:1] == ["new here"]


async def test_an_update_adopts_the_new_code_and_survives_a_change_of_model(disk_stage: Stage) -> None:
    """B088: thinking signed by another model is not sent."""
    from relevo.simulator import think

    await disk_stage.plays([think("deep") + say("one"), say("two")])
    session = await disk_stage.begin(disk_stage.agent(system="Old."))
    await session.run("One.")
    today = disk_stage.agent(system="New.", model="claude-sonnet-5-5")
    disk_stage.forgets = True

    harness = disk_stage.harness(today)
    await harness.session(session.id).update(today)

    assert await harness.session(session.id).run("Two.") == Ended(text="two")
    assert disk_stage.sent[1]["model"] == "claude-sonnet-5-5"
    kinds = [block["type"] for message in disk_stage.sent[1]["messages"] for block in message["content"]]
    assert kinds == ["text", "text", "text"]


async def test_events_of_a_newer_program_are_kept_and_passed_over(disk_stage: Stage) -> None:
    await disk_stage.plays([say("ok")])
    session = await disk_stage.begin(disk_stage.agent())
    future: Json = {"a": [1, {"b": None}]}
    await disk_stage.log.append(
        session.id, [Unknown(unknown_kind="session.teleported", version=3, data=future)], expected=1, at=disk_stage.clock.now()
    )  # fmt: skip

    assert await session.run("Hello?") == Ended(text="ok")
    (kept,) = await disk_stage.bodies(Unknown)
    assert (kept.kind, kept.version, kept.data) == ("session.teleported", 3, future)
    disk_stage.laws_of_another_version = True


def spoiled(path: Path, how: str) -> None:
    """Make a file at `path` that is no log of ours, or not any more."""
    match how:
        case "noise":
            path.write_bytes(os.urandom(8192))
        case "text":
            path.write_text("hello" * 1000)
        case "short":
            path.write_bytes(b"SQLite format 3\x00")
        case "another program's":
            with closing(sqlite3.connect(path)) as other:
                other.execute("create table notes (text)")
        case "newer":
            with closing(sqlite3.connect(path)) as ours:
                ours.execute("pragma user_version = 99")
        case "damaged":
            data = bytearray(path.read_bytes())
            for place in range(512, len(data), 3):
                data[place] ^= 0x5A
            path.write_bytes(data)


@pytest.mark.parametrize("how", ["noise", "text", "short", "another program's", "newer", "damaged", "folder"])
async def test_a_file_that_is_no_log_is_said_and_left_as_it_is(tmp_path: Path, how: str) -> None:
    path = tmp_path / "sessions.db"
    agent = Agent(name="a", model=MODEL)
    if how in ("newer", "damaged"):
        async with Harness(path, agents=[agent]) as harness:
            await harness.start(agent, session_id=S)
    if how == "folder":
        path.mkdir()
    else:
        spoiled(path, how)
    before = path.read_bytes() if path.is_file() else b""

    wanted = {"newer": LogTooNew, "folder": LogUnavailable}.get(how, LogCorrupt)
    async with Harness(path, agents=[agent]) as harness:
        with pytest.raises(wanted):
            await harness.run(agent, "Hello?")
        with pytest.raises(LogError):
            await harness.wake(S)

    assert (path.read_bytes() if path.is_file() else b"") == before


async def test_a_place_where_nothing_can_be_written_is_said() -> None:
    agent = Agent(name="a", model=MODEL)
    async with Harness("/proc/nowhere/sessions.db", agents=[agent]) as harness:
        with pytest.raises(LogUnavailable):
            await harness.run(agent, "Hello?")


@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
async def test_a_disk_that_fills_up_anywhere_loses_nothing_and_repeats_nothing(disk_stage: Stage, path: Path) -> None:
    """RLIMIT_FSIZE in a process of its own, at ever larger sizes: the log fails at ever later lines."""
    await disk_stage.plays(go("lookup", "charge"))
    desks = Desks(path, disk_stage.sim.base_url, "irreversible")
    limits = range(2_000, 40_000, 1_500)
    said = await desks.desk("every_full", limits.start, limits.stop, limits.step)

    fates = said["errors"]
    assert set(fates) == {"LogUnavailable", ""}
    for limit in limits:
        own = path.with_name(f"sessions.db.{limit}")
        ledger = path.with_name(f"ledger.{limit}")
        agent = desk_agent(ledger, "irreversible")
        model = DirectModel(base_url=disk_stage.sim.base_url, api_key="k")
        async with Harness(own, agents=[agent], model=model) as harness:
            sessions = await harness.sessions()
            if not sessions:
                continue
            session = harness.session(S)
            if not await session.events(kinds={UserMessage.kind}):
                continue
            outcome = await session.run()

        assert isinstance(outcome, Ended)
        assert len(desks.noted("charge", ledger)) <= 1
        assert ("unknown" in outcome.text) or len(desks.noted("charge", ledger)) == 1


@pytest.mark.parametrize("approver", ["", "  "])
async def test_a_decision_needs_a_name(stage: Stage, approver: str) -> None:
    async def pay() -> str:
        return "paid"

    await stage.plays([call("pay"), say("ok")])
    session = await stage.begin(stage.agent(tool(pay, approve=True)))
    await session.run("Go.")
    (question,) = await session.questions()

    with pytest.raises(InvalidValue):
        await session.approve(question.call_id, approver=approver)
    await session.deny(question.call_id, approver="ana")
    await session.run()


ODD_INPUTS: list[Any] = [
    {},
    {"amount": None},
    {"amount": "12"},
    {"amount": 1.5},
    {"amount": True},
    {"amount": [1]},
    {"amount": 1, "more": 2},
    {"Amount": 1},
    {"amount": 1e400},
    {"id": 7, "function": "charge", "arguments": {"amount": 1}},
]


@pytest.mark.parametrize(
    "given", ODD_INPUTS, ids=lambda value: f"{type(value).__name__} {value!r}"[:60].split(" at 0x")[0]
)
async def test_b032_an_input_that_does_not_fit_is_answered_and_never_run(stage: Stage, given: Any) -> None:
    ran: list[int] = []

    async def charge(amount: int) -> str:
        ran.append(amount)
        return "charged"

    if given.get("amount") == 1e400:
        given = {"amount": 10**400}  # a number that JSON can say and no account can hold
        await stage.plays([call("charge", given), say("ok")])
        assert await stage.run(stage.agent(tool(charge))) == Ended(text="ok")
        return
    await stage.plays([call("charge", given), say("ok")])

    assert await stage.run(stage.agent(tool(charge))) == Ended(text="ok")
    (result,) = stage.results()
    assert result["is_error"] is True
    assert ran == []


async def test_a_model_that_answers_nonsense_ends_the_turn_typed(stage: Stage) -> None:
    """Names and ids that a response may hold and a request may not, a block of the future, an input of two megabytes."""
    nonsense = Reply(
        (
            {"type": "tool_use", "id": "id with spaces", "name": "no.such/tool!", "input": {}},
            {"type": "tool_use", "id": "toolu_1", "name": "x" * 300, "input": {"a": "b" * 2_000_000}},
        ),
        whole=True,
    )
    await stage.plays([nonsense, say("ok")])

    assert await stage.run(stage.agent(tool(no_tool))) == Ended(text="ok")
    assert [result["is_error"] for result in stage.results()] == [True, True]
    assert len(str(stage.results())) < 2_000
    assert [body.is_error for body in await stage.bodies(ToolEnded)] == [True, True]


async def no_tool() -> str:
    return "never"


async def test_the_door_for_scripts_says_where_it_cannot_be_used(tmp_path: Path) -> None:
    from relevo import run

    with pytest.raises(InvalidValue, match="event loop"):
        run(Agent(name="a", model=MODEL), "Hello?", log=tmp_path / "sessions.db")
    assert asyncio.get_running_loop().is_running()
    assert sys.version_info >= (3, 11)


async def test_a_brain_that_has_no_answer_ends_the_turn_typed(stage: Stage) -> None:
    """Of the simulator: a 500 that says it is not to be retried."""

    def brain(request: Request) -> Any:
        raise LookupError

    await stage.plays(brain)
    outcome = await stage.run(stage.agent())

    assert isinstance(outcome, ModelUnavailable)
    assert len(stage.sent) == 1
    stage.sim.mistakes.clear()


async def test_nothing_was_ever_asked_is_not_an_error_of_waking(stage: Stage) -> None:
    await stage.plays([])
    session = await stage.begin(agent := stage.agent())

    assert await stage.harness(agent).wake(session.id) is None
    assert await stage.bodies(SessionRunning) == []
    assert len(await stage.bodies(SessionCreated)) == 1
