"""How long a turn may still go on. It binds requests, calls and every wait between them."""

from __future__ import annotations

from relevo.loop.journal import Journal
from relevo.loop.parts import Parts


def time_left(journal: Journal, parts: Parts) -> float | None:
    """Seconds until the turn's time is over, below 0 when it is; None without a limit."""
    began = journal.state.turn.began_at
    if parts.limits.seconds is None or began is None:
        return None
    return parts.limits.seconds - (parts.clock.now() - began).total_seconds()
