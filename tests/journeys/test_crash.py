"""
Real processes, killed inside a side effect and between any two lines of the log; a new process wakes the session.

A crash inside a side effect, for every class of effect: nothing that may not be repeated is repeated, nothing
that ended is lost, the model is told the truth, and the session goes on without a refused request.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from relevo import Ended, tool
from relevo.events import ToolEnded, ToolStarted

from .desks import Desks, S, go
from .stage import Stage
from .workers.desk import agent

pytestmark = [pytest.mark.crash, pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")]


async def killed(stage: Stage, path: Path, kind: str, *names: str, dies: str = "after") -> Desks:
    """A desk of this kind that was killed inside `charge`."""
    await stage.plays(go(*(names or ("lookup", "charge"))))
    desks = Desks(path, stage.sim.base_url, kind)
    assert await desks.desk("start", dies) == {}
    return desks


async def woken(stage: Stage, desks: Desks) -> str:
    """Wake the session in this process, which never saw it before; what the model said it was told."""
    outcome = await stage.harness(agent(desks.ledger, desks.kind)).wake(S)
    assert isinstance(outcome, Ended)
    return outcome.text


async def test_b001_an_irreversible_call_is_never_repeated_and_the_model_hears_that_nobody_knows(
    disk_stage: Stage, path: Path
) -> None:
    desks = await killed(disk_stage, path, "irreversible")
    text = await woken(disk_stage, desks)

    assert len(desks.noted("charge")) == 1
    assert len(desks.noted("lookup")) == 1
    assert "lookup: customer 7" in text
    assert "outcome of charge is unknown" in text
    (failed,) = [body for body in await disk_stage.bodies(ToolEnded) if body.is_error]
    assert failed.error["outcome"] == "unknown"


async def test_a_call_that_was_not_reached_is_run_by_the_next_process(disk_stage: Stage, path: Path) -> None:
    desks = await killed(disk_stage, path, "irreversible", "charge", "lookup")
    assert desks.noted("lookup") == []
    text = await woken(disk_stage, desks)

    assert len(desks.noted("charge")) == 1
    assert len(desks.noted("lookup")) == 1
    assert text.index("charge") < text.index("lookup: customer 7")


@pytest.mark.parametrize("kind", ["irreversible+ledger", "compensable+ledger", "idempotent+ledger"])
async def test_a_call_that_was_done_is_found_by_its_key(disk_stage: Stage, path: Path, kind: str) -> None:
    desks = await killed(disk_stage, path, kind)
    text = await woken(disk_stage, desks)

    assert len(desks.noted("charge")) == len(desks.noted("asked")) == 1
    assert desks.noted("charge")[0][0] == desks.noted("asked")[0][0]
    assert "charge: charged 500, says the bank" in text
    assert (await disk_stage.ended())["charge"].is_error is False


@pytest.mark.parametrize("kind", ["irreversible+ledger", "compensable+ledger"])
async def test_a_call_that_was_not_done_is_run_after_asking(disk_stage: Stage, path: Path, kind: str) -> None:
    desks = await killed(disk_stage, path, kind, dies="before")
    text = await woken(disk_stage, desks)

    ((key, attempt),) = desks.noted("charge")
    assert desks.noted("asked")[0][0] == key
    assert attempt == 2
    assert text.endswith("charge: charged 500")


@pytest.mark.parametrize("kind", ["irreversible+unclear", "compensable+unclear"])
async def test_a_call_that_nobody_can_tell_about_is_never_repeated(disk_stage: Stage, path: Path, kind: str) -> None:
    desks = await killed(disk_stage, path, kind)
    text = await woken(disk_stage, desks)

    assert len(desks.noted("charge")) == 1
    assert "unknown: the bank is closed" in text


@pytest.mark.parametrize("kind", ["idempotent", "compensable"])
async def test_a_repeatable_call_is_run_again_with_the_same_key(disk_stage: Stage, path: Path, kind: str) -> None:
    desks = await killed(disk_stage, path, kind)
    text = await woken(disk_stage, desks)

    (first, one), (second, two) = desks.noted("charge")
    assert first == second
    assert (one, two) == (1, 2)
    assert len(desks.noted("lookup")) == 1
    assert text == "told: lookup: customer 7 | charge: charged 500"


async def test_a_read_is_simply_read_again(disk_stage: Stage, path: Path) -> None:
    desks = await killed(disk_stage, path, "read")
    text = await woken(disk_stage, desks)

    assert [attempt for _, attempt in desks.noted("charge")] == [1, 2]
    assert text == "told: lookup: customer 7 | charge: charged 500"


async def test_b002_a_new_message_after_a_crash_is_heard_after_the_results(disk_stage: Stage, path: Path) -> None:
    desks = await killed(disk_stage, path, "irreversible")
    outcome = await desks.desk("say", "And now?")
    again = await desks.desk("say", "Still there?")

    assert outcome["type"] == again["type"] == "end_turn"
    assert again["text"] == "heard: Still there?"
    assert len(desks.noted("charge")) == 1
    first = disk_stage.sent[1]["messages"]
    assert [block["type"] for block in first[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert first[2]["content"][-1]["text"] == "And now?"


async def test_a_woken_session_that_rests_is_not_run_again(disk_stage: Stage, path: Path) -> None:
    desks = await killed(disk_stage, path, "irreversible")
    first = await desks.desk("wake")
    second = await desks.desk("wake")

    assert first == second
    assert len(disk_stage.sent) == 2
    assert len(await disk_stage.events()) == len({event.position for event in await disk_stage.events()})


POINTS = range(4, 24)
"""Appends 2 to 11 of a desk, each with the death right before it and right after it; the first two only begin."""


@pytest.mark.parametrize("kind", ["irreversible", "irreversible+ledger", "idempotent"])
async def test_a_kill_between_any_two_lines_leaves_a_session_that_goes_on(
    disk_stage: Stage, path: Path, kind: str
) -> None:
    """Law 1: write-ahead. Whatever the last line is, the next process finishes, and money moves at most once."""
    await disk_stage.plays(go("lookup", "charge"))
    desks = Desks(path, disk_stage.sim.base_url, kind)
    await desks.desk("every_start", POINTS.start, POINTS.stop)

    fates: Counter[str] = Counter()
    for point in POINTS:
        ledger = path.with_name(f"ledger.{point}")
        session = f"{S}.{point}"
        died_at = len(await disk_stage.events(session))
        outcome = await disk_stage.harness(agent(ledger, kind)).wake(session)

        assert isinstance(outcome, Ended), (point, died_at)
        charges = desks.noted("charge", ledger)
        unknown = "unknown" in outcome.text
        fates["unknown" if unknown else "charged"] += 1
        assert len({key for key, _ in charges}) <= 1
        if kind == "idempotent":
            assert not unknown
        else:
            assert len(charges) <= 1, (point, died_at)
            assert unknown or len(charges) == 1
        assert [body.name for body in await disk_stage.bodies(ToolEnded, session)] == ["lookup", "charge"]

    assert fates["charged"] >= 10
    assert bool(fates["unknown"]) is (kind == "irreversible")


async def test_a_process_that_dies_while_it_recovers_leaves_a_session_that_goes_on(
    disk_stage: Stage, path: Path
) -> None:
    """The first process dies inside an irreversible charge, the second at every line of the recovery from that."""
    await disk_stage.plays(go("lookup", "charge"))
    desks = Desks(path, disk_stage.sim.base_url, "irreversible+ledger")
    points = range(10)
    await desks.desk("every_wake", points.start, points.stop)

    for point in points:
        session, ledger = f"{S}.{point}", path.with_name(f"ledger.{point}")
        outcome = await disk_stage.harness(agent(ledger, desks.kind)).wake(session)

        assert isinstance(outcome, Ended)
        assert outcome.text == "told: lookup: customer 7 | charge: charged 500, says the bank"
        assert len(desks.noted("charge", ledger)) == 1
        starts = [body.attempt for body in await disk_stage.bodies(ToolStarted, session) if body.name == "charge"]
        assert starts == [1]


@pytest.mark.parametrize("effect", ["read", "idempotent", "irreversible"])
async def test_a_call_begun_by_older_code_is_never_put_to_a_tool_that_no_longer_takes_it(
    disk_stage: Stage, path: Path, effect: Any
) -> None:
    desks = await killed(disk_stage, path, effect)
    charged: list[str] = []

    async def charge(cents: int, currency: str) -> str:
        charged.append(currency)
        return "charged"

    today = disk_stage.agent(tool(charge, effect=effect), name="desk")
    outcome = await disk_stage.harness(today).wake(S)

    assert isinstance(outcome, Ended)
    assert "outcome of charge is unknown" in outcome.text
    assert charged == []
    assert len(desks.noted("charge")) == 1


async def test_a_call_whose_tool_is_gone_is_answered_with_the_truth(disk_stage: Stage, path: Path) -> None:
    await killed(disk_stage, path, "idempotent")
    outcome = await disk_stage.harness(disk_stage.agent(name="desk")).wake(S)

    assert isinstance(outcome, Ended)
    assert "lookup: customer 7" in outcome.text
    assert "no longer has the tool" in outcome.text


async def test_a_transactional_call_happens_once_wherever_the_process_dies(disk_stage: Stage, path: Path) -> None:
    """Its writes and its end are stored together, so a start without an end means that nothing was written."""
    await disk_stage.plays(go("lookup", "charge"))
    desks = Desks(path, disk_stage.sim.base_url, "transactional")
    await desks.desk("every_start", POINTS.start, POINTS.stop)
    await desks.desk("start", "after")
    sessions = [S, *(f"{S}.{point}" for point in POINTS)]

    for session in sessions:
        woken = disk_stage.harness(agent(path.with_name("ledger.woken"), "transactional"))
        assert await woken.wake(session) == Ended(text="told: lookup: customer 7 | charge: charged 500")

    with closing(sqlite3.connect(path)) as database:
        booked = Counter(session for (session,) in database.execute("select session from desk_charges"))
    assert booked == Counter(sessions)
