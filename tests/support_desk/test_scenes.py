from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relevo import AwaitingAction, Ended
from support_desk.brain import brain
from support_desk.business import Business
from support_desk.checks import check
from support_desk.scenes import SCENES, TASKS, Scene, scene_agent, scene_named

EVERY = (*SCENES, *TASKS)


@pytest.mark.parametrize("scene", EVERY, ids=lambda scene: scene.name)
async def test_a_scene_ends_as_it_must(scene: Scene, books: Path, play: Any) -> None:
    async with play(scene_agent(scene, books), brain, scene.identity) as played:
        for message in scene.messages:
            outcome = await played.say(message)
            if scene.verdict is not None:
                assert isinstance(outcome, AwaitingAction)
                await played.decide(scene.verdict)
                await played.wake()
        events = await played.events()

    assert check(scene, Business(books), events) == []
    assert isinstance(played.outcomes[-1], Ended)


def test_scenes_have_names_of_their_own() -> None:
    assert len({scene.name for scene in EVERY}) == len(EVERY)
    assert all(scene_named(scene.name) is scene for scene in EVERY)


def test_every_process_of_a_scene_has_the_same_agent(books: Path) -> None:
    assert scene_agent(SCENES[0], books).record() == scene_agent(SCENES[-1], books).record()


async def test_a_status_question_reads_customer_and_order_in_one_answer(books: Path, play: Any) -> None:
    async with play(scene_agent(SCENES[0], books), brain, "C-1002") as played:
        await played.say("Hola, soy luis.ortega@example.com. ¿Dónde está mi pedido ORD-2003?")
        state = await played.session.state()

    assert state.totals.requests == 2


async def test_a_handoff_has_all_that_a_colleague_needs(books: Path, play: Any) -> None:
    scene = scene_named("outage")
    async with play(scene_agent(scene, books), brain, scene.identity) as played:
        await played.say(scene.messages[0])
    (ticket,) = Business(books).tickets(played.session.id)

    assert ticket.handoff.customer_id == "C-1003"
    assert (ticket.handoff.order_id, ticket.handoff.category, ticket.handoff.priority) == (
        "ORD-2004",
        "delivery",
        "normal",
    )
    assert "cannot be reached" in ticket.handoff.root_cause
    assert ticket.handoff.attempts == ["get_customer: done", "lookup_order: failed", "lookup_order: failed"]
    assert ticket.handoff.recommended_action
