"""Every verb does what its help says, tells programs in JSON and people in a line, and leaves with the right code."""

from __future__ import annotations

from pathlib import Path

import pytest

from relevo.cli import exits
from relevo.cli.main import app
from relevo.errors import RelevoError
from tests.cli.conftest import Done, Relevo

AGENT = "support_desk.agent:agent"
ANA = ("--identity", "customer_id=C-1001")
SMALL = "Hi, I'm ana.torres@example.com. My order ORD-2001 arrived broken, please refund it."
LARGE = "Please refund my espresso machine, order ORD-2002. It never worked."
VERBS = ("demo", "run", "sessions", "events", "wake", "approvals", "approve", "deny", "cost", "verify", "sim")


def one_line(done: Done) -> bool:
    return done.err.startswith("relevo: ") and done.err.count("\n") == 1


def test_run_prints_the_answer_and_the_session(relevo: Relevo) -> None:
    done = relevo("run", AGENT, SMALL, *ANA)

    assert done.code == 0
    assert "49.90 EUR" in done.out
    assert done.err.startswith("relevo: session sesn_")
    assert "\n\n" not in done.out


def test_run_tells_programs_in_json(relevo: Relevo) -> None:
    done = relevo("run", AGENT, SMALL, *ANA, "--json")

    assert done.json["stop_reason"] == {"type": "end_turn"}
    assert "49.90 EUR" in done.json["text"]


def test_a_session_goes_on_where_it_was(relevo: Relevo) -> None:
    first = relevo("run", AGENT, SMALL, *ANA, "--json").json["session_id"]
    second = relevo("run", AGENT, "Thanks!", "--session", first, "--json")

    assert second.json["session_id"] == first
    assert len(relevo("sessions", "--json").json) == 1


def test_a_waiting_call_is_listed_approved_and_carried_on(relevo: Relevo) -> None:
    waiting = relevo("run", AGENT, LARGE, *ANA, "--json")
    (question,) = relevo("approvals", "--json").json
    again = relevo("wake", waiting.json["session_id"], "--agent", AGENT)
    approved = relevo("approve", question["call_id"][-12:], "--by", "lead@desk.example")
    repeated = relevo("approve", question["call_id"], "--by", "lead@desk.example", "--json")
    contrary = relevo("deny", question["call_id"], "--by", "other@desk.example")
    woken = relevo("wake", waiting.json["session_id"], "--agent", AGENT, "--json")

    assert (waiting.code, again.code, approved.code, repeated.code, contrary.code, woken.code) == (4, 4, 0, 0, 5, 0)
    assert question["tool"] == "process_refund"
    assert question["identity"] == {"customer_id": "C-1001"}
    assert repeated.json["new"] is False
    assert "249.00 EUR" in woken.json["text"]
    assert relevo("approvals").out == "nothing waits for a decision\n"


def test_a_denial_reaches_the_customer(relevo: Relevo) -> None:
    session = relevo("run", AGENT, LARGE, *ANA, "--json").json["session_id"]
    (question,) = relevo("approvals", "--json").json
    denied = relevo("deny", question["call_id"], "--by", "lead", "--reason", "not this one")
    woken = relevo("wake", session, "--agent", AGENT, "--json")

    assert (denied.code, woken.code) == (0, 0)
    assert "not approved" in woken.json["text"]


def test_an_edited_input_is_checked_and_used(relevo: Relevo) -> None:
    session = relevo("run", AGENT, LARGE, *ANA, "--json").json["session_id"]
    (question,) = relevo("approvals", "--json").json
    wrong = relevo("approve", question["call_id"], "--by", "lead", "--agent", AGENT, "--edit", '{"order_id": 7}')
    broken = relevo("approve", question["call_id"], "--by", "lead", "--edit", "{")
    edited = '{"order_id": "ORD-2002", "cents": 5000, "reason": "defective"}'
    right = relevo("approve", question["call_id"], "--by", "lead", "--agent", AGENT, "--edit", edited)
    woken = relevo("wake", session, "--agent", AGENT, "--json")

    assert (wrong.code, broken.code, right.code, woken.code) == (2, 2, 0, 0)
    assert "50.00 EUR" in woken.json["text"]


def test_events_sessions_cost_and_verify_read_the_log(relevo: Relevo) -> None:
    session = relevo("run", AGENT, SMALL, *ANA, "--json").json["session_id"]
    events = relevo("events", session, "--json").lines
    some = relevo("events", session, "--json", "--kind", "tool.ended", "--after", "5").lines
    (line,) = relevo("sessions", "--json").json
    (cost,) = relevo("cost", "--json").json
    verified = relevo("verify", "--json")

    assert [event["position"] for event in events] == list(range(1, len(events) + 1))
    assert {event["type"] for event in some} == {"tool.ended"}
    assert (line["id"], line["stop_reason"], line["head"]) == (session, "end_turn", len(events))
    assert cost["session_id"] == session
    assert float(cost["cost_usd"]) > 0
    assert verified.json == {"sessions": 1, "breaches": []}
    for verb in (("events", session), ("sessions",), ("cost",), ("verify",)):
        assert relevo(*verb).code == 0


def test_what_is_not_there_is_said_in_one_line(relevo: Relevo) -> None:
    assert relevo("sessions").code == 7
    relevo("run", AGENT, SMALL, *ANA)
    wrong = {
        ("events", "sesn_nobody"): 3,
        ("wake", "sesn_nobody", "--agent", AGENT): 3,
        ("approve", "nothing", "--by", "me"): 3,
        ("run", "nowhere.py:agent", "hi"): 3,
        ("run", "support_desk.agent:nobody", "hi"): 3,
        ("run", "support_desk.agent:MODEL", "hi"): 3,
        ("run", "no.such.module:agent", "hi"): 3,
        ("run", AGENT, "   "): 2,
        ("run", AGENT, "hi", "--identity", "nonsense"): 2,
        ("run", AGENT): 2,
        ("sessions", "--limit", "0"): 2,
        ("nonsense",): 2,
        ("demo", "--scene", "nonsense"): 2,
    }
    for arguments, code in wrong.items():
        done = relevo(*arguments)
        assert done.code == code, (arguments, done)
        assert one_line(done), (arguments, done.err)


def test_a_wake_without_the_agent_says_which_agent_is_missing(relevo: Relevo) -> None:
    session = relevo("run", AGENT, LARGE, *ANA, "--json").json["session_id"]

    done = relevo("wake", session)

    assert done.code == 3
    assert "support-desk" in done.err


def test_a_missing_key_is_said(relevo: Relevo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")

    done = relevo("run", AGENT, SMALL, *ANA)

    assert done.code == 6
    assert "ANTHROPIC_API_KEY" in done.out + done.err


def test_text_of_others_cannot_paint_the_terminal(relevo: Relevo, tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 order ORD-2001 \u202e please"
    session = relevo("run", AGENT, hostile, "--identity", "customer_id=\x1b[31mC-1\x9b", "--json").json["session_id"]

    for verb in (("events", session), ("sessions",), ("cost",), ("approvals",), ("verify",)):
        shown = relevo(*verb).out
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown), verb


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, relevo: Relevo) -> None:
    done = relevo(verb, "--help")

    assert done.code == 0
    assert "Usage:" in done.out


def test_the_verbs_are_these() -> None:
    assert sorted(command.name or "" for command in app.registered_commands) == sorted(VERBS)


def test_every_error_has_an_exit_code() -> None:
    def leaves(kind: type[RelevoError]) -> list[type[RelevoError]]:
        below = kind.__subclasses__()
        return [kind, *(leaf for each in below for leaf in leaves(each))]

    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    codes = {exits.exit_code(kind.__new__(kind)) for kind in leaves(RelevoError)}

    assert codes <= set(range(8))
    assert all(f"| {code} |" in page for code in codes)
