"""The official SDK is the judge: it must be unable to tell the simulator from the API."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import anthropic
import pytest
from anthropic import Anthropic, beta_async_tool
from anthropic.types import ModelParam

from relevo.simulator import MODELS, Canned, Reply, Script, Simulator, call, raw, redacted, refuse, say, think

from .asking import tool
from .conftest import Connect

HI: Any = [{"role": "user", "content": "Hi"}]
MORE: Any = [{"type": "text", "text": "Go on."}]
FABLE = "claude-fable-5-2"
EVERYTHING = (
    think("The customer must be known first.")
    + say("I will look, é 你好.")
    + call("get_order", {"id": 7, "note": "ñ", "deep": {"list": [1, 2.5, None, True]}})
    + call("get_order", {})
)


async def test_a_message_is_the_same_streamed_and_whole(connect: Connect) -> None:
    async with Simulator(lambda _: EVERYTHING, delta_chars=3) as sim:
        client = connect(sim)
        ask: Any = {"model": "claude-opus-5", "max_tokens": 500, "messages": HI, "tools": [tool()]}
        whole = await client.messages.create(**ask)
        async with client.messages.stream(**ask) as stream:
            streamed = await stream.get_final_message()

    skip = {"id", "usage", "content"}
    assert whole.model_dump(exclude=skip) == streamed.model_dump(exclude=skip | {"parsed_output"})
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use", "tool_use"]
    for one, other in zip(whole.content, streamed.content, strict=True):
        same = {"id", "parsed_output"}
        assert one.model_dump(exclude=same) == other.model_dump(exclude=same)
    assert whole.usage.output_tokens == streamed.usage.output_tokens
    assert whole.usage.input_tokens == streamed.usage.input_tokens
    assert whole.stop_reason == "tool_use"
    assert whole._request_id is not None


async def test_the_synchronous_sdk_is_served_too() -> None:
    async with Simulator() as sim:
        url = sim.base_url

        def talk() -> tuple[str, str]:
            with Anthropic(base_url=url, api_key="k", _strict_response_validation=True) as client:
                whole = client.messages.create(model=FABLE, max_tokens=50, messages=HI)
                with client.messages.stream(model=FABLE, max_tokens=50, messages=HI) as stream:
                    return getattr(whole.content[0], "text", ""), stream.get_final_text()

        assert await asyncio.to_thread(talk) == ("This is a simulated answer.",) * 2


async def test_the_beta_surface_is_served_and_counts_tokens(connect: Connect) -> None:
    async with Simulator() as sim:
        client = connect(sim)
        message = await client.beta.messages.create(
            model=FABLE, max_tokens=50, messages=HI, betas=["context-management-2025-06-27", "mcp-client-2025-11-20"]
        )
        counted = await client.beta.messages.count_tokens(model=FABLE, messages=HI)
        plain = await client.messages.count_tokens(model=FABLE, messages=HI)

    assert message.usage.input_tokens == counted.input_tokens == plain.input_tokens > 0
    assert sim.violations == []


async def test_models_are_listed_with_their_capabilities(connect: Connect) -> None:
    async with Simulator() as sim:
        client = connect(sim)
        listed = [model async for model in client.models.list(limit=5)]
        one = await client.models.retrieve("claude-sonnet-5-5")
        with pytest.raises(anthropic.NotFoundError):
            await client.models.retrieve("claude-unheard-of")

    assert [model.id for model in listed] == [model.id for model in MODELS]
    assert one.capabilities is not None
    assert one.capabilities.thinking.types.adaptive.supported
    assert not one.capabilities.thinking.types.enabled.supported


def test_every_model_that_the_sdk_names_is_known() -> None:
    literal = get_args(ModelParam)[0]

    assert set(get_args(literal)) <= {model.id for model in MODELS}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
async def test_every_model_answers(model: Any, connect: Connect) -> None:
    async with Simulator(Canned("yes")) as sim:
        message = await connect(sim).messages.create(model=model.id, max_tokens=10, messages=HI)

    assert message.model == (model.resolves_to or model.id)


async def test_the_tool_runner_falls_back_from_threads_and_finishes(connect: Connect) -> None:
    seen: list[int] = []

    @beta_async_tool
    async def get_order(number: int) -> str:
        """Look up an order.

        Args:
            number: the order's
        """
        seen.append(number)
        return "shipped"

    script = Script(
        [think("hm") + call("get_order", {"number": 7}) + call("get_order", {"number": 8}), say("Both shipped.")]
    )
    async with Simulator(script) as sim:
        runner = connect(sim).beta.messages.tool_runner(model=FABLE, max_tokens=500, messages=HI, tools=[get_order])
        final = await runner.until_done()

    assert seen == [7, 8]
    assert getattr(final.content[0], "text", None) == "Both shipped."
    assert {violation.rule for violation in sim.violations} == {"H5"}
    script.finish()


@pytest.mark.parametrize(
    "reason",
    ["end_turn", "stop_sequence", "max_tokens", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"],
)
async def test_every_stop_reason_arrives(reason: str, connect: Connect) -> None:
    async with Simulator(lambda _: say("x", stop_reason=reason)) as sim:
        client = connect(sim)
        whole = await client.messages.create(model=FABLE, max_tokens=50, messages=HI)
        async with client.messages.stream(model=FABLE, max_tokens=50, messages=HI) as stream:
            streamed = await stream.get_final_message()

    assert whole.stop_reason == streamed.stop_reason == reason


async def test_a_refusal_says_why(connect: Connect) -> None:
    async with Simulator(lambda _: refuse("cyber", "no")) as sim:
        message = await connect(sim).messages.create(model=FABLE, max_tokens=50, messages=HI)

    assert message.content == []
    assert message.stop_details is not None
    assert message.stop_details.category == "cyber"


async def test_blocks_and_reasons_of_the_future_pass_through() -> None:
    future = raw({"type": "hologram", "depth": 3}, stop_reason="teleported")
    async with (
        Simulator(lambda _: future) as sim,
        anthropic.AsyncAnthropic(base_url=sim.base_url, api_key="k") as client,
    ):
        message = await client.messages.create(model=FABLE, max_tokens=50, messages=HI)
        async with client.messages.stream(model=FABLE, max_tokens=50, messages=HI) as stream:
            streamed = await stream.get_final_message()

    for block in (*message.content, *streamed.content):
        assert (block.type, getattr(block, "depth", None)) == ("hologram", 3)
    assert [str(message.stop_reason), str(streamed.stop_reason)] == ["teleported"] * 2


async def test_zero_max_tokens_warms_the_cache_and_asks_no_brain(connect: Connect) -> None:
    script = Script([say("only this")])
    async with Simulator(script) as sim:
        client = connect(sim)
        words: Any = [{"role": "user", "content": "word " * 2000}]
        warm = await client.messages.create(
            model=FABLE, max_tokens=0, messages=words, cache_control={"type": "ephemeral"}
        )
        read = await client.messages.create(
            model=FABLE, max_tokens=9, messages=words, cache_control={"type": "ephemeral"}
        )

    assert (warm.content, warm.stop_reason, warm.usage.output_tokens) == ([], "max_tokens", 0)
    assert read.usage.cache_read_input_tokens == warm.usage.cache_creation_input_tokens != 0


async def test_thinking_sent_back_is_believed_and_altered_thinking_is_not(connect: Connect) -> None:
    script = Script([think("hm") + call("get_order", {"id": 7}), say("Done."), say("never")])
    ask: Any = {"model": "claude-opus-5", "max_tokens": 100, "tools": [tool()]}
    async with Simulator(script) as sim:
        client = connect(sim)
        first = await client.messages.create(messages=HI, **ask)
        called: Any = first.content[1]
        answer: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": called.id, "content": "ok"}]}
        history: Any = [*HI, {"role": "assistant", "content": first.content}, answer]
        await client.messages.create(messages=history, **ask)
        altered: Any = [first.content[0].model_copy(update={"thinking": "no"}), called]
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.create(messages=[*HI, {"role": "assistant", "content": altered}, answer], **ask)

    assert sim.requests[-1].rules == ("L13",)
    assert script.unused == 1


async def test_a_thinking_block_behind_another_prompt_is_refused_where_models_bind_it(connect: Connect) -> None:
    async with Simulator(lambda _: think("hm") + say("Well.")) as sim:
        client = connect(sim)

        async def replay(model: str, second: Any) -> Any:
            first = await client.messages.create(model=model, max_tokens=50, messages=HI, system="One.")
            back: Any = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": "And?"}]
            return await second(model=model, max_tokens=50, messages=back, system="Two.")

        await replay("claude-opus-4-8", client.messages.create)
        with pytest.raises(anthropic.BadRequestError):
            await replay(FABLE, client.messages.create)
        assert sim.requests[-1].rules == ("L12",)

        async def dropping(**more: Any) -> Any:
            thinking: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
            betas = ["thinking-binding-controls-2026-08-01"]
            return await client.beta.messages.create(thinking=thinking, betas=betas, **more)

        dropped = await replay(FABLE, dropping)

    assert dropped.to_dict()["input_transformations"][0]["reason"] == "prefix_binding_mismatch"


async def test_no_thinking_comes_unless_the_request_allows_it(connect: Connect) -> None:
    off: Any = {"thinking": {"type": "disabled"}}
    shown: Any = {"thinking": {"type": "adaptive", "display": "summarized"}}
    async with Simulator(lambda _: think("secret") + say("x")) as sim:
        client = connect(sim)
        none = await client.messages.create(model="claude-opus-5", max_tokens=50, messages=HI, **off)
        unasked = await client.messages.create(model="claude-opus-4-8", max_tokens=50, messages=HI)
        hidden = await client.messages.create(model=FABLE, max_tokens=50, messages=HI)
        open_ = await client.messages.create(model=FABLE, max_tokens=50, messages=HI, **shown)

    assert [block.type for block in none.content] == [block.type for block in unasked.content] == ["text"]
    assert getattr(hidden.content[0], "thinking", None) == ""
    assert getattr(open_.content[0], "thinking", None) == "secret"


async def test_a_call_cut_by_max_tokens_is_unfinished_on_both_ways(connect: Connect) -> None:
    long = say("Now.") + call("get_order", {"id": 7, "why": "x" * 400})
    async with Simulator(lambda _: long, delta_chars=5) as sim:
        client = connect(sim)
        ask: Any = {"model": FABLE, "max_tokens": 30, "messages": HI, "tools": [tool()]}
        whole = await client.messages.create(**ask)
        events = [event async for event in await client.messages.create(stream=True, **ask)]

    written = "".join(getattr(getattr(event, "delta", None), "partial_json", "") for event in events)
    assert whole.stop_reason == "max_tokens"
    assert whole.usage.output_tokens == 30
    assert getattr(whole.content[-1], "input", None) == {"id": 7}
    assert written.startswith('{"id":7,"why":"x')
    assert not written.endswith("}")


async def test_a_stop_sequence_ends_the_text(connect: Connect) -> None:
    async with Simulator(lambda _: say("One. STOP Two.") + call("get_order")) as sim:
        message = await connect(sim).messages.create(
            model=FABLE,
            max_tokens=50,
            messages=HI,
            stop_sequences=["Two", "STOP"],
            tools=[tool()],
        )

    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "STOP")
    assert [getattr(block, "text", None) for block in message.content] == ["One. "]


async def test_the_canned_brain_gives_what_a_request_demands(connect: Connect) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "who": {"type": "string"}, "k": {"enum": ["a", "b"]}},
        "required": ["n", "k"],
        "additionalProperties": False,
    }
    async with Simulator() as sim:
        client = connect(sim)
        forced = await client.messages.create(
            model="claude-opus-5",
            max_tokens=50,
            messages=HI,
            tool_choice={"type": "any"},
            tools=[tool(input_schema=schema)],
        )
        formed = await client.messages.create(
            model=FABLE, max_tokens=50, messages=HI, output_config={"format": {"type": "json_schema", "schema": schema}}
        )

    assert getattr(forced.content[0], "input", None) == {"n": 0, "k": "a"}
    assert getattr(formed.content[0], "text", None) == '{"n": 0, "k": "a"}'


@pytest.mark.parametrize(
    ("choice", "reply"),
    [
        ({"type": "none"}, call("get_order")),
        ({"type": "any"}, say("no")),
        ({"type": "tool", "name": "get_order"}, call("other")),
        ({"type": "auto", "disable_parallel_tool_use": True}, call("get_order") + call("get_order")),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
async def test_a_brain_that_breaks_tool_choice_is_told_so(choice: Any, reply: Reply, connect: Connect) -> None:
    async with Simulator(lambda _: reply) as sim:
        with pytest.raises(anthropic.InternalServerError, match="tool_choice"):
            await connect(sim).messages.create(
                model="claude-opus-5",
                max_tokens=50,
                messages=HI,
                tool_choice=choice,
                tools=[tool()],
            )

    assert len(sim.mistakes) == 1


async def test_the_same_seed_gives_the_same_bytes() -> None:
    async def run(seed: int) -> str:
        async with (
            Simulator(lambda _: EVERYTHING, seed=seed) as sim,
            anthropic.AsyncAnthropic(base_url=sim.base_url, api_key="k") as client,
        ):
            given: Any = tool()
            message = await client.messages.create(model=FABLE, max_tokens=500, messages=HI, tools=[given])
            return message.to_json() + str(message._request_id)

    assert await run(1) == await run(1) != await run(2)


async def test_a_summary_asked_for_replaces_what_it_summarizes(connect: Connect) -> None:
    talk: Any = [*HI, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Sum up."}]
    ask: Any = {"model": FABLE, "max_tokens": 500, "betas": ["compact-2026-09-04"]}
    async with Simulator() as sim:
        client = connect(sim)
        whole = await client.beta.messages.create(messages=talk, compaction={"type": "summarize"}, **ask)
        async with client.beta.messages.stream(messages=talk, compaction={"type": "summarize"}, **ask) as stream:
            streamed = await stream.get_final_message()
        block: Any = streamed.content[0].to_dict()
        after = await client.beta.messages.create(messages=[{"role": "user", "content": [block, *MORE]}], **ask)

    assert whole.stop_reason == streamed.stop_reason == "compaction"
    assert whole.content[0].to_dict() == block
    assert block["signature"]
    assert after.stop_reason == "end_turn"
    assert sim.violations == []


async def test_a_body_that_is_too_large_is_refused_by_status(connect: Connect) -> None:
    async with Simulator() as sim:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await connect(sim).messages.create(
                model=FABLE, max_tokens=9, messages=[{"role": "user", "content": "x" * 33_600_000}]
            )

    assert caught.value.status_code == 413


async def test_a_brain_that_raises_is_a_mistake_not_an_answer(connect: Connect) -> None:
    def brain(_: object) -> Reply:
        raise KeyError("lost")

    async with Simulator(brain) as sim:
        with pytest.raises(anthropic.InternalServerError, match="lost"):
            await connect(sim).messages.create(model=FABLE, max_tokens=9, messages=HI)

    assert len(sim.mistakes) == 1


async def test_redacted_thinking_and_citations_arrive_on_both_ways(connect: Connect) -> None:
    where = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "document_title": None,
        "file_id": None,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    async with Simulator(lambda _: redacted() + say("x", citations=[where])) as sim:
        client = connect(sim)
        whole = await client.messages.create(model=FABLE, max_tokens=50, messages=HI)
        async with client.messages.stream(model=FABLE, max_tokens=50, messages=HI) as stream:
            streamed = await stream.get_final_message()

    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in whole.content]
    assert [block.type for block in whole.content] == ["redacted_thinking", "text"]
