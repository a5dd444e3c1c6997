"""
Many hands on one session: other processes take it over, speak to it, stop it, and decide about its calls.

A harness keeps nothing of a session, so a second `Harness` on the same file is another process as far as anybody can
tell; where only a real one proves it, there is one.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relevo import (
    AlreadyDecided,
    AwaitingAction,
    DecisionExpired,
    Ended,
    Interrupted,
    LeaseLost,
    MovableClock,
    NothingToDecide,
    Outcome,
    Session,
    ToolContext,
    ToolError,
    tool,
)
from relevo.events import (
    ModelAnswered,
    SessionRunning,
    ToolConfirmation,
    ToolEnded,
    ToolStarted,
    UserMessage,
)
from relevo.simulator import Reply, call, say, think
from relevo.simulator.request import Request
from relevo.tools.tool import Tool

from .desks import Desks, S, go
from .stage import Stage
from .workers.desk import agent as desk_agent

DAY = 86_400.0


class Gate:
    """A tool that begins, says so, and ends when it is let."""

    def __init__(self, effect: Any = "irreversible") -> None:
        self.began = asyncio.Event()
        self.open = asyncio.Event()
        self.count = 0
        self.tool = tool(self.hold, name="hold", effect=effect, timeout_seconds=None)

    async def hold(self, n: int = 0) -> str:
        self.count += 1
        self.began.set()
        await self.open.wait()
        return "held"


def payer(paid: list[int], **options: Any) -> Tool[..., Any]:
    """`pay`, which always needs approval unless `options` say otherwise, and what it paid."""

    async def pay(cents: int, context: ToolContext) -> str:
        """Pay."""
        paid.append(cents)
        return f"paid {cents}"

    return tool(pay, **{"approve": True, **options})


async def test_the_older_process_stops_when_a_newer_one_takes_over(disk_stage: Stage) -> None:
    gate = Gate()
    await disk_stage.plays([call("hold"), say("Nobody knows.")])
    agent = disk_stage.agent(gate.tool)
    older = await disk_stage.begin(agent)
    driving = asyncio.create_task(older.run("Go."))
    await gate.began.wait()

    outcome = await disk_stage.harness(agent).wake(older.id)
    gate.open.set()
    with pytest.raises(LeaseLost):
        await driving

    assert outcome == Ended(text="Nobody knows.")
    assert gate.count == 1
    assert len(await disk_stage.bodies(ToolEnded)) == 1
    assert [body.epoch for body in await disk_stage.bodies(SessionRunning)] == [1, 2]


async def test_the_older_process_says_lease_lost_also_when_many_tools_run(disk_stage: Stage) -> None:
    """Reads run side by side; whoever drives must see one plain error, not a group of them."""
    gate = Gate("read")
    await disk_stage.plays([call("hold", {"n": 1}) + call("hold", {"n": 2}), say("Read again.")])
    agent = disk_stage.agent(gate.tool)
    older = await disk_stage.begin(agent)
    driving = asyncio.create_task(older.run("Go."))
    await gate.began.wait()

    newer = asyncio.create_task(disk_stage.harness(agent).wake(older.id))
    while gate.count < 4:
        await asyncio.sleep(0)
    gate.open.set()
    with pytest.raises(LeaseLost):
        await driving

    assert await newer == Ended(text="Read again.")
    assert len(await disk_stage.bodies(ToolEnded)) == 2


async def test_a_process_that_was_frozen_stops_when_it_thaws(disk_stage: Stage, path: Path) -> None:
    await disk_stage.plays(go("lookup", "charge"))
    desks = Desks(path, disk_stage.sim.base_url, "idempotent")
    frozen = await desks.process("start", "waits")
    assert frozen.stdout is not None
    assert await frozen.stdout.readline() == b"charging\n"
    frozen.send_signal(signal.SIGSTOP)

    outcome = await disk_stage.harness(desk_agent(desks.ledger, desks.kind)).wake(S)
    frozen.send_signal(signal.SIGCONT)
    said, _ = await frozen.communicate(b"go on\n")

    assert outcome == Ended(text="told: lookup: customer 7 | charge: charged 500")
    assert json.loads(said)["error"] == "LeaseLost"
    (first, _), (second, _) = desks.noted("charge")
    assert first == second
    assert len(await disk_stage.bodies(ToolEnded)) == 2


async def test_a_message_while_tools_run_is_heard_with_their_results(disk_stage: Stage) -> None:
    gate = Gate()
    await disk_stage.plays([call("hold"), say("Both then.")])
    agent = disk_stage.agent(gate.tool)
    session = await disk_stage.begin(agent)
    driving = asyncio.create_task(session.run("Go."))
    await gate.began.wait()

    await disk_stage.harness(agent).session(session.id).say("And hurry.")
    gate.open.set()

    assert await driving == Ended(text="Both then.")
    content = disk_stage.sent[-1]["messages"][-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]
    assert content[1]["text"] == "And hurry."


async def test_a_message_while_the_model_answers_is_heard_after_the_answer(disk_stage: Stage) -> None:
    speaking, answered = asyncio.Event(), asyncio.Event()

    async def brain(request: Request) -> str:
        if request.last_user_text == "Go.":
            speaking.set()
            await answered.wait()
            return "First."
        return "Second."

    await disk_stage.plays(brain)
    session = await disk_stage.begin(disk_stage.agent())
    driving = asyncio.create_task(session.run("Go."))
    await speaking.wait()

    await disk_stage.harness().session(session.id).say("Wait!")
    answered.set()

    assert await driving == Ended(text="Second.")
    said = [block["text"] for message in disk_stage.sent[-1]["messages"] for block in message["content"]]
    assert said == ["Go.", "First.", "Wait!"]


async def test_b020_two_equal_messages_are_both_heard(stage: Stage) -> None:
    await stage.plays([say("Sure?"), say("Done.")])
    session = await stage.begin(stage.agent())

    await session.run("yes")
    await session.run("yes")

    assert [message["content"][0]["text"] for message in stage.sent[-1]["messages"]] == ["yes", "Sure?", "yes"]


async def test_an_interrupt_while_tools_run_closes_what_is_open(disk_stage: Stage) -> None:
    gate = Gate()
    await disk_stage.plays([call("hold", {"n": 1}) + call("hold", {"n": 2}), say("As you wish.")])
    agent = disk_stage.agent(gate.tool)
    session = await disk_stage.begin(agent)
    driving = asyncio.create_task(session.run("Go."))
    await gate.began.wait()

    await disk_stage.harness(agent).session(session.id).interrupt("enough")
    gate.open.set()

    assert await driving == Interrupted(reason="enough")
    assert (await disk_stage.state()).open == {}
    assert await session.run("Go on.") == Ended(text="As you wish.")
    assert gate.count == 1, "what had not begun must not begin after somebody said stop"
    assert [result.get("is_error", False) for result in disk_stage.results()] == [False, True]


async def test_b007_an_interrupt_while_an_approval_is_open_closes_every_call(disk_stage: Stage) -> None:
    paid: list[int] = []

    @tool(effect="read")
    async def look() -> str:
        return "seen"

    await disk_stage.plays([call("pay", {"cents": 1}) + call("look") + call("pay", {"cents": 2}), say("Fine.")])
    session = await disk_stage.begin(disk_stage.agent(payer(paid), look))
    assert isinstance(await session.run("Go."), AwaitingAction)

    await session.interrupt()
    assert isinstance(await session.run(), Interrupted)
    assert await session.run("Anything else?") == Ended(text="Fine.")

    assert paid == []
    assert [result.get("is_error", False) for result in disk_stage.results()] == [True, False, True]


async def test_an_interrupt_during_backoff_sends_no_further_request(disk_stage: Stage) -> None:
    clock = MovableClock()
    disk_stage.clock = clock
    await disk_stage.plays([say("Too late.")], faults="http:status=429,retry_after=60@1")
    session = await disk_stage.begin(disk_stage.agent())
    driving = asyncio.create_task(session.run("Go."))
    await until(lambda: bool(clock.slept))

    await disk_stage.harness().session(session.id).interrupt()
    clock.advance(100)

    assert isinstance(await driving, Interrupted)
    assert len(disk_stage.sent) == 1
    assert await session.run("Again.") == Ended(text="Too late.")


async def until(done: Callable[[], bool]) -> None:
    """Let the others run until it is so."""
    while not done():
        await asyncio.sleep(0.001)


async def asked(stage: Stage, pay: Any, *, steps: list[Reply] | None = None, **options: Any) -> tuple[Session, str]:
    """A session that waits for one decision about `pay(500)`, and the call's id."""
    await stage.plays(steps or [think() + call("pay", {"cents": 500}), say("Thank you.")])
    session = await stage.begin(stage.agent(pay, **options))
    outcome = await session.run("Pay.")
    assert isinstance(outcome, AwaitingAction)
    (question,) = await session.questions()
    assert outcome.event_ids == (question.call_id,)
    return session, question.call_id


async def elsewhere(stage: Stage, session: Session, pay: Any, **options: Any) -> Outcome | None:
    """Wake it in another process."""
    return await stage.harness(stage.agent(pay, **options)).wake(session.id)


async def test_an_approval_from_another_process_runs_the_call_once_after_the_first_is_gone(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)
    other = disk_stage.harness().session(session.id)  # a door that does not even know the agent

    assert await other.approve(call_id, approver="ana@example.com") is True
    assert paid == []
    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")
    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")

    assert paid == [500]
    (decision,) = await disk_stage.bodies(ToolConfirmation)
    assert decision.approver == "ana@example.com"


async def test_b176_waking_without_a_decision_runs_nothing_and_asks_again_in_the_same_words(disk_stage: Stage) -> None:
    paid: list[int] = []
    session, call_id = await asked(disk_stage, payer(paid))
    before = await disk_stage.events()

    again = await elsewhere(disk_stage, session, payer(paid))

    assert again == AwaitingAction(event_ids=(call_id,))
    assert paid == []
    assert await disk_stage.events() == before
    await session.deny(call_id, approver="ana")
    await elsewhere(disk_stage, session, payer(paid))


async def test_b179_of_two_approvers_at_once_one_wins_and_an_equal_repeat_is_harmless(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)
    doors = [disk_stage.harness().session(session.id) for _ in range(4)]

    answers = await asyncio.gather(*(door.approve(call_id, approver=f"door {n}") for n, door in enumerate(doors)))
    with pytest.raises(AlreadyDecided):
        await session.deny(call_id, approver="late")
    with pytest.raises(AlreadyDecided):
        await session.approve(call_id, approver="other input", edited={"cents": 1})
    await elsewhere(disk_stage, session, pay)

    assert sorted(answers) == [False, False, False, True]
    assert await session.approve(call_id, approver="long after") is False
    assert paid == [500]
    assert len(await disk_stage.bodies(ToolConfirmation)) == 1


async def test_an_approval_and_a_denial_at_once_leave_one_decision(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)

    answers = await asyncio.gather(
        session.approve(call_id, approver="yes"), session.deny(call_id, approver="no"), return_exceptions=True
    )
    await elsewhere(disk_stage, session, pay)

    assert sorted(type(answer).__name__ for answer in answers) == ["AlreadyDecided", "bool"]
    (decision,) = await disk_stage.bodies(ToolConfirmation)
    assert paid == ([500] if decision.result == "allow" else [])


async def test_an_approval_after_three_days_still_counts(disk_stage: Stage) -> None:
    clock = MovableClock()
    disk_stage.clock = clock
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay, limits={"seconds": 60.0})
    clock.advance(3 * DAY)

    await session.approve(call_id, approver="ana")
    outcome = await elsewhere(disk_stage, session, pay, limits={"seconds": 60.0})

    assert outcome == Ended(text="Thank you."), "waiting is not work: the cap on seconds must not count it"
    assert paid == [500]


async def test_an_approval_that_came_too_late_is_refused_and_the_model_is_told(disk_stage: Stage) -> None:
    clock = MovableClock()
    disk_stage.clock = clock
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay, approval_seconds=DAY)
    clock.advance(2 * DAY)

    with pytest.raises(DecisionExpired):
        await session.approve(call_id, approver="ana")
    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")

    assert paid == []
    assert "nobody approved it in time" in disk_stage.results()[0]["content"]
    with pytest.raises(NothingToDecide):
        await session.approve(call_id, approver="ana")


async def test_an_approval_in_time_counts_even_if_the_session_is_woken_after_the_deadline(disk_stage: Stage) -> None:
    clock = MovableClock()
    disk_stage.clock = clock
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay, approval_seconds=DAY)
    clock.advance(DAY / 2)
    await session.approve(call_id, approver="ana")
    clock.advance(DAY)

    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")
    assert paid == [500]


async def test_b188_an_edited_input_is_what_runs_and_the_model_is_told(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)

    await session.approve(call_id, approver="ana", edited={"cents": 5})
    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")

    assert paid == [5]
    (started,) = await disk_stage.bodies(ToolStarted)
    assert started.input == {"cents": 5}
    asked_for = disk_stage.sent[-1]["messages"][1]["content"][-1]
    assert asked_for["input"] == {"cents": 500}
    result = disk_stage.results()[0]["content"]
    assert "paid 5" in result
    assert '{"cents":5}' in result, "the model asked for 500 and must learn that a person changed it"


async def test_b188_an_invalid_edit_is_refused_at_the_door_that_knows_the_tool(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)

    with pytest.raises(ToolError, match="cents"):
        await session.approve(call_id, approver="ana", edited={"cents": "lots"})

    assert paid == []
    assert await disk_stage.bodies(ToolConfirmation) == []
    await session.approve(call_id, approver="ana")
    await elsewhere(disk_stage, session, pay)
    assert paid == [500]


async def test_b188_an_invalid_edit_from_a_door_without_the_tool_is_refused_when_it_would_run(
    disk_stage: Stage,
) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)

    await disk_stage.harness().session(session.id).approve(call_id, approver="ana", edited={"cents": "lots"})
    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")

    assert paid == []
    (result,) = disk_stage.results()
    assert result["is_error"] is True
    assert "cents" in result["content"]


async def test_the_reason_of_a_denial_reaches_the_model(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)

    await disk_stage.harness().session(session.id).deny(call_id, approver="ana", reason="Over the budget of May.")
    assert await elsewhere(disk_stage, session, pay) == Ended(text="Thank you.")

    assert paid == []
    (result,) = disk_stage.results()
    assert result["is_error"] is True
    assert "Over the budget of May." in result["content"]


async def test_b005_b178_partial_decisions_are_durable_and_each_call_runs_once(disk_stage: Stage) -> None:
    paid: list[int] = []
    looked: list[int] = []
    pay = payer(paid, effect="idempotent")

    @tool(effect="read")
    async def look() -> str:
        looked.append(1)
        return "seen"

    three = call("pay", {"cents": 1}) + call("look") + call("pay", {"cents": 2}) + call("pay", {"cents": 3})
    await disk_stage.plays([three, say("Thank you.")])
    session = await disk_stage.begin(disk_stage.agent(pay, look))
    outcome = await session.run("Pay.")
    assert isinstance(outcome, AwaitingAction)
    first, second, third = outcome.event_ids
    assert looked == [1]

    def another() -> Any:
        return disk_stage.harness(disk_stage.agent(pay, look))

    await session.approve(second, approver="ana")
    assert await another().wake(session.id) == AwaitingAction(event_ids=(first, third))
    await session.deny(third, approver="ana")
    await another().wake(session.id)
    assert await another().wake(session.id) == AwaitingAction(event_ids=(first,))
    await session.approve(first, approver="ana")
    assert await another().wake(session.id) == Ended(text="Thank you.")

    assert sorted(paid) == [1, 2]
    assert looked == [1]
    assert [result.get("is_error", False) for result in disk_stage.results()] == [False, False, False, True]


async def test_b175_an_approval_covers_one_call_even_if_the_model_repeats_its_id(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    steps = [call("pay", {"cents": 1}, id="toolu_same"), call("pay", {"cents": 9_999}, id="toolu_same"), say("Well.")]
    session, call_id = await asked(disk_stage, pay, steps=steps)

    await session.approve(call_id, approver="ana")
    second = await elsewhere(disk_stage, session, pay)

    assert isinstance(second, AwaitingAction)
    assert second.event_ids != (call_id,)
    assert paid == [1]
    await session.deny(second.event_ids[0], approver="ana")
    await elsewhere(disk_stage, session, pay)
    assert paid == [1]


async def test_a_message_while_a_decision_is_open_waits_for_it(disk_stage: Stage) -> None:
    paid: list[int] = []
    pay = payer(paid)
    session, call_id = await asked(disk_stage, pay)

    assert isinstance(await session.run("Is it done?"), AwaitingAction)
    await session.approve(call_id, approver="ana")
    assert await session.run() == Ended(text="Thank you.")

    content = disk_stage.sent[-1]["messages"][-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]
    assert len(await disk_stage.bodies(UserMessage)) == 2


async def test_b184_an_approval_rule_that_fails_asks_a_person(disk_stage: Stage) -> None:
    paid: list[int] = []

    def rule(arguments: Any, context: ToolContext) -> bool:
        raise ZeroDivisionError

    pay = payer(paid, approve=rule)
    session, call_id = await asked(disk_stage, pay)

    assert "failed" in (await session.questions())[0].reason
    await session.deny(call_id, approver="ana")
    await session.run()
    assert paid == []


async def test_two_processes_that_wake_a_session_at_once_ask_the_model_for_one_answer_that_counts(
    disk_stage: Stage,
) -> None:
    await disk_stage.plays(lambda _: "Hello.")
    agent = disk_stage.agent()
    session = await disk_stage.begin(agent)
    await session.say("Hi.")

    answers = await asyncio.gather(
        *(disk_stage.harness(agent).wake(session.id) for _ in range(5)), return_exceptions=True
    )

    assert {type(answer) for answer in answers} <= {Ended, LeaseLost}
    assert Ended(text="Hello.") in answers
    assert len(await disk_stage.bodies(ModelAnswered)) == 1
