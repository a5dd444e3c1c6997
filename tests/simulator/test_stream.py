from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from relevo.simulator import wire
from relevo.simulator.delivery import Break, Send, play
from relevo.simulator.faults import CutChunk, SlowDrip
from relevo.simulator.fit import fit
from relevo.simulator.recording import assemble
from relevo.simulator.stream import frames

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
inputs = st.dictionaries(st.text(max_size=5), json_values, max_size=4)
texts = st.text(min_size=1, max_size=60)
blocks = st.one_of(
    st.builds(lambda said: {"type": "text", "text": said}, texts),
    st.builds(lambda said: {"type": "text", "text": said, "citations": [{"type": "x", "n": 1}]}, texts),
    st.builds(lambda said: {"type": "thinking", "thinking": said, "signature": "c2ln"}, st.text(max_size=60)),
    st.builds(lambda given_: {"type": "tool_use", "id": "toolu_1", "name": "f", "input": given_}, inputs),
    st.builds(lambda said: {"type": "compaction", "content": said, "encrypted_content": None}, texts),
    st.just({"type": "redacted_thinking", "data": "eA=="}),
    st.just({"type": "hologram", "depth": 3}),
)
contents = st.lists(blocks, max_size=5)


def message(content: list[Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {"input_tokens": 3, "output_tokens": 7},
    }


@given(contents, st.integers(1, 30))
def test_a_stream_put_together_is_the_message(content: list[Any], size: int) -> None:
    text = b"".join(each.data for each in frames(message(content), delta_chars=size)).decode()

    whole = assemble(text)

    assert whole["content"] == content
    assert whole["usage"] == {"input_tokens": 3, "output_tokens": 7}
    assert whole["stop_reason"] == "end_turn"


@given(contents)
def test_every_frame_names_its_event_and_is_one_line_of_json(content: list[Any]) -> None:
    for frame in frames(message(content)):
        first, second, *rest = frame.data.split(b"\n")
        assert first == b"event: " + frame.name.encode()
        assert wire.load(second.removeprefix(b"data: "))["type"] == frame.name
        assert rest == [b"", b""]


@given(contents, st.integers(1, 40))
def test_a_slow_drip_sends_the_same_bytes(content: list[Any], size: int) -> None:
    sent = frames(message(content))

    dripped = b"".join(act.data for act in play(sent, SlowDrip(0, size)) if isinstance(act, Send))

    assert dripped == b"".join(each.data for each in sent)


@given(contents, st.integers(0, 9))
def test_a_cut_stream_is_a_prefix_and_never_whole(content: list[Any], after: int) -> None:
    sent = frames(message(content))

    cut = b"".join(act.data for act in play(sent, CutChunk(after)) if isinstance(act, Send | Break))

    whole = b"".join(each.data for each in sent)
    assert whole.startswith(cut)
    assert len(cut) < len(whole)


@given(contents, st.integers(1, 60))
def test_what_fits_is_within_the_limit_and_a_prefix(content: list[Any], limit: int) -> None:
    fitted = fit(content, max_tokens=limit)

    assert fitted.output_tokens <= limit
    assert len(fitted.content) <= len(content)
    for kept, given_ in zip(fitted.content[:-1], content, strict=False):
        assert kept == given_
    if fitted.stop_reason is None:
        assert fitted.content == content
    else:
        assert fitted.stop_reason == "max_tokens"


@given(inputs, st.integers(1, 12))
def test_an_unfinished_call_is_the_beginning_of_the_whole_one(given_: dict[str, Any], limit: int) -> None:
    fitted = fit([{"type": "tool_use", "id": "t", "name": "f", "input": given_}], max_tokens=limit)

    written = wire.dump(given_).decode()
    if fitted.partial_json is not None:
        assert written.startswith(fitted.partial_json)
        assert written != fitted.partial_json
        assert fitted.content[0]["input"].items() <= given_.items()
