"""What the real API did, as truth that nobody here wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relevo.simulator import MODELS, Model, Recorded, Simulator, recording, stream
from relevo.simulator.betas import BETAS
from relevo.simulator.validate import Rulebook
from relevo.simulator.verdict import Verdict

from .asking import HEADERS, ask

FOLDER = Path(__file__).parents[1] / "data" / "recordings"
RETIRED = tuple(
    Model(
        name,
        name,
        window_tokens=200_000,
        thinking=("enabled", "disabled"),
        prefill=True,
        system_turns=False,
        efforts=(),
    )
    for name in ("claude-sonnet-4-0", "claude-opus-4-1-20250805", "claude-3-7-sonnet-latest")
)
"""E9 by name: models that answered when they were recorded and are gone on 2026-12-01."""
EXEMPT: dict[str, set[str]] = {
    # Recorded by an SDK of the old API version that let it pass; the documentation of 2026-12 says the person must begin.
    "pydantic-ai-test-anthropic-model-empty-message-on-history": {"M2"},
    # The history came from another vendor that used one id twice, a round apart; the API let it pass on claude-sonnet-4-5.
    "pydantic-ai-test-cross-provider-capability-replay-google-gemini-3-flash-preview-anthropic-claude-sonnet-4-5": {
        "M8"
    },
}
"""Rules that a recorded request broke and was answered all the same.  Neither of the two is in our selection."""
EXCHANGES = [
    pytest.param(path.stem, exchange, id=f"{path.stem}-{index}")
    for path in sorted(FOLDER.glob("*.json"))
    for index, exchange in enumerate(json.loads(path.read_text("utf-8"))["exchanges"])
]
STREAMS = [each for each in EXCHANGES if "sse" in each.values[1]]  # type: ignore[operator]


@pytest.mark.parametrize(("name", "exchange"), EXCHANGES)
def test_what_the_api_answered_breaks_no_rule(name: str, exchange: dict[str, Any]) -> None:
    # The signatures are the API's own (L12), and the beta headers were not kept (E4, E7, M18): both are taken as right.
    rules = Rulebook({model.id: model for model in (*MODELS, *RETIRED)}, signer=None)
    verdict = Verdict(body=exchange["request"], betas=tuple(BETAS), version="2023-06-01")

    (rules.count if exchange["path"].endswith("count_tokens") else rules.message)(verdict)

    broken = {violation.rule for violation in verdict.violations}
    assert broken - EXEMPT.get(name, set()) == (set() if exchange["status"] == 200 else {"L11"})


@pytest.mark.parametrize(("name", "exchange"), STREAMS)
def test_a_recorded_stream_and_ours_of_its_message_say_the_same(name: str, exchange: dict[str, Any]) -> None:
    message = recording.assemble(exchange["sse"])

    again = b"".join(frame.data for frame in stream.frames(message)).decode()

    assert _bare(recording.assemble(again)) == _bare(message)


ASKED = [each for each in EXCHANGES if not each.values[1]["path"].endswith("count_tokens")]  # type: ignore[index]
"""Counting asks no brain."""


@pytest.mark.parametrize(("name", "exchange"), ASKED)
async def test_a_recording_is_played_again(name: str, exchange: dict[str, Any]) -> None:
    brain = Recorded([exchange])
    sim = Simulator(brain, signatures=False, models=(*MODELS, *RETIRED), mode="record")
    old = {**HEADERS, "anthropic-version": "2023-06-01"}

    answer = await ask(sim, exchange["request"], headers=old, betas=",".join(BETAS))

    assert answer.status == exchange["status"]
    if "sse" in exchange:
        assert answer.outcome.acts is not None
        assert b"".join(act.data for act in answer.outcome.acts) == exchange["sse"].encode()  # type: ignore[union-attr]
    elif answer.status == 200 and exchange["response"]["stop_reason"] != "max_tokens":
        assert answer.json["content"] == exchange["response"]["content"]
        assert answer.json["stop_reason"] == exchange["response"]["stop_reason"]
        assert answer.json["usage"].items() >= exchange["response"]["usage"].items()


async def test_what_was_recorded_here_can_be_played_here(tmp_path: Path) -> None:
    file = tmp_path / "exchanges.jsonl"
    body = {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    first = await ask(Simulator(lambda _: "é 你好", record=file), body)

    second = await ask(Simulator(Recorded.read(file)), {**body, "stream": False})

    assert second.json["content"] == first.json["content"]
    assert second.json["id"] == first.json["id"]


async def test_a_request_that_nobody_recorded_is_a_mistake() -> None:
    sim = Simulator(Recorded([]))

    answer = await ask(
        sim, {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    )

    assert answer.status == 500
    assert answer.outcome.headers["x-should-retry"] == "false"


def test_a_file_without_exchanges_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('[{"no": 1}]')

    with pytest.raises(ValueError, match="holds no exchanges"):
        list(recording.read(file))


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    return {
        key: [{k: v for k, v in block.items() if v is not None} for block in value] if key == "content" else value
        for key, value in message.items()
        if value is not None and key != "usage"
    }
