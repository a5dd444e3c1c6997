"""
L17 to L19: making the context smaller, by `context_management` edits or by the `compaction` parameter.

The error codes are those of the `anthropic` SDK 2.14 (`_error_classes.py`), read 2026-12-01.
"""

from __future__ import annotations

from typing import Any

from relevo.simulator.signatures import Signer
from relevo.simulator.signatures import Verdict as Judgement
from relevo.simulator.verdict import Verdict

Json = dict[str, Any]

MIN_TRIGGER_TOKENS = 50_000
# A summary is bound to nothing but itself: it replaces the prompt that it came from.
NO_PREFIX = b"compaction"


def check(verdict: Verdict, signer: Signer | None) -> None:
    """Judge edits, the request for a summary, and summaries that come back; `signer` None believes every signature."""
    _edits(verdict)
    if verdict.body.get("compaction"):
        _summary_asked(verdict)
    if "compaction" in verdict.kinds:
        _summaries_given(verdict, signer)


def _edits(verdict: Verdict) -> None:
    body = verdict.body
    edits = (body.get("context_management") or {}).get("edits") or []
    kinds = [edit.get("type") for edit in edits]
    for index, edit in enumerate(edits):
        given = edit.get("trigger")
        trigger = given.get("value") if isinstance(given, dict) else None
        if edit.get("type") == "compact_20260112" and trigger is not None and trigger < MIN_TRIGGER_TOKENS:
            at = f"context_management.edits.{index}.trigger.value"
            verdict.add("L17", f"{at}: Input should be greater than or equal to {MIN_TRIGGER_TOKENS}")
    if "clear_thinking_20251015" in kinds:
        if kinds[0] != "clear_thinking_20251015":
            verdict.add("L18", "context_management.edits: clear_thinking_20251015 must be listed first")
        if (body.get("thinking") or {}).get("type", "disabled") == "disabled":
            verdict.add("L18", "context_management.edits: clear_thinking_20251015 requires thinking")


def _summary_asked(verdict: Verdict) -> None:
    body = verdict.body
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    form = (body.get("output_config") or {}).get("format")
    if body.get("context_management") or body.get("stop_sequences") or form or forced:
        verdict.add(
            "L19", "compaction: cannot be combined with context_management, stop_sequences, format or a forced tool"
        )
    if "assistant" not in {turn.role for turn in verdict.turns}:
        verdict.add("L19", "compaction: nothing to summarize", error_code="compaction_nothing_to_summarize")
    elif verdict.turns[-1].role == "assistant" and verdict.turns[-1].of("tool_use"):
        verdict.add("L19", "compaction: a tool call is not answered", error_code="compaction_incomplete_turn")


def _summaries_given(verdict: Verdict, signer: Signer | None) -> None:
    signed = [each for turn in verdict.turns for each in turn.of("compaction") if each[2].get("signature")]
    if len(signed) > 1:
        verdict.add("L19", "messages: more than one signed summary", error_code="compaction_block_ambiguous")
    for index, inner, block in signed:
        at = f"messages.{index}.content.{inner}"
        if (index, inner) != (0, 0):
            verdict.add("L19", f"{at}: a signed summary must come first", error_code="compaction_block_misplaced")
        if signer is None:
            continue
        content, signature = block.get("content"), block["signature"]
        if not isinstance(content, str | None) or not isinstance(signature, str):
            verdict.add("L19", f"{at}: not a summary", error_code="compaction_signature_invalid")
            continue
        found = signer.check(content or "", signature, model="", prefix=NO_PREFIX)
        if found is Judgement.ALTERED:
            verdict.add("L19", f"{at}: the summary was changed", error_code="compaction_content_mismatch")
        elif found is not Judgement.GOOD:
            verdict.add("L19", f"{at}: the signature is not ours", error_code="compaction_signature_invalid")
