"""A brain's reply made into the message that the API would send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relevo.simulator import prefix
from relevo.simulator.brains.brain import BrainMistake
from relevo.simulator.cache import PromptUsage
from relevo.simulator.fit import Fitted, fit
from relevo.simulator.ids import spell
from relevo.simulator.models import Model
from relevo.simulator.replies import Reply
from relevo.simulator.signatures import Signer
from relevo.simulator.validate_compaction import NO_PREFIX

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A message, and the input of its last block as far as it was written when that is an unfinished call."""

    message: Json
    partial_json: str | None = None


def compose(
    reply: Reply, body: Mapping[str, Any], *, model: Model, prompt: PromptUsage, key: str, signer: Signer
) -> Answer:
    """
    Give ids, limits, signatures and usage to a reply.

    Raises:
        BrainMistake: the reply breaks the request's `tool_choice`.
    """
    _obey(reply, body)
    room = model.window_tokens - prompt.total
    wanted = body["max_tokens"]
    content = _thoughts(_identified(reply, key), body, model)
    fitted = (
        Fitted(content)
        if reply.whole
        else fit(content, max_tokens=max(1, min(wanted, room)), stop_sequences=body.get("stop_sequences") or ())
    )
    reason = fitted.stop_reason
    if reason == "max_tokens" and room < wanted:
        reason = "model_context_window_exceeded"
    blocks = _signed(fitted.content, body, model, signer, whole=reason is None or reason == "stop_sequence")
    message: Json = {
        "model": model.resolves_to or model.id,
        "id": spell("msg_", key),
        "type": "message",
        "role": "assistant",
        "content": blocks,
        "stop_reason": reason or reply.stop_reason or _reason(blocks),
        "stop_sequence": fitted.stop_sequence or (reply.stop_sequence if reason is None else None),
        "stop_details": dict(reply.stop_details) if reply.stop_details and reason is None else None,
        "usage": {**usage_of(prompt, body, fitted.output_tokens, fitted.thinking_tokens), **reply.usage},
    }
    if body.get("diagnostics"):
        message["diagnostics"] = {"cache_miss_reason": {"type": "unavailable"}}
    message.update(reply.extra)
    return Answer(message, fitted.partial_json)


def usage_of(prompt: PromptUsage, body: Mapping[str, Any], output: int, thinking: int = 0) -> Json:
    """The `usage` of a message."""
    usage: Json = {
        "input_tokens": prompt.fresh,
        "cache_creation_input_tokens": prompt.written,
        "cache_read_input_tokens": prompt.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": prompt.written_5m,
            "ephemeral_1h_input_tokens": prompt.written_1h,
        },
        "output_tokens": output,
        "service_tier": "standard",
        "inference_geo": body.get("inference_geo") or "global",
    }
    if thinking:
        usage["output_tokens_details"] = {"thinking_tokens": thinking}
    if body.get("speed"):
        usage["speed"] = body["speed"]
    return usage


def prewarmed(body: Mapping[str, Any], *, model: Model, prompt: PromptUsage, key: str) -> Answer:
    """The empty message that `max_tokens: 0` gets."""
    reply = Reply(stop_reason="max_tokens", usage={"output_tokens": 0})
    return compose(reply, {**body, "tool_choice": None}, model=model, prompt=prompt, key=key, signer=Signer(0))


def _obey(reply: Reply, body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice") or {}
    called = [block.get("name") for block in reply.content if block.get("type") == "tool_use"]
    match choice.get("type"):
        case "none" if called:
            raise BrainMistake(f"tool_choice is none, the reply calls {called!r}")
        case "any" if not called and reply.stop_reason is None:
            raise BrainMistake("tool_choice is any, the reply calls no tool")
        case "tool" if choice.get("name") not in called and reply.stop_reason is None:
            raise BrainMistake(f"tool_choice demands {choice.get('name')!r}, the reply calls {called!r}")
        case _:
            pass
    if choice.get("disable_parallel_tool_use") and len(called) > 1:
        raise BrainMistake(f"tool_choice allows one call, the reply makes {called!r}")


def _identified(reply: Reply, key: str) -> list[Json]:
    blocks = []
    for index, given in enumerate(reply.content):
        block = dict(given)
        if block.get("type") == "tool_use" and "id" not in block:
            block = {"type": "tool_use", "id": spell("toolu_", key, index), **block}
        elif block.get("type") == "server_tool_use" and "id" not in block:
            block = {"type": "server_tool_use", "id": spell("srvtoolu_", key, index), **block}
        blocks.append(block)
    return blocks


def _thoughts(content: list[Json], body: Mapping[str, Any], model: Model) -> list[Json]:
    asked = body.get("thinking")
    thinks = asked.get("type") != "disabled" if asked else model.thinks_unasked
    if not thinks:
        return [block for block in content if block.get("type") not in prefix.THINKING]
    display = (asked or {}).get("display") or ("omitted" if model.omits_thinking else "summarized")
    if display != "omitted":
        return content
    return [{**block, "thinking": ""} if block.get("type") == "thinking" else block for block in content]


def _signed(content: list[Json], body: Mapping[str, Any], model: Model, signer: Signer, *, whole: bool) -> list[Json]:
    if body.get("compaction"):
        return [_sealed(block, signer) for block in content]
    if all(block.get("type") != "thinking" for block in content):
        return content
    digest = b""
    for link in prefix.chain(body, binding=True):
        digest = link.digest
    blocks = []
    for index, block in enumerate(content):
        if block.get("type") == "thinking":
            cut = not whole and index == len(content) - 1
            signature = "" if cut else signer.sign(block["thinking"], model=model.id, prefix=digest)
            blocks.append({"signature": signature, **block})
        else:
            digest = prefix.extend(digest, "assistant", block)
            blocks.append(block)
    return blocks


def _sealed(block: Json, signer: Signer) -> Json:
    if block.get("type") != "compaction":
        return block
    return {"signature": signer.sign(block.get("content") or "", model="", prefix=NO_PREFIX), **block}


def _reason(blocks: list[Json]) -> str:
    return "tool_use" if any(block.get("type") == "tool_use" for block in blocks) else "end_turn"
