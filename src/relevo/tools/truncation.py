"""Cutting a text where a reader would not notice a torn character."""

from __future__ import annotations

import unicodedata

_ZWJ = "\u200d"
_LONGEST_CLUSTER = 64
"""Longer clusters are somebody's joke: cut them anyway."""


def cut(text: str, limit: int) -> str:
    """The first `limit` characters at most, ending before a character that would be torn: emoji, flag, accent, CRLF."""
    if len(text) <= limit:
        return text
    for end in range(limit, max(0, limit - _LONGEST_CLUSTER), -1):
        if not _joined(text, end):
            return text[:end]
    return text[:limit] if limit >= _LONGEST_CLUSTER else ""


def shortened(text: str, limit: int) -> str:
    """
    The text within `limit` characters; what is cut is replaced by a note that says how to get less.

    `limit` is at least 300, so that the note fits.
    """
    if len(text) <= limit:
        return text
    shown = cut(text, limit - len(note(limit, len(text))))
    return shown + note(len(shown), len(text))


def note(shown: int, total: int) -> str:
    """What stands at the end of a cut result."""
    return (
        f"\n\n[Cut: showing the first {shown} of {total} characters. "
        "Ask for less: a narrower query, a smaller page, or fewer fields.]"
    )


def _joined(text: str, at: int) -> bool:
    """Whether the characters before and after `at` are one for the eye."""
    before, after = text[at - 1], text[at]
    if before == "\r":
        return after == "\n"
    if _ZWJ in (before, after):
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        start = at
        while start > 0 and at - start < _LONGEST_CLUSTER and _is_flag_half(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return _attaches(after)


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _attaches(char: str) -> bool:
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of regional flags
        or "\u1160" <= char <= "\u11ff"  # Korean vowels and finals
    )
