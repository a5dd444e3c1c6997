"""What a person decides, and when it is too late, too early, or somebody else's."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import Call, sha256
from relevo.errors import AlreadyDecided, DecisionExpired, InvalidValue, NothingToDecide, NotJson, ToolError
from relevo.events import ToolConfirmation
from relevo.human.questions import decide_about, questions
from relevo.state import OpenCall, State, Status
from tests.worlds import START

INPUT = {"amount": 500}
UNTIL = {"type": "approval", "reason": "large", "input_sha256": sha256(INPUT), "expires_at": None}
MOMENT = START + timedelta(minutes=1)


def waiting(call_id: str = "c1", **until: Any) -> OpenCall:
    return OpenCall(Call(call_id, "toolu_1", "refund", INPUT, 0), status=Status.WAITING, until={**UNTIL, **until})


def session(*calls: OpenCall) -> State:
    return State(session_id="sesn_1", identity={"user": "u1"}, open={each.call.id: each for each in calls})


def decide(state: State, call_id: str = "c1", result: Any = "allow", *, now: datetime = START, **more: Any) -> Any:
    return decide_about(state, call_id, result=result, approver=more.pop("approver", "ann"), now=now, **more)


class TestQuestions:
    def test_they_are_the_calls_that_wait_for_a_person_in_the_models_order(self) -> None:
        job = replace(waiting("c2"), until={"type": "job"})
        decided = replace(waiting("c3"), status=Status.DECIDED)

        found = questions(session(waiting("c9", expires_at=MOMENT.isoformat()), job, decided, waiting("c1")))

        assert [(each.call_id, each.expires_at) for each in found] == [("c9", MOMENT), ("c1", None)]

    def test_they_say_what_is_to_be_decided_and_for_whom(self) -> None:
        (found,) = questions(session(waiting()))

        assert (found.tool, found.input, found.reason, found.identity) == ("refund", INPUT, "large", {"user": "u1"})


class TestDeciding:
    def test_a_decision_names_the_call_the_input_and_who_took_it(self) -> None:
        assert decide(session(waiting()), approver=" ann ") == ToolConfirmation(
            tool_use_id="c1", result="allow", approver="ann", input_sha256=sha256(INPUT)
        )

    def test_a_denial_may_say_why(self) -> None:
        assert decide(session(waiting()), result="deny", message="too \udc80 much").deny_message == "too \ufffd much"

    @pytest.mark.parametrize("approver", ["", "  ", "\n"])
    def test_nobody_cannot_approve(self, approver: str) -> None:
        with pytest.raises(InvalidValue):
            decide(session(waiting()), approver=approver)

    def test_a_message_goes_with_a_denial_only(self) -> None:
        with pytest.raises(InvalidValue):
            decide(session(waiting()), message="fine")

    def test_an_edit_goes_with_an_approval_only(self) -> None:
        with pytest.raises(InvalidValue):
            decide(session(waiting()), result="deny", edited={"amount": 1})

    @pytest.mark.parametrize(
        "state",
        [
            session(),
            session(waiting("c2")),
            session(replace(waiting(), until={"type": "job"})),
            session(replace(waiting(), until={"type": "order", "after": "c0"})),
            session(replace(waiting(), until=None)),
            session(replace(waiting(), status=Status.PROPOSED)),
            session(replace(waiting(), status=Status.STARTED)),
        ],
    )
    def test_what_does_not_wait_for_a_person_cannot_be_decided(self, state: State) -> None:
        with pytest.raises(NothingToDecide):
            decide(state)

    @pytest.mark.parametrize("microseconds", [-1, 0, 1])
    def test_it_expires_at_the_exact_moment(self, microseconds: int) -> None:
        state, now = session(waiting(expires_at=MOMENT.isoformat())), MOMENT + timedelta(microseconds=microseconds)

        if microseconds < 0:
            assert decide(state, now=now) is not None
        else:
            with pytest.raises(DecisionExpired):
                decide(state, now=now)

    def test_a_denial_after_its_time_is_late_too(self) -> None:
        with pytest.raises(DecisionExpired):
            decide(session(waiting(expires_at=START.isoformat())), result="deny")


class TestTwice:
    @given(st.sampled_from(["allow", "deny"]), st.booleans(), st.sampled_from(["open", "ended"]))
    def test_B179_an_equal_decision_is_harmless_and_another_is_refused(
        self, result: Any, same: bool, where: str
    ) -> None:
        first = decide(session(waiting()), result=result)
        state = session(replace(waiting(), status=Status.DECIDED, decision=first)) if where == "open" else session()
        again = result if same else {"allow": "deny", "deny": "allow"}[result]

        if same:
            assert decide(state, result=again, approver="bob", decided={"c1": first}.get) is None
        else:
            with pytest.raises(AlreadyDecided, match="ann"):
                decide(state, result=again, approver="bob", decided={"c1": first}.get)

    def test_B179_also_after_its_time(self) -> None:
        late = waiting(expires_at=START.isoformat())
        first = decide(session(waiting()))

        assert decide(session(replace(late, status=Status.DECIDED, decision=first)), now=MOMENT) is None

    def test_an_approval_with_another_edit_is_another_decision(self) -> None:
        first = decide(session(waiting()), edited={"amount": 1})
        state = session(replace(waiting(), status=Status.DECIDED, decision=first))

        assert decide(state, edited={"amount": 1}) is None
        with pytest.raises(AlreadyDecided):
            decide(state, edited={"amount": 2})
        with pytest.raises(AlreadyDecided):
            decide(state)

    def test_equal_means_the_same_json(self) -> None:
        first = decide(session(waiting()), edited={"amount": [1]})
        state = session(replace(waiting(), status=Status.DECIDED, decision=first))

        assert decide(state, edited={"amount": (1,)}) is None
        with pytest.raises(AlreadyDecided):
            decide(state, edited={"amount": [True]})

    def test_B186_a_decision_in_one_session_is_none_in_another(self) -> None:
        decide(session(waiting()))

        assert decide(session(waiting()), result="deny") is not None


class TestEdits:
    def test_B188_an_edited_input_is_kept_beside_the_hash_of_the_proposed_one(self) -> None:
        decision = decide(session(waiting()), edited={"amount": 5})

        assert (decision.input, decision.input_sha256) == ({"amount": 5}, sha256(INPUT))

    def test_B188_it_is_validated_for_its_tool(self) -> None:
        seen: list[Any] = []

        decide(session(waiting()), edited={"amount": (5,)}, validate=lambda name, given_: seen.append((name, given_)))

        assert seen == [("refund", {"amount": [5]})]

    def test_B188_what_the_tool_does_not_take_is_refused(self) -> None:
        def refuse(_name: str, _given: Any) -> None:
            raise ToolError("not a number")

        with pytest.raises(ToolError):
            decide(session(waiting()), edited={"amount": "five"}, validate=refuse)

    def test_what_json_cannot_say_is_refused(self) -> None:
        with pytest.raises(NotJson):
            decide(session(waiting()), edited={"amount": float("nan")})
