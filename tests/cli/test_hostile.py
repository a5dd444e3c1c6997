"""The command line among hostile servers, odd files, broken logs and typing errors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from relevo import Agent, Harness, tool
from relevo.cli.cost import Line, table
from relevo.cli.options import load_agent
from relevo.cli.render import say_json
from relevo.cli.wake import Live, explain
from relevo.errors import InvalidAgent
from relevo.model.usage import Usage
from relevo.outcome import Ended, LimitReached, Refused, UnsupportedStop
from relevo.session import Session
from tests.cli.conftest import Relevo

HOSTILE = "\x1b]0;PWN\x07\x1b[2J\x9b31m\x7f\u202e[/x]"
PAINT = {"\x1b", "\x07", "\x9b", "\x7f", "\u202e"}
FILE = '''
from relevo import Agent, tool

@tool(approve=True)
async def pay(x: str = "1") -> str:
    """Pay."""
    return "paid"

a = Agent(name="a", model="claude-sonnet-5", tools=[pay])
b = Agent(name="b", model="claude-sonnet-5", tools=[pay])
'''


@tool(approve=True)
async def pay(x: str = "1") -> str:
    """Pay."""
    return x


A = Agent(name="a", model="claude-sonnet-5", tools=[pay])


@contextlib.contextmanager
def server(message: dict[str, Any]) -> Iterator[str]:
    """Answers every request with the same message, whole and without a stream."""
    body = json.dumps({"id": "m", "type": "message", "role": "assistant", "model": A.model, **message}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002  the base class says so

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


USAGE = {"usage": {"input_tokens": 1, "output_tokens": 1}}
ANSWER = {"content": [{"type": "text", "text": "THE\nANSWER"}], "stop_reason": "end_turn", **USAGE}
PAY: dict[str, Any] = {
    "content": [{"type": "tool_use", "id": "t1", "name": "pay", "input": {}}],
    "stop_reason": "tool_use",
    **USAGE,
}
ELEVEN = {**PAY, "content": [{**PAY["content"][0], "id": f"t{number}"} for number in range(11)]}


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "agent.py").write_text(FILE)
    return f"{tmp_path / 'agent.py'}:a"


def started(*ids: str) -> None:
    async def start() -> None:
        async with Harness(Path(".relevo/sessions.db")) as harness:
            for session_id in ids:
                await harness.start(A, session_id=session_id)

    Path(".relevo").mkdir(exist_ok=True)
    asyncio.run(start())


def waiting(relevo: Relevo, place: str, *ids: str, message: Any = None) -> dict[str, str]:
    """Sessions with a call that waits; the call of each."""
    started(*ids)
    with server(message or PAY) as url:
        for session_id in ids:
            assert relevo("run", place, "go", "--session", session_id, "--base-url", url).code == 4
    return {question["session_id"]: question["call_id"] for question in relevo("approvals", "--json").json}


class TestApproving:
    @pytest.mark.parametrize("part", ["", " ", "   \t ", "_2", ".0", "sev"])
    @pytest.mark.parametrize("verb", ["approve", "deny"])
    def test_too_little_of_an_id_decides_nothing(self, part: str, verb: str, relevo: Relevo, place: str) -> None:
        waiting(relevo, place, "sesn_one")

        assert relevo(verb, "--by", "ana", "--", part).code == 2
        assert len(relevo("approvals", "--json").json) == 1

    @pytest.mark.parametrize("session", ["sesn_one", "order-1"])
    def test_a_whole_id_finds_its_call_whatever_its_session_is_called(
        self, session: str, relevo: Relevo, place: str
    ) -> None:
        call = waiting(relevo, place, session)[session]

        done = relevo("approve", call, "--by", "ana", "--json")
        again = relevo("approve", call, "--by", "ana", "--json")
        assert (done.json["session_id"], done.json["new"]) == (session, True)
        assert (again.json["session_id"], again.json["new"]) == (session, False)

    def test_a_whole_id_is_never_a_part_of_another(self, relevo: Relevo, place: str) -> None:
        waiting(relevo, place, "order-1", message=ELEVEN)
        second, last = "sevt-order-1_5.1", "sevt-order-1_5.10"

        assert relevo("approve", second, "--by", "ana", "--json").json["call_id"] == second
        assert relevo("approve", second, "--by", "ana", "--json").json["new"] is False
        assert relevo("deny", "sevt-order-1_5.11", "--by", "ana").code == 3
        assert last in {each["call_id"] for each in relevo("approvals", "--json").json}


class TestTerminal:
    @pytest.mark.parametrize(
        "outcome",
        [
            Refused(category=HOSTILE, text=HOSTILE),
            LimitReached(limit=HOSTILE),  # type: ignore[arg-type]
            UnsupportedStop(stop_reason=HOSTILE),
            Ended(text=HOSTILE),
        ],
        ids=lambda outcome: outcome.type,
    )
    def test_no_ending_can_paint(self, outcome: Any, capsys: pytest.CaptureFixture[str]) -> None:
        explain(outcome, Live())
        shown = capsys.readouterr()

        assert not PAINT & set(shown.out + shown.err)

    def test_json_is_ascii_and_says_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        say_json({"a": HOSTILE, "b": "é"})
        out = capsys.readouterr().out

        assert out.isascii()
        assert not PAINT & set(out)
        assert json.loads(out) == {"a": HOSTILE, "b": "é"}

    def test_the_name_of_a_model_is_neither_paint_nor_markup(self, capsys: pytest.CaptureFixture[str]) -> None:
        from rich.console import Console

        Console(width=200).print(table([Line("s", HOSTILE, Usage(), 0, 0)]))  # type: ignore[arg-type]

        shown = capsys.readouterr().out
        assert "[/x]" in shown
        assert not PAINT & set(shown)


class TestRunning:
    def test_a_message_for_another_agent_is_not_left_in_a_session(self, relevo: Relevo, place: str) -> None:
        started("sesn_one")
        done = relevo("run", place[:-1] + "b", "hello", "--session", "sesn_one")

        assert done.code == 3
        assert [event["type"] for event in relevo("events", "sesn_one", "--json").lines] == ["session.created"]

    def test_a_session_keeps_its_identity(self, relevo: Relevo, place: str) -> None:
        started("sesn_one")
        done = relevo("run", place, "hello", "--session", "sesn_one", "--identity", "customer_id=C-2")

        assert done.code == 2
        assert len(relevo("events", "sesn_one", "--json").lines) == 1

    def test_an_answer_that_came_whole_is_printed_once(self, relevo: Relevo, place: str) -> None:
        with server(ANSWER) as url:
            done = relevo("run", place, "hello", "--base-url", url)

        assert done.out.splitlines()[:2] == ["THE", "ANSWER"]
        assert done.out.count("ANSWER") == 1

    def test_what_was_shown_live_is_not_said_again(self, capsys: pytest.CaptureFixture[str]) -> None:
        live = Live()
        for text in ("THE ", "ANSWER"):
            live({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}})
        explain(Ended(text="THE ANSWER"), live)

        assert capsys.readouterr().out == "THE ANSWER\n"


class TestAgentFiles:
    @pytest.mark.parametrize("name", ["json", "relevo", "pydantic", "aiohttp", "ssl", "agents"])
    def test_a_file_may_have_any_name_and_replaces_no_module(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", [*sys.path])
        before = sys.modules.get(name)
        (tmp_path / f"{name}.py").write_text(f"import neighbour_of_{name}\n{FILE}")
        (tmp_path / f"neighbour_of_{name}.py").write_text("")

        assert load_agent(f"{tmp_path / name}.py:a").name == "a"
        assert sys.modules.get(name) is before

    @pytest.mark.parametrize("place", [".:a", "..:a", ".x:a", "a/b:a", "a..b:a", " :a", ":a", "a:"])
    def test_what_is_neither_file_nor_module_is_said(self, place: str) -> None:
        with pytest.raises(InvalidAgent):
            load_agent(place)


class TestBrokenSessions:
    @pytest.fixture
    def broken(self, relevo: Relevo, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two sessions with a call that waits; the second cannot be read."""
        waiting(relevo, place, "sesn_one", "sesn_two")

        def breaking(verb: Callable[..., Any]) -> Any:
            async def broke(session: Session, *arguments: Any, **options: Any) -> Any:
                if session.id == "sesn_two":
                    raise KeyError("seq")
                return await verb(session, *arguments, **options)

            return broke

        for name in ("events", "questions"):
            monkeypatch.setattr(Session, name, breaking(getattr(Session, name)))

    @pytest.mark.usefixtures("broken")
    def test_approvals_of_the_others_are_listed(self, relevo: Relevo) -> None:
        done = relevo("approvals", "--json")

        assert [each["session_id"] for each in done.json] == ["sesn_one"]
        assert "sesn_two" in done.err
        assert done.err.count("\n") == 1

    @pytest.mark.usefixtures("broken")
    def test_verify_names_it_and_goes_on(self, relevo: Relevo) -> None:
        done = relevo("verify", "--json")

        assert done.code == 1
        assert done.json["sessions"] == 2
        assert [(each["session_id"], each["law"]) for each in done.json["breaches"]] == [("sesn_two", "unreadable")]
