"""What can happen, and where it stands."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.events import Body, Event, Unknown, UserMessage, event_id
from tests.worlds import START

KINDS = [kind for kind in get_args(Body) if kind is not Unknown]
names = st.text("abcdefghij0123456789", min_size=1)


def test_every_kind_has_a_name_of_its_own_of_a_domain_and_an_action() -> None:
    kinds = [kind.kind for kind in KINDS]

    assert len(set(kinds)) == len(kinds)
    assert all(kind.count(".") == 1 for kind in kinds)


@pytest.mark.parametrize("kind", get_args(Body))
def test_what_happened_cannot_be_changed(kind: type) -> None:
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_a_kind_nobody_knows_keeps_its_name() -> None:
    event = Event("sesn_1", 3, START, Unknown(unknown_kind="agent.dreamt", version=2, data={"x": 1}))

    assert event.kind == "agent.dreamt"


@given(names, st.integers(1, 10**6), names, st.integers(1, 10**6))
def test_B022_an_id_belongs_to_one_place_of_one_session(one: str, place: int, other: str, elsewhere: int) -> None:
    same = (one, place) == (other, elsewhere)

    assert (event_id(f"sesn_{one}", place) == event_id(f"sesn_{other}", elsewhere)) == same


def test_an_id_is_derived_and_stable() -> None:
    event = Event("sesn_1a", 7, START, UserMessage(content=[]))

    assert event.id == "sevt_1a_7" == event_id("sesn_1a", 7)
    assert event.kind == "user.message"
