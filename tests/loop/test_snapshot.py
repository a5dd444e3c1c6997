"""A snapshot is a cache: with it and without it, a log means the same."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo import Agent, MemoryLog
from relevo.context.project import Projection
from relevo.events import SessionCreated, UserMessage
from relevo.fold import fold_all
from relevo.log.log import Snapshot
from relevo.loop import snapshot
from relevo.state import State
from tests.worlds import SESSION, World, play, worlds

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def at(world: World, position: int) -> tuple[State, Projection]:
    events = world.log[:position]
    projection = Projection()
    for event in events:
        projection.apply(event)
    return fold_all(State(session_id=SESSION), events), projection


@given(worlds(), st.data())
def test_what_is_put_away_anywhere_is_taken_out_the_same(world: World, data: st.DataObject) -> None:
    state, projection = at(world, data.draw(st.integers(1, len(world.log))))

    taken = snapshot.load(snapshot.save(state, projection))

    assert taken is not None
    assert taken[0] == state
    assert taken[1].messages == projection.messages
    assert taken[1].memory == projection.memory


@given(worlds(), st.data())
def test_going_on_from_a_snapshot_is_going_on(world: World, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(world.log)))
    taken = snapshot.load(snapshot.save(*at(world, cut)))
    assert taken is not None
    state, projection = taken

    state = fold_all(state, world.log[cut:])
    for event in world.log[cut:]:
        projection.apply(event)

    whole_state, whole = at(world, len(world.log))
    assert state == whole_state
    assert projection.messages == whole.messages


def test_a_snapshot_of_another_version_is_not_read() -> None:
    world = play(Random(1))
    made = snapshot.save(*at(world, len(world.log)))

    assert snapshot.load(Snapshot(made.position, snapshot.VERSION + 1, made.data)) is None


@pytest.mark.parametrize("damage", [b"", b"null", b"[1,2]", b'[{"class":["State",[]]},null]', b'[{"class":["os",[]]}]'])
def test_a_damaged_snapshot_is_not_read(damage: bytes) -> None:
    assert snapshot.load(Snapshot(5, snapshot.VERSION, damage)) is None


def test_a_snapshot_of_another_place_is_not_read() -> None:
    world = play(Random(2))
    made = snapshot.save(*at(world, len(world.log)))

    assert snapshot.load(Snapshot(made.position - 1, made.version, made.data)) is None


def test_all_snapshots_together_cost_a_constant_share_of_the_log() -> None:
    saved, last = 0, 0
    for position in range(1, 100_000):
        if snapshot.due(position, last):
            saved, last = saved + position, position

    assert last >= 50_000
    assert saved < 4 * 100_000


async def test_a_log_is_read_from_its_snapshot_on() -> None:
    log = MemoryLog()
    created = SessionCreated(agent=Agent(name="a", model="m").record())
    message = UserMessage(content=[{"type": "text", "text": "hi"}])
    await log.append("s", [created, message], expected=0, at=NOW)
    state, projection, reached = await snapshot.replay(log, "s")
    await log.save_snapshot("s", snapshot.save(state, projection))
    await log.append("s", [message], expected=2, at=NOW)

    again, projected, then = await snapshot.replay(log, "s")

    assert (reached, then) == (0, 2)
    assert again.position == 3
    assert len(projected.messages) == 2
