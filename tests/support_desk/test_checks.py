"""A check that finds nothing wrong must be able to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relevo import Event
from relevo.events import ToolConfirmation, ToolEnded
from support_desk.brain import brain
from support_desk.business import Business
from support_desk.checks import check, unapproved, unverified
from support_desk.scenes import Scene, scene_agent, scene_named


@pytest.fixture
async def large(books: Path, play: Any) -> tuple[Scene, Business, list[Event]]:
    """A large refund that went well."""
    scene = scene_named("large_refund")
    async with play(scene_agent(scene, books), brain, scene.identity) as played:
        await played.say(scene.messages[0])
        await played.decide("allow")
        await played.wake()
        return scene, Business(books), await played.events()


Large = tuple[Scene, Business, list[Event]]


def test_what_went_well_is_fine(large: Large) -> None:
    assert check(*large) == []


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"refunds": {}}, "paid {'ORD-2002': 24900}, not {}"),
        ({"refunds": {"ORD-2002": 1}}, "paid {'ORD-2002': 24900}, not {'ORD-2002': 1}"),
        ({"calls": ("escalate_to_human",)}, "escalate_to_human was never called"),
        ({"tickets": 1}, "0 tickets, not 1"),
        ({"verdict": None}, "a person decided ['allow'], not None"),
        ({"never_shows": ("Espresso",)}, "lookup_order showed 'Espresso'"),
    ],
)
def test_what_should_be_otherwise_is_named(large: Large, changed: dict[str, Any], wrong: str) -> None:
    scene, business, events = large

    assert wrong in check(replace(scene, **changed), business, events)


def test_words_are_asked_for_only_of_who_must_say_them(large: Large) -> None:
    scene, business, events = large
    scene = replace(scene, says=("sorry",))

    assert len(check(scene, business, events)) == 1
    assert check(scene, business, events, words=False) == []


def test_a_turn_that_did_not_end_is_named(large: Large) -> None:
    scene, business, events = large

    assert "it ended with []" in check(scene, business, events[:3])


def test_a_large_refund_needs_the_word_about_that_very_call(large: Large) -> None:
    _, business, events = large
    allowed = [event for event in events if isinstance(event.body, ToolConfirmation)]
    without = [event for event in events if event not in allowed]
    body = allowed[0].body
    assert isinstance(body, ToolConfirmation)
    elsewhere = replace(allowed[0], body=replace(body, tool_use_id="sevt_another_1.0"))

    assert unapproved(business, events) == []
    assert unapproved(business, without) == ["R-00012: 24900 cents for ORD-2002 were not approved"]
    assert unapproved(business, [*without, elsewhere]) != []


def test_a_refund_without_verification_is_named(large: Large) -> None:
    _, business, events = large
    never = [event for event in events if not isinstance(event.body, ToolEnded)]

    assert unverified(business, events) == []
    assert unverified(business, never) == [
        "R-00012: the customer was not verified",
        "R-00012: ORD-2002 was not looked up",
    ]
