"""L8, L9, L10, L12, L13: thinking asked for, and thinking sent back."""

from __future__ import annotations

from typing import Any

from relevo.simulator import prefix
from relevo.simulator.models import Model
from relevo.simulator.signatures import Signer
from relevo.simulator.signatures import Verdict as Judgement
from relevo.simulator.turns import Turn
from relevo.simulator.verdict import Verdict

Json = dict[str, Any]

MIN_BUDGET_TOKENS = 1024


def check(verdict: Verdict, model: Model, signer: Signer | None) -> None:
    """Judge thinking; `signer` None believes every signature."""
    body = verdict.body
    asked: Json = body.get("thinking") or {}
    kind = asked.get("type")
    if kind is not None and kind not in model.thinking:
        verdict.add("L10", f'"thinking.type.{kind}" is not supported for this model.')
    shown = asked.get("display")
    if shown not in (None, "summarized", "omitted", "updates") or (
        shown == "updates" and "thinking-display-updates-2026-08-18" not in verdict.betas
    ):
        verdict.add("L10", f"thinking.{kind}.display: {shown!r} is not supported")
    if kind == "enabled":
        budget = asked["budget_tokens"]
        if not isinstance(budget, int) or budget < MIN_BUDGET_TOKENS:
            verdict.add("L8", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        elif body.get("max_tokens", budget + 1) <= budget and "interleaved-thinking-2025-05-14" not in verdict.betas:
            verdict.add("L9", "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if kind == "enabled":
        _opening(verdict, verdict.turns)
    newest = next((turn for turn in reversed(verdict.turns) if turn.role == "assistant"), None)
    if signer is not None and newest is not None and "thinking" in verdict.kinds:
        _signatures(verdict, model, signer, newest=newest)


def _opening(verdict: Verdict, merged: list[Turn]) -> None:
    # In `enabled` mode the answer that tool results continue must still open with its thinking.  The first message of
    # that answer counts: later ones in the same round need not think again.
    if not merged or merged[-1].role != "user" or not any(merged[-1].of("tool_result")):
        return
    start: Turn | None = None
    for turn in reversed(merged):
        if turn.role == "assistant":
            start = turn
        elif turn.role == "user" and not any(turn.of("tool_result")):
            break
    if start is not None and start.blocks and start.blocks[0][2]["type"] not in prefix.THINKING:
        index, inner, block = start.blocks[0]
        verdict.add(
            "L13",
            f"messages.{index}.content.{inner}.type: Expected `thinking` or `redacted_thinking`, but found"
            f" `{block['type']}`.",
        )


def _signatures(verdict: Verdict, model: Model, signer: Signer, *, newest: Turn) -> None:
    latest = {(index, inner) for index, inner, _ in newest.blocks}
    binding = (verdict.body.get("thinking") or {}).get("block_binding") or {}
    drops = binding.get("prefix_mismatch_behavior") == "drop_block"
    for link in prefix.chain(verdict.body, binding=True):
        if link.block.get("type") != "thinking":
            continue
        index, inner = link.place
        at = f"messages.{index}.content.{inner}"
        # A thinking block does not change the chain, so this digest is the prefix before it.
        found = signer.check(link.block["thinking"], link.block["signature"], model=model.id, prefix=link.digest)
        match found:
            case Judgement.ALTERED if link.place in latest:
                verdict.add(
                    "L13",
                    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                )
            case Judgement.ALTERED | Judgement.FOREIGN:
                verdict.add("L12", f"{at}: Invalid `signature` in `thinking` block")
            case Judgement.OTHER_PREFIX if model.binds_thinking and drops:
                verdict.transformations.append(
                    {"type": "thinking_dropped", "path": at, "reason": "prefix_binding_mismatch"}
                )
            case Judgement.OTHER_PREFIX if model.binds_thinking:
                verdict.add(
                    "L12",
                    f"{at}: Invalid `signature` in `thinking` block The block is bound to a different conversation.",
                )
            case _:
                pass
