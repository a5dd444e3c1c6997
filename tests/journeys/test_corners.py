"""Where two features meet: long logs and snapshots, order and approval, updates and turns, stop and go."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from relevo import (
    AwaitingAction,
    Ended,
    Interrupted,
    InvalidAgent,
    InvalidValue,
    MovableClock,
    NotDone,
    NothingToDecide,
    SqliteLog,
    ToolContext,
    tool,
)
from relevo.events import RequestStarted, SessionUpdated, ToolEnded, ToolStarted, ToolWaiting
from relevo.simulator import Reply, call, say, think
from relevo.simulator.request import Request
from relevo.tools.endings import Waiting

from .stage import Stage


@tool(effect="read")
async def look(n: int = 0) -> str:
    return f"seen {n}"


async def test_a_long_session_is_woken_from_its_snapshot_and_sends_the_same_bytes(disk_stage: Stage) -> None:
    def brain(request: Request) -> Reply:
        count = len(request.new_results) and len(request.results)
        return (
            say(f"done {len(request.user_texts)}") if count % 130 == 129 else think("on") + call("look", {"n": count})
        )

    await disk_stage.plays(lambda request: brain(request) if request.last_user_text == "Go." else say("And on."))
    agent = disk_stage.agent(look, limits={"turns": None, "tool_calls": None})
    session = await disk_stage.begin(agent)
    assert await session.run("Go.") == Ended(text="done 1")
    assert await disk_stage.log.load_snapshot(session.id) is not None

    for _ in range(3):
        assert await disk_stage.harness(agent).session(session.id).run("More.") == Ended(text="And on.")
    assert await session.state() == await disk_stage.state()


@pytest.mark.parametrize("answer", ["approve", "deny"])
async def test_an_effect_behind_one_that_waits_keeps_its_place(stage: Stage, answer: str) -> None:
    story: list[str] = []

    async def pay(cents: int) -> str:
        story.append(f"pay {cents}")
        return "paid"

    async def ship() -> str:
        story.append("ship")
        return "shipped"

    await stage.plays([call("pay", {"cents": 1}) + call("look") + call("ship"), say("ok")])
    session = await stage.begin(stage.agent(tool(pay, approve=True), tool(ship), look))
    outcome = await session.run("Go.")

    assert isinstance(outcome, AwaitingAction)
    assert len(outcome.event_ids) == 1, "only a person's calls are listed"
    assert story == []
    behind = [body for body in await stage.bodies(ToolWaiting) if body.name == "ship"]
    with pytest.raises(NothingToDecide):
        await session.approve(behind[0].tool_use_id, approver="ana")
    if answer == "approve":
        await session.approve(outcome.event_ids[0], approver="ana")
    else:
        await session.deny(outcome.event_ids[0], approver="ana")

    assert await session.run() == Ended(text="ok")
    assert story == (["pay 1", "ship"] if answer == "approve" else ["ship"])
    assert [result["tool_use_id"] for result in stage.results()] == [
        block["id"] for block in stage.sent[-1]["messages"][1]["content"]
    ]


async def test_stop_and_then_go_answers_what_was_said_after_the_stop(stage: Stage) -> None:
    await stage.plays([say("Both.")])
    session = await stage.begin(stage.agent())
    await session.say("One.")
    await session.interrupt()
    await session.say("Two.")

    outcome = await session.run()

    assert outcome == Ended(text="Both.")
    assert [message["content"][0]["text"] for message in stage.sent[0]["messages"]] == ["One.", "Two."]


async def test_a_stop_before_anything_was_asked_asks_nothing(stage: Stage) -> None:
    await stage.plays([say("Now.")])
    session = await stage.begin(stage.agent())
    await session.interrupt("too early")
    await session.say("One.")
    await session.interrupt("wait")

    assert await session.run() == Interrupted(reason="wait")
    assert stage.sent == []
    assert await session.run("Now.") == Ended(text="Now.")


async def test_a_stop_reason_of_tool_use_without_a_call_is_an_answer(any_stage: Stage) -> None:
    await any_stage.plays([say("No call.", stop_reason="tool_use")])

    assert await any_stage.run(any_stage.agent()) == Ended(text="No call.")


@pytest.mark.parametrize("kind", ["approval", "order"])
async def test_what_only_the_gate_may_wait_for_a_tool_may_not(stage: Stage, kind: str) -> None:
    """Else a tool could put a question to a person that no rule asked, or wait for ever unseen."""

    async def export() -> Any:
        return Waiting({"type": kind, "after": "nobody", "reason": "forged"})

    await stage.plays([call("export"), say("ok")])

    assert await stage.run(stage.agent(tool(export))) == Ended(text="ok")
    assert stage.results()[0]["is_error"] is True


async def test_a_stop_during_the_question_what_became_of_a_call_keeps_it_from_running_again(stage: Stage) -> None:
    began: list[int] = []

    async def pay() -> str:
        began.append(1)
        await asyncio.Event().wait()
        return "paid"

    async def ask(arguments: Any, context: ToolContext) -> Any:
        await session.interrupt("stop")
        return NotDone()

    await stage.plays([call("pay"), say("As you wish.")])
    session = await stage.begin(agent := stage.agent(tool(pay, reconcile=ask)))
    driving = asyncio.create_task(session.run("Go."))
    while not began:
        await asyncio.sleep(0.001)
    driving.cancel()
    await asyncio.wait([driving])

    assert await stage.harness(agent).wake(session.id) == Interrupted(reason="stop")
    assert began == [1]
    assert await session.run("Fine.") == Ended(text="As you wish.")


@pytest.mark.parametrize("edited", [{"cents": float("nan")}, {"cents": object()}, {1: 2}])
async def test_an_edit_that_is_no_json_is_refused(stage: Stage, edited: Any) -> None:
    async def pay(cents: int) -> str:
        return "paid"

    await stage.plays([call("pay", {"cents": 1}), say("ok")])
    session = await stage.begin(stage.agent(tool(pay, approve=True)))
    outcome = await session.run("Go.")
    assert isinstance(outcome, AwaitingAction)

    with pytest.raises(InvalidValue):
        await session.approve(outcome.event_ids[0], approver="ana", edited=edited)
    await session.deny(outcome.event_ids[0], approver="ana")
    await session.run()


async def test_an_agent_without_tools_does_not_take_over_a_session_with_calls(stage: Stage) -> None:
    """The API refuses calls in the messages of a request that defines no tool: the session would be bricked."""
    await stage.plays([call("look"), say("one"), say("two")])
    session = await stage.begin(stage.agent(look))
    await session.run("Go.")
    bare = stage.harness(agent := stage.agent())

    with pytest.raises(InvalidAgent, match="tool"):
        await bare.session(session.id).update(agent)

    assert await session.run("Go on.") == Ended(text="two")
    assert await stage.bodies(SessionUpdated) == []


async def test_an_update_does_not_change_a_turn_that_is_under_way(stage: Stage) -> None:
    """Also not between two attempts, where neither a call nor a request is open."""
    clock = MovableClock()
    stage.clock = clock
    stage.forgets = True
    await stage.plays([say("one"), say("two")], faults="http:status=529,retry_after=60@1")
    session = await stage.begin(stage.agent())
    driving = asyncio.create_task(session.run("Go."))
    while not clock.slept:
        await asyncio.sleep(0.001)

    other = stage.agent(model="claude-sonnet-5-5")
    door = stage.harness(other).session(session.id)
    with pytest.raises(InvalidAgent, match="middle"):
        await door.update(other)
    clock.advance(61)
    await driving
    await door.update(other)
    await door.run("And now?")

    assert [body["model"] for body in stage.sent] == ["claude-opus-5-5", "claude-opus-5-5", "claude-sonnet-5-5"]
    assert [body.model for body in await stage.bodies(RequestStarted)] == [body["model"] for body in stage.sent]


class Booker:
    """A transactional tool that can be held in the middle."""

    def __init__(self) -> None:
        self.began, self.go_on = asyncio.Event(), asyncio.Event()
        self.fails = False
        self.tool = tool(self.book, effect="transactional", timeout_seconds=None)

    async def book(self, n: int, context: ToolContext) -> str:
        assert context.transaction is not None
        await context.transaction.execute("create table if not exists desk_bookings (n integer)")
        await context.transaction.execute("insert into desk_bookings values (?)", (n,))
        self.began.set()
        await self.go_on.wait()
        if self.fails:
            raise RuntimeError
        return "booked"


async def booked(path: Path) -> int:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as database:
        try:
            return int(database.execute("select count(*) from desk_bookings").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


async def test_a_transactional_call_that_fails_leaves_nothing_and_is_an_error_result(
    disk_stage: Stage, path: Path
) -> None:
    booker = Booker()
    booker.fails = True
    booker.go_on.set()
    await disk_stage.plays([call("book", {"n": 1}), say("ok")])

    assert await disk_stage.run(disk_stage.agent(booker.tool)) == Ended(text="ok")
    assert disk_stage.results()[0]["is_error"] is True
    assert await booked(path) == 0


async def test_a_transactional_call_that_is_cancelled_leaves_nothing_and_runs_when_woken(
    disk_stage: Stage, path: Path
) -> None:
    booker = Booker()
    await disk_stage.plays([call("book", {"n": 1}), say("ok")])
    session = await disk_stage.begin(agent := disk_stage.agent(booker.tool))
    driving = asyncio.create_task(session.run("Go."))
    await booker.began.wait()
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    booker.go_on.set()

    assert await booked(path) == 0
    assert await disk_stage.harness(agent).wake(session.id) == Ended(text="ok")
    assert await booked(path) == 1
    (ended,) = await disk_stage.bodies(ToolEnded)
    assert ended.content == "booked"


async def test_who_speaks_during_a_transactional_call_waits_for_it_and_is_heard(disk_stage: Stage, path: Path) -> None:
    booker = Booker()
    await disk_stage.plays(lambda request: say("Heard.") if request.results else call("book", {"n": 1}))
    session = await disk_stage.begin(agent := disk_stage.agent(booker.tool))
    driving = asyncio.create_task(session.run("Go."))
    await booker.began.wait()
    elsewhere = SqliteLog(path)
    here = asyncio.create_task(session.say("From here."))
    there = asyncio.create_task(disk_stage.harness(log=elsewhere).session(session.id).say("From there."))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not here.done()
    assert not there.done()
    booker.go_on.set()

    assert await driving == Ended(text="Heard.")
    await asyncio.gather(here, there)  # soon enough for the turn, or after it
    await elsewhere.close()
    assert await disk_stage.harness(agent).wake(session.id) == Ended(text="Heard.")
    assert await booked(path) == 1
    heard = [block.get("text") for message in disk_stage.sent[-1]["messages"] for block in message["content"]]
    assert {"From here.", "From there."} <= set(heard)


async def test_a_transactional_call_on_a_log_without_a_database_says_so(stage: Stage) -> None:
    booker = Booker()
    await stage.plays([call("book", {"n": 1}), say("ok")])

    assert await stage.run(stage.agent(booker.tool)) == Ended(text="ok")
    assert stage.results()[0]["is_error"] is True
    assert not booker.began.is_set()


async def test_an_approved_call_is_judged_again_when_its_prerequisite_was_replaced(stage: Stage) -> None:
    """Approval does not open a gate: the requirement is asked when the call runs, not when it was proposed."""
    from relevo import Requires

    paid: list[int] = []

    @tool(effect="read")
    async def get_customer(name: str) -> dict[str, Any]:
        return {"id": 7 if name == "ana" else 8}

    async def pay(customer_id: int) -> str:
        paid.append(customer_id)
        return "paid"

    payer = tool(pay, approve=True, requires=Requires("get_customer", customer_id="id"))
    both = call("pay", {"customer_id": 7}) + call("get_customer", {"name": "bob"})
    await stage.plays([call("get_customer", {"name": "ana"}), both, say("ok")])
    session = await stage.begin(stage.agent(get_customer, payer))
    outcome = await session.run("Go.")
    assert isinstance(outcome, AwaitingAction)

    await session.approve(outcome.event_ids[0], approver="ana")
    assert await session.run() == Ended(text="ok")

    assert paid == []
    assert "get_customer" in stage.results()[0]["content"]
    assert [body.name for body in await stage.bodies(ToolStarted)] == ["get_customer", "get_customer"]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("claude-haiku-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2_000}}),
        ("claude-sonnet-4-6", {"effort": "max"}),
        ("claude-opus-4-8", {"effort": "low"}),
        ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5", {"thinking": {"type": "disabled"}}),
        ("claude-opus-5-5", {"cache": False}),
        ("claude-mythos-5-2", {}),
        ("claude-fable-5", {}),
    ],
    ids=repr,
)
async def test_an_agent_that_can_be_made_can_hold_a_conversation(
    stage: Stage, model: str, options: dict[str, Any]
) -> None:
    try:
        agent = stage.agent(look, model=model, system="Be brief. " * 400, **options)
    except InvalidAgent:
        await stage.plays([])
        return
    await stage.plays([think("hm") + call("look"), think("aha") + say("one"), say("two")])
    session = await stage.begin(agent)

    assert await session.run("Go.") == Ended(text="one")
    assert await session.run("Go on.") == Ended(text="two")
