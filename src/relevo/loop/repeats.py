"""Telling the model that it goes in circles, before a cap has to."""

from __future__ import annotations

from collections.abc import Sequence

from relevo.content import Block, Call
from relevo.fold import call_hash, result_hash
from relevo.state import State

WARN_BEFORE = 2
"""How many identical results before the cap the first note comes: with the default cap of 5, at the third."""


def note_for(
    state: State, call: Call, content: str | Sequence[Block], *, is_error: bool, cap: int | None
) -> str | None:
    """What to add to a result that this very call has given before, near the cap; None when nothing is to be said."""
    if cap is None:
        return None
    last, count = state.turn.repeats.get(call_hash(call), ("", 0))
    times = count + 1
    if times < max(2, cap - WARN_BEFORE) or last != result_hash(content, is_error=is_error):
        return None
    return (
        f"(The same call gave the same result {times} times in a row. Calling again will not change it, and at "
        f"{cap} the turn ends. Do something else, or answer with what you have.)"
    )
