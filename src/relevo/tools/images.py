"""
Images and documents in a result, checked before they are stored.

One bad image in a log makes the API refuse every later request of the session, so it must not get in.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from typing import Any

from relevo.errors import InvalidValue

# Source: Claude docs, "Vision", read 2026-08: 5 MB an image, counted as base64; no side over 8000 pixels.
MAX_IMAGE_CHARS = 5 * 1024 * 1024
MAX_SIDE_PIXELS = 8000
# A request is 32 MB in all (docs, "PDF support"): one document must leave room for the rest.
MAX_DOCUMENT_CHARS = 20 * 1024 * 1024

_SIZE_FREE = frozenset({"url", "file", "text", "content"})


def media_type_of(data: bytes) -> str | None:
    """What the first bytes say: one of the types the API takes, or None."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    return None


def image_block(data: bytes) -> dict[str, Any]:
    """An image block of an image's bytes. Its type is read from the bytes; not checked for size."""
    source = {"type": "base64", "media_type": media_type_of(data), "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def check_media(block: Mapping[str, Any]) -> None:
    """
    Check an `image` or `document` block, as `content.sayable` gives it, and the images inside it.

    Raises:
        InvalidValue: the API would refuse it; the message says why and shows none of the data.
    """
    kind, source = block["type"], block["source"]
    form = source.get("type")
    if form == "content" and isinstance(parts := source.get("content"), list):
        for part in parts:
            if part["type"] == "image":
                check_media(part)
    if form in _SIZE_FREE:
        return
    if form != "base64":
        raise InvalidValue(f"{kind}: source type {str(form)[:40]!r} is unknown")
    text, said = source.get("data"), source.get("media_type")
    if not isinstance(text, str) or not text:
        raise InvalidValue(f"{kind}: no data")
    if text.startswith("data:"):
        raise InvalidValue(f"{kind}: data starts with 'data:'; give the base64 alone")
    limit = MAX_IMAGE_CHARS if kind == "image" else MAX_DOCUMENT_CHARS
    if len(text) > limit:
        raise InvalidValue(f"{kind}: {len(text)} characters of base64, at most {limit} are taken; make it smaller")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(f"{kind}: data is not base64") from None
    real = media_type_of(data)
    if real is None or (real == "application/pdf") != (kind == "document"):
        wanted = "PDF" if kind == "document" else "PNG, JPEG, GIF or WebP"
        raise InvalidValue(f"{kind}: data is not {wanted}")
    if real != said:
        raise InvalidValue(f"{kind}: media_type says {str(said)[:40]!r}, but the data is {real}")
    size = size_pixels(data)
    if size is not None and max(size) > MAX_SIDE_PIXELS:
        raise InvalidValue(f"{kind}: {size[0]}x{size[1]} pixels, at most {MAX_SIDE_PIXELS} a side; make it smaller")


def size_pixels(data: bytes) -> tuple[int, int] | None:
    """Width and height as the header says; None if it cannot be read."""
    try:
        match media_type_of(data):
            case "image/png":
                width, height = struct.unpack(">II", data[16:24])
            case "image/gif":
                width, height = struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                return _jpeg(data)
            case "image/webp":
                return _webp(data)
            case _:
                return None
    except (struct.error, IndexError):
        return None
    return width, height


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        # Frame headers are C0 to CF without C4 (tables), C8 (reserved) and CC (arithmetic coding).
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            bits = struct.unpack("<I", data[21:25])[0]
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None
