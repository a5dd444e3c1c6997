"""
A cheap and repeatable guess at tokens: four bytes of UTF-8 are one.

Real tokenizers differ by model and are not public.  What matters for tests is that the guess only depends on the text,
that it grows with it, and that parts add up: tokens are counted on running totals of bytes, so that the sum of the
pieces is the count of the whole.
"""

from __future__ import annotations

from typing import Any

BYTES_PER_TOKEN = 4
# An image of 1092x1092 costs about 1,590 tokens.  Source: platform.claude.com/docs vision, read 2026-12-01.
IMAGE_BYTES = 1_600 * BYTES_PER_TOKEN
FILE_BYTES = 2_000 * BYTES_PER_TOKEN
MESSAGE_BYTES = 8


def size_bytes(text: str) -> int:
    """Bytes of `text` in UTF-8; lone surrogates count three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def weight_bytes(value: Any) -> int:
    """What a block, a tool or any other piece of a prompt weighs; cache marks weigh nothing."""
    kind = type(value)
    if kind is str:
        return size_bytes(value)
    if kind is dict:
        named = value.get("type")
        if named == "text" and type(value.get("text")) is str:
            return size_bytes(value["text"]) + 4
        if named in ("base64", "file", "url") and ("data" in value or "file_id" in value or "url" in value):
            return IMAGE_BYTES if str(value.get("media_type", "image")).startswith("image") else FILE_BYTES
        total = 0
        for key, item in value.items():
            if key != "cache_control":
                total += len(key) + 2 + (size_bytes(item) if type(item) is str else weight_bytes(item))
        return total
    if kind is list:
        return sum(map(weight_bytes, value)) + 2
    return 4


def tokens(weight: int) -> int:
    """Tokens of a running total of bytes, rounded up; 0 bytes are 0 tokens."""
    return -(-weight // BYTES_PER_TOKEN)
