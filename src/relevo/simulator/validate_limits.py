"""L1 to L22 but for thinking and compaction: sizes, cache marks, output, pictures."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from typing import Any

from relevo.simulator import cache, schemas
from relevo.simulator.models import Model
from relevo.simulator.tokens import tokens
from relevo.simulator.verdict import Verdict

Json = dict[str, Any]

# Source: platform.claude.com/docs (prompt-caching, vision, task-budgets), read 2026-12-01.
MAX_CACHE_MARKS = 4
MAX_IMAGES = 100
MAX_IMAGE_BYTES = 10 * 1024 * 1024
MAX_IMAGE_PIXELS = 8000
MIN_TASK_BUDGET_TOKENS = 20_000
MAX_USER_ID_CHARS = 256
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def check(verdict: Verdict, model: Model) -> None:
    """Judge everything that has a limit; the shape is good, `verdict.weight` is known."""
    body = verdict.body
    _tokens(verdict, model)
    _cache(verdict)
    _output(verdict, model)
    _images(verdict)
    for index, word in enumerate(body.get("stop_sequences") or ()):
        if not word.strip():
            verdict.add("L20", f"stop_sequences.{index}: each stop sequence must contain non-whitespace")
    if body.get("speed") not in (None, "standard", "fast"):
        verdict.add("L22", "speed: Input should be 'standard' or 'fast'")
    if body.get("speed") == "fast" and not model.fast:
        verdict.add("L22", f"speed: '{model.id}' does not support fast mode")
    if body.get("service_tier") not in (None, "auto", "standard_only"):
        verdict.add("L22", "service_tier: Input should be 'auto' or 'standard_only'")
    user = (body.get("metadata") or {}).get("user_id")
    if user is not None and (not isinstance(user, str) or len(user) > MAX_USER_ID_CHARS):
        verdict.add("L22", f"metadata.user_id: String should have at most {MAX_USER_ID_CHARS} characters")


def _tokens(verdict: Verdict, model: Model) -> None:
    wanted = verdict.body.get("max_tokens", 1)
    prompt = tokens(verdict.weight)
    if wanted < 0:
        verdict.add("L1", "max_tokens: Input should be greater than or equal to 0")
    if wanted > model.output_tokens:
        verdict.add(
            "L2",
            f"max_tokens: {wanted} > {model.output_tokens}, which is the maximum allowed number of output tokens for"
            f" {model.id}",
        )
    if prompt > model.window_tokens:
        verdict.add("L3", f"prompt is too long: {prompt} tokens > {model.window_tokens} maximum")
    elif model.counts_output_in_window and prompt + wanted > model.window_tokens:
        verdict.add(
            "L4", f"input length and `max_tokens` exceed context limit: {prompt} + {wanted} > {model.window_tokens}"
        )


def _cache(verdict: Verdict) -> None:
    body = verdict.body
    lives: list[str] = []
    for place, _, block in verdict.placed:
        if "cache_control" in block or type(block.get("content")) is list:
            lives += [mark.get("ttl", "5m") for mark in cache.marks(block)]
            if block.get("cache_control") and not cache.cacheable(block):
                verdict.add("L6", f"messages.{place[0]}.content.{place[1]}: cache_control cannot be set here")
    automatic = body.get("cache_control")
    if automatic:
        lives.append(automatic.get("ttl", "5m"))
    if len(lives) > MAX_CACHE_MARKS:
        verdict.add("L5", f"A maximum of 4 blocks with cache_control may be provided. Found {len(lives)}.")
    if any(life not in ("5m", "1h") for life in lives):
        verdict.add("L7", "cache_control.ttl: Input should be '5m' or '1h'")
    if "1h" in lives and "5m" in lives[: len(lives) - lives[::-1].index("1h")]:
        verdict.add("L7", "cache_control: a ttl of 1h must come before a ttl of 5m")


def _output(verdict: Verdict, model: Model) -> None:
    body = verdict.body
    config = body.get("output_config") or {}
    effort = config.get("effort")
    if effort is not None and effort not in model.efforts:
        known = ", ".join(sorted(model.efforts)) or "none"
        verdict.add("L11", f"This model does not support effort level '{effort}'. Supported levels: {known}.")
    budget = config.get("task_budget")
    if budget:
        if not isinstance(budget.get("total"), int) or budget["total"] < MIN_TASK_BUDGET_TOKENS:
            verdict.add("L16", "output_config.task_budget.total: Input should be greater than or equal to 20000")
        if not model.task_budgets:
            verdict.add("L16", f"output_config.task_budget: is not supported by {model.id}")
    form = config.get("format")
    if not form:
        return
    schema = form.get("schema") if isinstance(form, dict) else None
    if not isinstance(schema, dict) or form.get("type") != "json_schema":
        verdict.add("L14", "output_config.format: must be a json_schema with a schema")
        return
    for reason in (*schemas.faults_of(schema), *schemas.unenforceable(schema)):
        verdict.add("L14", f"output_config.format.schema{reason}")
    if any((block.get("citations") or {}).get("enabled") for block in _sources(verdict)):
        verdict.add("L15", "output_config.format: is incompatible with citations")
    last = body["messages"][-1] if body["messages"] else {}
    if last.get("role") == "assistant" and _is_prefill(last.get("content")):
        verdict.add("L15", "output_config.format: is incompatible with prefill")


def _is_prefill(content: Any) -> bool:
    return isinstance(content, str) or bool(content and content[-1]["type"] == "text")


def _sources(verdict: Verdict) -> Iterator[Json]:
    for block in _inside(verdict):
        if block.get("type") in ("document", "search_result") and isinstance(block.get("citations"), dict):
            yield block


def _inside(verdict: Verdict) -> Iterator[Json]:
    """Every block that can hold a file or a picture, those inside tool results too."""
    if verdict.kinds.isdisjoint(("image", "document", "search_result", "tool_result")):
        return
    for _, _, block in verdict.placed:
        content = block.get("content")
        if block.get("type") == "tool_result" and type(content) is list:
            yield from content
        else:
            yield block


def _images(verdict: Verdict) -> None:
    count = 0
    for block in _inside(verdict):
        if block.get("type") == "image":
            count += 1
            source = block.get("source")
            if isinstance(source, dict):
                _image(verdict, source)
    if count > MAX_IMAGES:
        verdict.add("L21", f"messages: at most {MAX_IMAGES} images are allowed, found {count}")


def _image(verdict: Verdict, source: Json) -> None:
    data = source.get("data")
    if source.get("type") != "base64" or not isinstance(data, str):
        return
    if len(data) * 3 // 4 > MAX_IMAGE_BYTES:
        verdict.add("L21", f"image exceeds {MAX_IMAGE_BYTES} bytes")
    try:
        head = base64.b64decode(data[:32], validate=True)
    except (binascii.Error, ValueError):
        verdict.add("L21", "image.source.base64.data: invalid base64 data")
        return
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
        if max(width, height) > MAX_IMAGE_PIXELS:
            verdict.add("L21", f"image is {width}x{height}", error_code="image_dimensions_too_large")
