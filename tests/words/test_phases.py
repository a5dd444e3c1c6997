"""The table of whose turn it is."""

from __future__ import annotations

import itertools

import pytest

from relevo.phases import TRANSITIONS, Phase, Sign, diagram, following


@pytest.mark.parametrize(("phase", "sign"), list(itertools.product(Phase, Sign)))
def test_a_sign_moves_by_the_table_or_not_at_all(phase: Phase, sign: Sign) -> None:
    assert following(phase, sign) is TRANSITIONS.get((phase, sign), phase)


def test_every_sign_moves_something() -> None:
    assert {sign for _, sign in TRANSITIONS} == set(Sign)


def test_no_row_says_that_nothing_changes_but_for_the_pause() -> None:
    assert [row for row, after in TRANSITIONS.items() if row[0] is after] == [(Phase.ASKING, Sign.PAUSED)]


def test_every_phase_can_be_reached_and_left_for_quiet() -> None:
    def reached(start: Phase) -> set[Phase]:
        found, before = {start}, set[Phase]()
        while found != before:
            before = set(found)
            found |= {after for (phase, _), after in TRANSITIONS.items() if phase in before}
        return found

    assert reached(Phase.QUIET) == set(Phase)
    assert all(Phase.QUIET in reached(phase) for phase in Phase)


def test_a_session_rests_only_when_every_call_is_answered() -> None:
    resting = {phase for (phase, sign) in TRANSITIONS if sign is Sign.RESTED}

    assert resting.isdisjoint({Phase.CALLING, Phase.WAITING})


def test_the_diagram_shows_the_whole_table() -> None:
    lines = diagram().splitlines()

    assert lines[0] == "stateDiagram-v2"
    assert len(lines) == 2 + len(TRANSITIONS)
    for phase in Phase:
        assert any(phase.value in line for line in lines)
    for sign in Sign:
        assert any(line.endswith(f": {sign.value}") for line in lines)
