"""An agent is a plain record, and a wrong one is refused when it is made."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields, replace
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.agent import Agent, Effort, Limits, settings_of
from relevo.content import checked, encode
from relevo.errors import InvalidAgent, InvalidTool
from relevo.tools import tool

MODEL = "claude-sonnet-5"


@tool(effect="read")
def look(key: str) -> str:
    """Look something up."""
    return key


def agent(**more: Any) -> Agent:
    return Agent(**{"name": "helper", "model": MODEL, **more})


amounts = st.integers(0, 10**9)
limits = st.builds(
    Limits,
    turns=st.none() | amounts,
    tool_calls=st.none() | amounts,
    repeats=st.none() | amounts,
    seconds=st.none() | st.floats(0, 1e12),
    tokens=st.none() | amounts,
    cost_usd=st.none() | st.decimals(0, 10**9, allow_nan=False, allow_infinity=False),
    pauses=amounts,
    nudges=amounts,
)


class TestLimits:
    @given(limits)
    def test_they_survive_the_log(self, limits: Limits) -> None:
        stored = json.loads(encode(checked(limits.record())))

        assert Limits.of_record(stored) == limits

    @given(limits)
    def test_B273_zero_stays_zero_and_none_stays_none(self, limits: Limits) -> None:
        record = limits.record()
        for each in fields(Limits):
            value = getattr(limits, each.name)

            assert (record[each.name] is None) == (value is None)
            assert (record[each.name] in (0, "0", "0E+1")) <= (value == 0)

    def test_B273_zero_is_not_the_default(self) -> None:
        zero = Limits(turns=0, tool_calls=0, repeats=0, seconds=0, tokens=0, cost_usd=Decimal(0), pauses=0, nudges=0)

        assert Limits.of_record(zero.record()) == zero
        assert Agent(name="a", model=MODEL, limits=zero).limits == zero

    def test_money_is_exact(self) -> None:
        assert Limits.of_record({"cost_usd": "0.1"}).cost_usd == Decimal("0.1")

    @pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
    @pytest.mark.parametrize("wrong", [-1, -0.5, math.nan, math.inf, True, False, "5", [], Decimal("NaN"), Decimal(-1)])
    def test_B234_what_is_no_amount_is_refused(self, name: str, wrong: Any) -> None:
        with pytest.raises(InvalidAgent, match=name):
            Limits(**{name: wrong})

    @pytest.mark.parametrize("name", ["pauses", "nudges"])
    def test_what_keeps_the_loop_from_going_on_for_ever_cannot_be_lifted(self, name: str) -> None:
        with pytest.raises(InvalidAgent, match=name):
            Limits(**dict[str, Any]({name: None}))

    @pytest.mark.parametrize("junk", ["much", [], {}, "NaN"])
    def test_a_record_that_is_spoilt_is_refused(self, junk: Any) -> None:
        with pytest.raises(InvalidAgent):
            Limits.of_record({"cost_usd": junk})

    def test_names_from_a_newer_machine_are_left_out(self) -> None:
        assert Limits.of_record({"turns": 3, "moods": 7}) == Limits(turns=3)


class TestAgents:
    @pytest.mark.parametrize("name", ["a", "A-1._b", "x" * 64])
    def test_a_name_is_letters_digits_and_a_few_signs(self, name: str) -> None:
        assert agent(name=name).name == name

    @pytest.mark.parametrize(
        "wrong",
        [
            {"name": ""},
            {"name": " a"},
            {"name": "-a"},
            {"name": "a b"},
            {"name": "a\n"},
            {"name": "ñ"},
            {"name": "x" * 65},
            {"name": None},
            {"model": ""},
            {"model": "  "},
            {"model": None},
            {"system": ""},
            {"system": " \n"},
            {"max_tokens": 0},
            {"max_tokens": -1},
            {"max_tokens": True},
            {"max_tokens": 1.5},
            {"max_tokens": "9"},
            {"max_tokens": 128_001},
            {"model": "claude-haiku-4-5", "max_tokens": 64_001},
            {"model": "claude-haiku-4-5", "thinking": {"type": "enabled", "budget_tokens": 9}, "max_tokens": 9},
            {"effort": "extreme"},
            {"effort": ""},
            {"effort": "high", "model": "claude-haiku-4-5"},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            {"thinking": {"type": "adaptive", "x": object()}},
            {"thinking": {"type": "adaptive", "x": math.nan}},
            {"stop_sequences": "END"},
            {"stop_sequences": ["END", " "]},
            {"stop_sequences": [None]},
            {"betas": "compact-2026-01-12"},
            {"betas": [""]},
            {"betas": [3]},
            {"approval_seconds": -1},
            {"approval_seconds": math.nan},
            {"approval_seconds": math.inf},
            {"approval_seconds": 1e300},
            {"approval_seconds": True},
            {"approval_seconds": "60"},
            {"version": object()},
        ],
    )
    def test_a_wrong_agent_is_refused_when_it_is_made(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidAgent):
            agent(**wrong)

    def test_a_model_nobody_knows_is_asked_for_what_the_agent_says(self) -> None:
        assert agent(model="claude-next-9", max_tokens=10**6).max_tokens == 10**6

    def test_thinking_between_tools_may_take_more_than_one_answer(self) -> None:
        thinking = {"type": "enabled", "budget_tokens": 9000}

        agent(model="claude-haiku-4-5", thinking=thinking, max_tokens=9000, betas=["interleaved-thinking-2025-05-14"])

    @pytest.mark.parametrize("tools", [[look, look], ["look"], [lambda: None]])
    def test_wrong_tools_are_refused_when_it_is_made(self, tools: Any) -> None:
        with pytest.raises(InvalidTool):
            agent(tools=tools)

    def test_it_cannot_be_changed_also_not_through_what_it_was_given(self) -> None:
        tools, stops, betas = [look], ["END"], ["b"]
        made = agent(tools=tools, stop_sequences=stops, betas=betas)
        before = made.record()

        tools.clear()
        stops.clear()
        betas.clear()

        assert made.record() == before
        with pytest.raises(FrozenInstanceError):
            made.name = "other"  # type: ignore[misc]

    def test_an_iterator_is_read_once(self) -> None:
        made = agent(stop_sequences=iter(["END"]), betas=iter(["b"]), tools=iter([look]))

        assert (made.record()["stop_sequences"], made.record()["betas"], len(made.tools)) == (["END"], ["b"], 1)


made_agents = st.builds(
    agent,
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True),
    system=st.none() | st.text().filter(str.strip),
    tools=st.sampled_from([(), (look,)]),
    max_tokens=st.none() | st.integers(1, 128_000),
    effort=st.none() | st.sampled_from(get_args(Effort)),
    thinking=st.sampled_from([None, {"type": "adaptive"}, {"type": "disabled"}]),
    stop_sequences=st.lists(st.text().filter(str.strip), max_size=2),
    betas=st.lists(st.text("abc-", min_size=1), max_size=2),
    cache=st.booleans(),
    limits=limits,
    approval_seconds=st.none() | st.floats(0, 10**9),
    version=st.none() | st.text(),
)


class TestRecords:
    @given(made_agents)
    def test_a_record_is_json_and_always_the_same_bytes(self, made: Agent) -> None:
        record = made.record()

        assert encode(record) == encode(made.record())
        assert json.loads(encode(record)) == record

    @given(made_agents)
    def test_a_record_says_all_that_shapes_a_request(self, made: Agent) -> None:
        record = made.record()

        assert set(record) == {each.name for each in fields(Agent)} - {"hooks"}  # code is not in the log
        assert Limits.of_record(record["limits"]) == made.limits

    @given(made_agents)
    def test_every_agent_that_can_be_made_can_ask(self, made: Agent) -> None:
        settings = settings_of(json.loads(encode(made.record())))

        assert settings.model == MODEL
        assert settings.effort == made.effort
        assert [each["name"] for each in settings.tools] == [each.name for each in made.tools]
        assert settings.cache is made.cache

    def test_another_value_is_another_record(self) -> None:
        made = agent()
        others: dict[str, Any] = {
            "system": "x",
            "tools": (look,),
            "max_tokens": 5,
            "effort": "low",
            "thinking": {"type": "disabled"},
        }
        others |= {"stop_sequences": ("a",), "betas": ("b",), "cache": False, "limits": Limits(turns=1)}
        others |= {"approval_seconds": 1, "version": "2", "name": "b", "model": "claude-opus-5"}

        records = {encode(replace(made, **{name: value}).record()) for name, value in others.items()}

        assert set(others) == {each.name for each in fields(Agent)} - {"hooks"}
        assert len(records | {encode(made.record())}) == len(others) + 1
