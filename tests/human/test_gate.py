"""May this call run? The same answer on every machine, and never a careless yes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import Call, sha256
from relevo.errors import ToolError
from relevo.events import ToolConfirmation, ToolStarted
from relevo.human.gate import Ask, Refuse, Start, Suspend, judge, unknown_outcome
from relevo.state import Fact, OpenCall, State, Status
from relevo.tools import Requires, Tool, ToolContext, tool
from relevo.tools.effects import EFFECTS, RECOVERY, Effect, Recovery
from relevo.tools.endings import NotDone
from relevo.tools.toolbox import Toolbox
from tests.worlds import START

NOW = START


def refund(amount: int, customer_id: str = "c1") -> str:
    """Pay money back."""
    return str(amount)


def made(
    effect: Effect = "irreversible", *, approve: Any = None, reconcile: Any = None, requires: Any = ()
) -> Tool[..., Any]:
    function: Any = refund
    if effect == "transactional":

        async def refund_in_transaction(amount: int, customer_id: str = "c1") -> str:
            """Pay money back."""
            return str(amount)

        function = refund_in_transaction
    return tool(function, name="refund", effect=effect, approve=approve, reconcile=reconcile, requires=requires)


def opened(given_: Any = None, *, name: str = "refund", call_id: str = "sevt_1_4.0", **more: Any) -> OpenCall:
    return OpenCall(Call(call_id, "toolu_1", name, {"amount": 5} if given_ is None else given_, 0), **more)


def judged(call: OpenCall, *tools: Tool[..., Any], state: State | None = None, others: Any = (), now: Any = NOW) -> Any:
    calls = (*others, call)
    state = replace(state or State(session_id="sesn_1"), open={each.call.id: each for each in calls})
    context = ToolContext(session_id="sesn_1", call_id=call.call.id, tool=call.call.name, identity={"user": "u1"})
    return judge(call, Toolbox(tools), state, context, now=now)


def decided(
    result: Any = "allow", *, about: Any = None, edited: Any = None, message: str | None = None
) -> dict[str, Any]:
    """A call that a person has decided about."""
    decision = ToolConfirmation(
        tool_use_id="sevt_1_4.0",
        result=result,
        approver="ann",
        input_sha256=sha256({"amount": 5} if about is None else about),
        input=edited,
        deny_message=message,
    )
    return {"status": Status.DECIDED, "decision": decision, "until": {"type": "approval"}}


def begun(effect: Effect = "irreversible", given_: Any = None, attempt: int = 1, **more: Any) -> dict[str, Any]:
    """A call that a process which is gone has begun."""
    started = ToolStarted(
        tool_use_id="sevt_1_4.0", name="refund", input=given_ or {"amount": 5}, effect=effect, key="k", attempt=attempt
    )
    return {"status": Status.STARTED, "started": started, **more}


def facts(*results: tuple[str, Any]) -> State:
    """A session with these successful results, oldest first."""
    newest: Fact | None = None
    for place, (name, data) in enumerate(results, 1):
        newest = Fact(place, name, {}, data, newest)
    return State(session_id="sesn_1", facts=newest)


def noting(seen: list[Any]) -> Any:
    """A rule that lets everything run and notes what it was asked."""

    def rule(arguments: Any, context: ToolContext) -> bool:
        seen.append((arguments, context))
        return False

    return rule


class TestOrdinaryCalls:
    def test_a_call_that_needs_nobody_starts_with_what_was_asked(self) -> None:
        action = judged(opened(), made())

        assert isinstance(action, Start)
        assert (action.input, action.attempt) == ({"amount": 5}, 1)

    @pytest.mark.parametrize("name", ["nope", "constructor", "__class__", "", "REFUND", "refund "])
    def test_tutorial_2_3_a_name_that_is_no_tool_is_refused_and_the_tools_are_named(self, name: str) -> None:
        action = judged(opened(name=name), made())

        assert isinstance(action, Refuse)
        assert (action.error.code, action.error.outcome) == ("unknown_tool", "not_executed")
        assert "refund" in action.error.message

    def test_a_call_marked_as_refused_is_not_looked_at(self) -> None:
        action = judged(opened(refused="its input was not a JSON object"), made())

        assert isinstance(action, Refuse)
        assert (action.error.code, action.error.outcome) == ("not_called", "not_executed")

    @pytest.mark.parametrize(
        "wrong", [{}, {"amount": "much"}, {"amount": 5, "note": "x"}, [], 1, "s", True, {"_raw": "{"}]
    )
    def test_B032_B033_an_input_that_is_not_valid_is_refused(self, wrong: Any) -> None:
        action = judged(opened(wrong), made(approve=lambda _arguments, _context: False))

        assert isinstance(action, Refuse)
        assert action.error.outcome == "not_executed"

    @given(st.integers() | st.text() | st.none() | st.lists(st.integers()) | st.dictionaries(st.text(), st.integers()))
    def test_no_input_whatever_makes_the_gate_raise(self, given_: Any) -> None:
        assert isinstance(judged(replace(opened(), call=Call("c", "t", "refund", given_, 0)), made()), Start | Refuse)


class TestApproval:
    @pytest.mark.parametrize("rule", [True, lambda _arguments, _context: True, lambda _arguments, _context: "large"])
    def test_a_call_that_needs_a_person_waits_bound_to_its_input(self, rule: Any) -> None:
        action = judged(opened(), made(approve=rule))

        assert isinstance(action, Suspend)
        assert (action.until["type"], action.until["input_sha256"]) == ("approval", sha256({"amount": 5}))
        assert action.until["reason"]

    @pytest.mark.parametrize("rule", [lambda _a, _c: 1 / 0, lambda _a, _c: None, lambda _a, _c: 0, lambda _a, _c: []])
    def test_B184_a_rule_that_fails_or_gives_no_decision_asks(self, rule: Any) -> None:
        assert isinstance(judged(opened(), made(approve=rule)), Suspend)

    @pytest.mark.parametrize("rule", [None, False, lambda _arguments, _context: False])
    def test_only_a_plain_no_lets_it_run(self, rule: Any) -> None:
        assert isinstance(judged(opened(), made(approve=rule)), Start)

    def test_a_rule_sees_typed_arguments_and_the_identity_of_the_channel(self) -> None:
        seen: list[Any] = []

        judged(opened({"amount": 7}), made(approve=noting(seen)))

        ((arguments, context),) = seen
        assert arguments == {"amount": 7, "customer_id": "c1"}
        assert context.identity == {"user": "u1"}

    def test_tutorial_3_1_nothing_the_model_says_is_an_identity(self) -> None:
        seen: list[Any] = []
        rule = made(approve=noting(seen))

        judged(opened({"amount": 7, "customer_id": "admin"}), rule)

        ((_, context),) = seen
        assert context.identity == {"user": "u1"}

    @pytest.mark.parametrize(
        ("seconds", "expires"),
        [(None, None), (0, NOW), (90, NOW + timedelta(seconds=90)), (0.5, NOW + timedelta(seconds=0.5))],
    )
    def test_it_expires_when_the_agent_says(self, seconds: Any, expires: Any) -> None:
        state = State(session_id="sesn_1", agent={"approval_seconds": seconds})

        action = judged(opened(), made(approve=True), state=state)

        assert action.until["expires_at"] == (None if expires is None else expires.isoformat())

    @pytest.mark.parametrize("rule", [True, False])
    def test_one_that_comes_back_undecided_is_refused_also_when_the_rule_has_changed(self, rule: bool) -> None:
        waited = opened(status=Status.WAITING, until={"type": "approval", "expires_at": NOW.isoformat()})

        action = judged(waited, made(approve=rule))

        assert isinstance(action, Refuse)
        assert action.error.code == "approval_expired"

    def test_B176_an_undecided_call_of_a_log_is_asked_about_again_not_run(self) -> None:
        assert isinstance(judged(opened(status=Status.PROPOSED), made(approve=True)), Suspend)


class TestDecisions:
    def test_an_allowed_call_runs_as_proposed(self) -> None:
        action = judged(opened(**decided()), made(approve=True))

        assert isinstance(action, Start)
        assert action.input == {"amount": 5}

    @pytest.mark.parametrize(("message", "shown"), [(None, "denied it."), ("too much", "denied it: too much")])
    def test_B190_a_denied_call_is_refused_and_the_model_reads_why(self, message: Any, shown: str) -> None:
        action = judged(opened(**decided("deny", message=message)), made(approve=True))

        assert isinstance(action, Refuse)
        assert (action.error.code, action.error.outcome) == ("denied", "not_executed")
        assert shown in action.error.message

    def test_B175_a_decision_about_another_input_does_not_count(self) -> None:
        action = judged(opened(**decided(about={"amount": 500})), made(approve=True))

        assert isinstance(action, Refuse)
        assert action.error.code == "not_this_input"

    @given(
        st.dictionaries(
            st.sampled_from(["amount", "customer_id"]), st.integers(0, 3) | st.booleans() | st.text(max_size=1)
        )
    )
    def test_B175_a_decision_counts_for_the_very_input_it_was_taken_about(self, other: Any) -> None:
        proposed = {"amount": 1, "customer_id": "c"}

        action = judged(opened(proposed, **decided(about=other)), made(approve=True))

        assert isinstance(action, Start) == (sha256(other) == sha256(proposed))

    def test_B188_an_edited_input_is_what_runs(self) -> None:
        action = judged(opened(**decided(edited={"amount": 1})), made(approve=True))

        assert isinstance(action, Start)
        assert action.input == {"amount": 1}

    def test_B188_an_edited_input_is_validated_again(self) -> None:
        action = judged(opened(**decided(edited={"amount": "one"})), made(approve=True))

        assert isinstance(action, Refuse)

    def test_B188_an_edited_input_must_meet_the_prerequisites_too(self) -> None:
        needs = made(approve=True, requires=Requires("get_customer", customer_id="id"))
        edited = opened(
            {"amount": 5, "customer_id": "c1"},
            **decided(about={"amount": 5, "customer_id": "c1"}, edited={"amount": 5, "customer_id": "c2"}),
        )

        action = judged(edited, needs, state=facts(("get_customer", {"id": "c1"})))

        assert isinstance(action, Refuse)
        assert action.error.code == "prerequisite_missing"


class TestPrerequisites:
    needs = staticmethod(lambda: made(requires=Requires("get_customer", customer_id="customer.id")))
    asked: ClassVar = {"amount": 5, "customer_id": "c1"}

    def test_without_a_result_it_is_refused_and_the_remedy_named(self) -> None:
        action = judged(opened(self.asked), self.needs())

        assert isinstance(action, Refuse)
        assert (action.error.code, action.error.outcome) == ("prerequisite_missing", "not_executed")
        assert "get_customer" in action.error.message
        assert "customer_id" in action.error.message

    def test_with_a_result_about_the_same_thing_it_runs(self) -> None:
        assert isinstance(
            judged(opened(self.asked), self.needs(), state=facts(("get_customer", {"customer": {"id": "c1"}}))), Start
        )

    def test_tutorial_3_5_a_later_result_replaces_an_earlier_one(self) -> None:
        replaced = facts(("get_customer", {"customer": {"id": "c1"}}), ("get_customer", {"customer": {"id": "c2"}}))

        assert isinstance(judged(opened(self.asked), self.needs(), state=replaced), Refuse)

    def test_results_of_other_tools_in_between_replace_nothing(self) -> None:
        state = facts(("get_customer", {"customer": {"id": "c1"}}), ("get_order", {"customer": {"id": "c2"}}))

        assert isinstance(judged(opened(self.asked), self.needs(), state=state), Start)

    def test_a_prerequisite_is_judged_before_a_person_is_asked(self) -> None:
        needs = made(approve=True, requires=Requires("get_customer", customer_id="customer.id"))

        assert isinstance(judged(opened(self.asked), needs), Refuse)


class TestOrder:
    first = staticmethod(lambda: opened(call_id="sevt_1_4.1", status=Status.WAITING, until={"type": "approval"}))

    @pytest.mark.parametrize("effect", [effect for effect in EFFECTS if effect != "read"])
    def test_an_effect_waits_for_an_earlier_effect_that_waits(self, effect: Effect) -> None:
        action = judged(opened(), made(effect), others=[self.first()])

        assert isinstance(action, Suspend)
        assert action.until == {"type": "order", "after": "sevt_1_4.1"}

    def test_a_read_waits_for_nobody(self) -> None:
        assert isinstance(judged(opened(), made("read"), others=[self.first()]), Start)

    def test_an_effect_does_not_wait_for_a_read_that_waits(self) -> None:
        read = tool(refund, name="look", effect="read")
        waits = opened(name="look", call_id="sevt_1_4.1", status=Status.WAITING, until={"type": "job"})

        assert isinstance(judged(opened(), made(), read, others=[waits]), Start)

    def test_nor_for_a_call_that_stands_after_it(self) -> None:
        call, later = opened(), self.first()
        state = State(session_id="sesn_1", open={each.call.id: each for each in (call, later)})
        context = ToolContext(session_id="sesn_1", call_id=call.call.id)

        assert isinstance(judge(call, Toolbox([made()]), state, context, now=NOW), Start)

    def test_an_approved_effect_keeps_its_place_too(self) -> None:
        assert isinstance(judged(opened(**decided()), made(approve=True), others=[self.first()]), Suspend)

    def test_what_needs_a_person_asks_at_once_so_that_all_questions_are_open_together(self) -> None:
        action = judged(opened(), made(approve=True), others=[self.first()])

        assert action.until["type"] == "approval"


class TestAfterACrash:
    @pytest.mark.parametrize(("effect", "has_hook"), sorted(RECOVERY))
    def test_law_3_the_recovery_matrix(self, effect: Effect, has_hook: bool) -> None:
        hook = (lambda _arguments, _context: NotDone()) if has_hook else None

        action = judged(opened(**begun(effect, attempt=2)), made(effect, reconcile=hook))

        match RECOVERY[effect, has_hook]:
            case Recovery.RERUN:
                assert isinstance(action, Start)
                assert action.attempt == 3
            case Recovery.ASK:
                assert isinstance(action, Ask)
                assert action.attempt == 3
            case Recovery.NEVER:
                assert isinstance(action, Refuse)
                assert (action.error.code, action.error.outcome) == ("outcome_unknown", "unknown")

    def test_it_runs_again_with_what_it_was_begun_with(self) -> None:
        action = judged(opened(**begun("idempotent", {"amount": 1})), made("idempotent"))

        assert action.input == {"amount": 1}

    def test_an_approval_given_before_the_crash_need_not_be_given_again(self) -> None:
        assert isinstance(judged(opened(**begun("idempotent")), made("idempotent", approve=True)), Start)

    def test_a_tool_that_is_gone_leaves_the_outcome_unknown(self) -> None:
        action = judged(opened(**begun()))

        assert isinstance(action, Refuse)
        assert action.error.outcome == "unknown"

    def test_a_tool_that_takes_another_input_now_leaves_the_outcome_unknown(self) -> None:
        action = judged(opened(**begun("idempotent", {"euros": 5})), made("idempotent"))

        assert isinstance(action, Refuse)
        assert action.error.outcome == "unknown"

    def test_a_tool_that_is_declared_otherwise_now_is_not_run_again_on_the_new_word(self) -> None:
        action = judged(opened(**begun("irreversible")), made("idempotent"))

        assert isinstance(action, Refuse)
        assert action.error.outcome == "unknown"

    @pytest.mark.parametrize("kind", ["job", "approval", "order"])
    def test_a_call_that_began_and_waited_in_vain_is_never_begun_anew(self, kind: str) -> None:
        call = replace(
            opened(**begun("idempotent")), status=Status.WAITING, until={"type": kind, "expires_at": NOW.isoformat()}
        )

        action = judged(call, made("idempotent"))

        assert isinstance(action, Refuse)
        assert action.error.outcome == "unknown"

    def test_the_model_is_told_to_check(self) -> None:
        error = unknown_outcome(opened(), "it was interrupted")

        assert isinstance(error, ToolError)
        assert "Check" in error.message
        assert "refund" in error.message
