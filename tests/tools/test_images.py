from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import InvalidValue
from relevo.tools.images import MAX_IMAGE_CHARS, check_media, image_block, media_type_of, size_pixels


def png(width: Any = 1, height: Any = 1) -> Any:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(head)) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    return b"\x89PNG\r\n\x1a\n" + chunk


def jpeg(width: Any, height: Any) -> Any:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\x00" + b"\x00" * 9
    table = b"\xff\xc4" + struct.pack(">H", 4) + b"\x00\x00"
    frame = b"\xff\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 3)
    return b"\xff\xd8" + app + table + frame + b"\x00" * 4


def gif(width: Any, height: Any) -> Any:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00" * 3


def webp(kind: Any, width: Any, height: Any) -> Any:
    body = {
        b"VP8X": b"\x00" * 8 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x00" * 4 + b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        b"VP8 ": b"\x00" * 10 + struct.pack("<HH", width, height),
    }[kind]
    return b"RIFF" + b"\x00" * 4 + b"WEBP" + kind + body


def block(data: Any, media_type: Any = "image/png", kind: Any = "image") -> Any:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": text}}


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(3, 4), "image/png"),
        (jpeg(3, 4), "image/jpeg"),
        (gif(3, 4), "image/gif"),
        (webp(b"VP8X", 3, 4), "image/webp"),
        (webp(b"VP8L", 3, 4), "image/webp"),
        (webp(b"VP8 ", 3, 4), "image/webp"),
    ],
)
def test_a_good_image_passes_and_its_size_is_read(data: Any, media_type: Any) -> None:
    check_media(block(data, media_type))

    assert image_block(data) == block(data, media_type)
    assert size_pixels(data) == (3, 4)


def test_a_pdf_passes_as_a_document() -> None:
    check_media(block(b"%PDF-1.7", "application/pdf", "document"))

    assert size_pixels(b"%PDF-1.7") is None


@pytest.mark.parametrize("source", [{"type": "url", "url": "https://x"}, {"type": "file", "file_id": "f"}])
def test_what_is_not_sent_along_is_not_checked(source: Any) -> None:
    check_media({"type": "image", "source": source})


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (block("nöt base64"), "not base64"),
        (block("abc"), "not base64"),
        (block(jpeg(1, 1)), "the data is image/jpeg"),
        (block("data:image/png;base64,AAAA"), "'data:'"),
        (block(""), "no data"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png"}}, "no data"),
        ({"type": "image", "source": {"type": "blob"}}, "'blob' is unknown"),
        (block(b"hello"), "not PNG, JPEG, GIF or WebP"),
        (block(b"%PDF-1.7", "application/pdf"), "not PNG"),
        (block(png(), "image/png", "document"), "not PDF"),
        (block(png(), "image/tiff"), "says 'image/tiff'"),
        (block(png(10_000, 10)), "10000x10 pixels"),
        (block(png() + b"\x00" * (4_200_000)), "at most 5242880"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_b130_b123_an_image_the_api_would_refuse_is_refused_here(bad: Any, why: Any) -> None:
    with pytest.raises(InvalidValue, match=why) as caught:
        check_media(bad)

    assert len(str(caught.value)) < 200


def test_b123_the_limit_is_counted_in_base64() -> None:
    # 4.2 MB of bytes are 5.6 MB on the wire.
    check_media(block(png() + b"\x00" * (MAX_IMAGE_CHARS // 4 * 3 - 40)))


@given(
    st.sampled_from([png(), jpeg(1, 1), gif(1, 1), webp(b"VP8L", 1, 1), b"RIFF0000WEBP"]),
    st.integers(0, 60),
    st.binary(max_size=40),
)
def test_a_broken_header_is_no_crash(good: Any, keep: Any, tail: Any) -> None:
    data = good[:keep] + tail

    size = size_pixels(data)
    assert size is None or media_type_of(data) is not None
