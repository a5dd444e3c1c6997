"""An operator's rules around calls, from the model's request to what it reads: exam task 1.5 of the tutorial's source."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from relevo import (
    AwaitingAction,
    Confirm,
    Deny,
    Ended,
    Guide,
    Hook,
    Note,
    Replace,
    Requires,
    State,
    ToolCall,
    Transform,
    tool,
)
from relevo.events import ToolEnded, ToolStarted, ToolWaiting
from relevo.simulator import call, say

from .stage import Stage

paid: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


@tool
async def refund(cents: int) -> str:
    """Pay back."""
    paid.append(cents)
    return f"paid {cents}"


def over(limit: int, answer: Any) -> Hook:
    """Blocks above a threshold."""

    def rule(asked: ToolCall, state: State) -> Any:
        return answer if asked.input["cents"] > limit else None

    return Hook(name="threshold", before=rule, tools=["refund"])


async def test_a_call_over_the_threshold_is_not_run_and_the_model_is_sent_another_way(any_stage: Stage) -> None:
    @tool
    async def escalate(reason: str) -> str:
        return "a person was told"

    rule = over(50_000, Guide("Refunds over 500 need a person: call escalate with the reason."))
    await any_stage.plays(
        [
            call("refund", {"cents": 60_000}),
            call("escalate", {"reason": "large"}),
            call("refund", {"cents": 5}),
            say("ok"),
        ]
    )
    await any_stage.run(any_stage.agent(refund, escalate, hooks=[rule]))

    assert paid == [5]
    first = (await any_stage.bodies(ToolEnded))[0]
    assert (first.error["code"], first.error["category"], first.error["outcome"]) == (
        "guided",
        "business",
        "not_executed",
    )
    assert "call escalate" in first.content


async def test_a_denied_call_leaves_no_intent(stage: Stage) -> None:
    await stage.plays([call("refund", {"cents": 5}), say("ok")])
    await stage.run(stage.agent(refund, hooks=[over(0, Deny("Refunds are closed today."))]))

    assert paid == []
    assert await stage.bodies(ToolStarted) == []
    assert "closed today" in stage.results()[0]["content"]


async def test_a_transformed_input_is_what_runs_and_the_model_is_told(stage: Stage) -> None:
    def capped(asked: ToolCall, state: State) -> Any:
        return Transform({"cents": min(asked.input["cents"], 100)})

    await stage.plays([call("refund", {"cents": 500}), say("ok")])
    await stage.run(stage.agent(refund, hooks=[Hook(name="cap", before=capped)]))

    assert paid == [100]
    (started,) = await stage.bodies(ToolStarted)
    assert started.input == {"cents": 100}
    assert 'A rule of this system changed the input of this call to {"cents":100}' in str(stage.results()[0]["content"])


async def test_an_input_that_a_rule_made_invalid_is_not_run(stage: Stage) -> None:
    await stage.plays([call("refund", {"cents": 500}), say("ok")])
    await stage.run(
        stage.agent(refund, hooks=[Hook(name="odd", before=lambda asked, state: Transform({"cents": "x"}))])
    )

    assert paid == []
    assert (await stage.ended())["refund"].is_error


async def test_who_must_confirm_sees_and_approves_what_will_really_run(stage: Stage) -> None:
    cap = Hook(name="cap", before=lambda asked, state: Transform({"cents": 100}))
    await stage.plays([call("refund", {"cents": 500}), say("ok")])
    session = await stage.begin(stage.agent(refund, hooks=[cap, over(50, Confirm("more than 50"))]))

    assert isinstance(await session.run("Go."), AwaitingAction)
    (question,) = await session.questions()
    assert (question.input, question.reason) == ({"cents": 100}, "more than 50")
    (waiting,) = await stage.bodies(ToolWaiting)
    assert waiting.input == {"cents": 100}
    await session.approve(question.call_id, approver="ann")
    assert await session.run() == Ended(text="ok")
    assert paid == [100]


async def test_what_a_person_approved_is_not_asked_about_again_but_a_new_rule_can_still_deny_it(stage: Stage) -> None:
    await stage.plays([call("refund", {"cents": 500}), say("ok")])
    agent = stage.agent(refund, hooks=[over(50, Confirm("more than 50"))])
    session = await stage.begin(agent)
    await session.run("Go.")
    (question,) = await session.questions()
    await session.approve(question.call_id, approver="ann")
    closed = stage.agent(refund, hooks=[over(0, Deny("closed"))])

    assert await stage.harness(closed).wake(session.id) == Ended(text="ok")
    assert paid == []


async def test_formats_are_normalised_before_the_model_reads_them(stage: Stage) -> None:
    """Three tools, three ways to write a moment: the model and the gates see one."""

    @tool(effect="read")
    async def unix() -> dict[str, Any]:
        return {"at": 1_796_000_000}

    @tool(effect="read")
    async def iso() -> dict[str, Any]:
        return {"at": "2026-11-29T23:33:20+00:00"}

    def normal(asked: ToolCall, ending: Any, state: State) -> Any:
        at = ending.data["at"]
        day = datetime.fromtimestamp(at, UTC).date() if isinstance(at, int) else datetime.fromisoformat(at).date()
        return Replace(f"at {day:%Y-%m}", {"at": f"{day:%Y-%m}"})

    await stage.plays([call("unix") + call("iso"), say("ok")])
    await stage.run(stage.agent(unix, iso, hooks=[Hook(name="dates", after=normal)]))

    assert [result["content"] for result in stage.results()] == ["at 2026-11", "at 2026-11"]
    assert [body.data for body in await stage.bodies(ToolEnded)] == [{"at": "2026-11"}, {"at": "2026-11"}]


async def test_what_is_redacted_is_neither_sent_nor_logged(stage: Stage) -> None:
    @tool(effect="read")
    async def card() -> str:
        return "card 4111 1111 1111 1111, valid"

    def redact(asked: ToolCall, ending: Any, state: State) -> Any:
        return Replace(re.sub(r"\d{4}( \d{4}){3}", "[card]", ending.content))

    await stage.plays([call("card"), say("ok")])
    await stage.run(stage.agent(card, hooks=[Hook(name="pci", after=redact)]))

    assert stage.results()[0]["content"] == "card [card], valid"
    assert "4111" not in str(await stage.events())
    assert "4111" not in str(stage.sent)


async def test_a_note_stands_behind_the_result(stage: Stage) -> None:
    await stage.plays([call("refund", {"cents": 5}), say("ok")])
    await stage.run(stage.agent(refund, hooks=[Hook(name="n", after=lambda *_: Note("Tell the customer: 3 days."))]))

    (ended,) = await stage.bodies(ToolEnded)
    assert (ended.content, ended.note) == ("paid 5", "Tell the customer: 3 days.")


async def test_a_hook_judges_by_what_was_done_before(stage: Stage) -> None:
    """The state is the log's: a second refund is stopped also after a wake elsewhere."""

    def once(asked: ToolCall, state: State) -> Any:
        return Deny("one refund a session") if any(state.results("refund")) else None

    agent = stage.agent(refund, hooks=[Hook(name="once", before=once)])
    await stage.plays([call("refund", {"cents": 5}), say("one"), call("refund", {"cents": 6}), say("two")])
    session = await stage.begin(agent)
    await session.run("Go.")
    await stage.harness(agent).session(session.id).run("Again.")

    assert paid == [5]


async def test_a_gate_holds_for_what_a_rule_made_of_the_input(stage: Stage) -> None:
    """A hook cannot smuggle a call past its prerequisite: it is the changed input that must be covered."""

    @tool(effect="read")
    async def verify(customer_id: str) -> dict[str, str]:
        return {"customer_id": customer_id}

    @tool(requires=Requires("verify", {"customer_id": "customer_id"}))
    async def pay(customer_id: str) -> str:
        paid.append(1)
        return "paid"

    other = Hook(name="other", before=lambda asked, state: Transform({"customer_id": "eve"}), tools=["pay"])
    await stage.plays([call("verify", {"customer_id": "ann"}), call("pay", {"customer_id": "ann"}), say("ok")])
    await stage.run(stage.agent(verify, pay, hooks=[other]))

    assert paid == []


async def test_hooks_are_code_and_leave_no_trace_in_the_record(stage: Stage) -> None:
    hooked = stage.agent(refund, hooks=[over(1, Deny("no"))])

    assert hooked.record() == stage.agent(refund).record()
    await stage.plays([])
