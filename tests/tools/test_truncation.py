from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.tools.truncation import cut, shortened

CLUSTERS = [
    "👨‍👩‍👧‍👦",  # ZWJ family
    "👍🏽",  # skin tone
    "🇨🇱",  # flag
    "é",  # combining accent
    "🏴󠁧󠁢󠁳󠁣󠁴󠁿",  # regional flag by tags
    "❤️",  # variation selector
    "\r\n",
    "각",  # Korean jamo
    "नि",  # spacing vowel sign
]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_b122_a_cluster_is_never_torn(cluster: Any) -> None:
    text = "ab" + cluster + "cd"

    for limit in range(len(text)):
        shown = cut(text, limit)
        assert shown in ("", "a", "ab", f"ab{cluster}", f"ab{cluster}c")
        assert len(shown) <= limit


def test_flags_are_counted_in_pairs() -> None:
    text = "🇨🇱🇦🇷🇺🇾"

    assert [len(cut(text, limit)) for limit in range(7)] == [0, 0, 2, 2, 4, 4, 6]


def test_a_cluster_without_end_is_cut_anyway() -> None:
    assert len(cut("a" + "́" * 1000, 500)) == 500


@given(st.text(), st.integers(0, 50))
def test_a_cut_is_a_beginning_within_the_limit(text: Any, limit: Any) -> None:
    shown = cut(text, limit)

    assert text.startswith(shown)
    assert len(shown) <= limit
    assert len(shown) >= min(len(text), limit) - 64


@given(st.text(min_size=0, max_size=2000), st.integers(300, 1000))
def test_a_shortened_text_keeps_the_limit_and_says_how_much_is_missing(text: Any, limit: Any) -> None:
    shown = shortened(text, limit)

    assert len(shown) <= limit
    if len(text) <= limit:
        assert shown == text
    else:
        assert f"of {len(text)} characters" in shown
        assert "Ask for less" in shown


@given(st.text(st.characters(codec="utf-8"), min_size=400, max_size=600))
def test_b122_cutting_never_makes_a_lone_surrogate(text: Any) -> None:
    shortened(text + "😀" * 100, 320).encode()
