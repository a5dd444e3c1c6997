"""Real streams of the API, which nobody here wrote, against the SDK's own accumulator."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic._models import construct_type_unchecked
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import BetaRawMessageStreamEvent

from relevo.model.stream import whole

from .events import Event, build_from, read_all

FOLDER = Path(__file__).parents[1] / "data" / "recordings"
FOUND = [
    (f"{path.stem}-{number}", exchange)
    for path in sorted(FOLDER.glob("*.json"))
    for number, exchange in enumerate(json.loads(path.read_text())["exchanges"])
]
STREAMS = [pytest.param(exchange["sse"], id=name) for name, exchange in FOUND if exchange.get("sse")]
ANSWERS = [
    pytest.param(exchange["response"], id=name)
    for name, exchange in FOUND
    if (exchange.get("response") or {}).get("type") == "message"
]


def as_the_sdk_reads(events: list[Event]) -> Any:
    message: Any = None
    buffers: dict[int, bytes] = {}
    kind: Any = BetaRawMessageStreamEvent
    for event in events:
        if event["type"] != "ping":
            typed: Any = construct_type_unchecked(type_=kind, value=json.loads(json.dumps(event)))
            message = accumulate_event(
                event=typed, current_snapshot=message, json_bufs=buffers, request_headers=httpx2.Headers()
            )
    assert message is not None
    return message.to_dict(mode="json", warnings=False)


def without_nulls_it_invents(theirs: Any, ours: Any) -> Any:
    """
    The SDK's message less the nulls that nobody sent.

    It sets `stop_details` and a compaction's `encrypted_content` to None when the stream does not name them.
    """
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return {
            key: without_nulls_it_invents(value, ours.get(key))
            for key, value in theirs.items()
            if value is not None or key in ours
        }
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [without_nulls_it_invents(a, b) for a, b in zip(theirs, ours, strict=True)]
    return theirs


def test_there_are_recordings() -> None:
    assert len(STREAMS) >= 10
    assert len(ANSWERS) >= 20


@pytest.mark.parametrize("sse", STREAMS)
def test_a_recorded_stream_becomes_the_message_that_the_sdk_makes_of_it(sse: str) -> None:
    events = read_all(sse.encode())
    message, malformed = build_from(events)

    assert message == without_nulls_it_invents(as_the_sdk_reads(events), message)
    assert malformed == frozenset()


@pytest.mark.parametrize("sse", STREAMS)
def test_a_recorded_stream_can_be_cut_anywhere(sse: str) -> None:
    data = sse.encode()
    events = read_all(data)
    dice = random.Random(20261201)
    many = [sorted(dice.randrange(len(data) + 1) for _ in range(dice.randrange(1, 40))) for _ in range(12)]
    if len(data) < 20_000:
        many.append(list(range(len(data))))

    for cuts in many:
        assert read_all(data, cuts) == events
        assert read_all(data.replace(b"\n", b"\r\n"), cuts) == events


@pytest.mark.parametrize("message", ANSWERS)
def test_a_recorded_answer_is_kept_byte_for_byte(message: dict[str, Any]) -> None:
    kept, malformed = whole(message)

    assert json.dumps(kept) == json.dumps(message)
    assert malformed == frozenset()
