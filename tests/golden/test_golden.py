"""Logs that earlier releases wrote mean today what they meant then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relevo.events import Unknown
from relevo.loop.verify import verify
from tests.golden.logs import events_of, meaning

LOGS = sorted(Path(__file__).parent.glob("*/*.json"))


def test_there_are_logs_to_replay() -> None:
    assert LOGS


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem[-6:]}")
def test_an_old_log_means_what_it_meant(path: Path) -> None:
    kept = json.loads(path.read_text())

    assert meaning(kept["session"], kept["events"]) == kept["meaning"]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem[-6:]}")
def test_an_old_log_keeps_the_laws_and_holds_nothing_unknown(path: Path) -> None:
    kept = json.loads(path.read_text())
    events = events_of(kept["session"], kept["events"])

    assert verify(events) == []
    assert not any(isinstance(event.body, Unknown) for event in events)
