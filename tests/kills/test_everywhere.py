"""A process may die at any line. Whatever line it was, the session ends as if nobody had died."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from relevo.events import ToolEnded, ToolStarted
from support_desk.scenes import SCENES, Scene, scene_named
from tests.kills.stage import Death, Ending, master, play, simulator

CALM = [scene for scene in SCENES if not scene.outages]
"""An outage is counted by the process that meets it, so a scene with one is another scene after a death."""

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]


def paid(ending: Ending) -> int:
    return sum(
        isinstance(e.body, ToolEnded) and e.body.name == "process_refund" and not e.body.is_error for e in ending.events
    )


@pytest.mark.parametrize("scene", CALM, ids=lambda scene: scene.name)
async def test_a_process_may_die_around_every_append(scene: Scene, tmp_path: Path) -> None:
    async with master() as where, simulator() as sim:
        whole = await play(scene, tmp_path / "whole", where, sim)
        assert whole.wrong == []
        points = [
            [*[None] * wake, Death(when, at)]
            for wake, appends in enumerate(whole.appends)
            for at in range(1, appends + 1)
            for when in ("before", "after")
        ]
        died = 0
        for number, deaths in enumerate(points):
            ending = await play(scene, tmp_path / f"{number}", where, sim, deaths)

            assert ending.wrong == [], deaths
            assert paid(ending) == paid(whole), deaths
            died += ending.deaths
        assert sim.violations == []

    assert died == len(points)


@pytest.mark.parametrize("scene", CALM, ids=lambda scene: scene.name)
async def test_processes_may_die_one_after_another(scene: Scene, tmp_path: Path) -> None:
    dice = Random(scene.name)
    async with master() as where, simulator() as sim:
        for number in range(8):
            deaths = [Death(dice.choice(("before", "after")), dice.randint(1, 6)) for _ in range(dice.randint(2, 8))]
            ending = await play(scene, tmp_path / f"{number}", where, sim, deaths)

            assert ending.wrong == [], deaths
        assert sim.violations == []


@pytest.mark.parametrize("name", ["small_refund", "large_refund", "crash", "same_name"])
async def test_a_refund_that_nobody_saw_happen_is_paid_once(name: str, tmp_path: Path) -> None:
    """B197: killed after the money moved and before the result was written: asked by key, never paid again."""
    scene = scene_named(name)
    async with master() as where, simulator() as sim:
        ending = await play(scene, tmp_path / "scene", where, sim, [Death("refund")] * 8)
        assert sim.violations == []

    assert ending.wrong == []
    assert ending.deaths == 1
    starts = [e.body for e in ending.events if isinstance(e.body, ToolStarted) and e.body.name == "process_refund"]
    assert [start.attempt for start in starts] == [1]
