"""
What a tool does to the world, and what that allows after a crash.

A log can say that a call *started* and not that it *ended*; what may follow is decided by the class the author
declared, never guessed from a name (see the matrix).
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, get_args

from relevo.content import Json, sha256

Effect = Literal["read", "idempotent", "compensable", "irreversible", "transactional"]
"""
`read`            changes nothing; runs in parallel with other reads.
`idempotent`      a second run with the same key (`ToolContext.key`) changes nothing more, and returns the same.
`compensable`     can be undone; it honours the key, or its `reconcile` hook can tell whether a key was done.
`irreversible`    none of these, or nobody knows: the honest default.
`transactional`   writes only through `ToolContext.transaction`, so its writes and its `tool.ended` commit together.
"""

EFFECTS: tuple[Effect, ...] = get_args(Effect)


class Recovery(Enum):
    """What to do with a call that started and has no end."""

    RERUN = "rerun"
    """Run it again, with the same key."""
    ASK = "ask"
    """Ask the `reconcile` hook by key; run by key if it was not done; never run if it cannot tell."""
    NEVER = "never"
    """Do not run it. The model learns that the outcome is unknown, or a person is asked."""


RECOVERY: dict[tuple[Effect, bool], Recovery] = {
    # (effect, has a reconcile hook)
    ("read", False): Recovery.RERUN,
    ("read", True): Recovery.RERUN,
    ("idempotent", False): Recovery.RERUN,
    ("idempotent", True): Recovery.ASK,
    ("compensable", False): Recovery.ASK,  # nobody to ask: `reconcile` says not done, so it runs by key
    ("compensable", True): Recovery.ASK,
    ("irreversible", False): Recovery.NEVER,
    ("irreversible", True): Recovery.ASK,
    # Its end commits with its writes: a start without an end means that nothing was written. Asking could only harm.
    ("transactional", False): Recovery.RERUN,
    ("transactional", True): Recovery.RERUN,
}


def after_crash(effect: Effect, *, has_reconcile: bool) -> Recovery:
    """What a call of this class may do when it started, did not end, and its process is gone."""
    return RECOVERY[effect, has_reconcile]


def idempotency_key(session_id: str, call_id: str, name: str, input: Json) -> str:  # noqa: A002  the API's word
    """
    The key of one call, at most 64 characters: the same on every attempt, another for every other call.

    A fork is a session of its own, so what it runs never meets the keys of its parent.
    """
    return f"relevo_{sha256([session_id, call_id, name, input])[:48]}"
