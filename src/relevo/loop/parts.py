"""What a session is driven with in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import random

from relevo.agent import Limits
from relevo.clock import Clock
from relevo.human.hooks import Hook
from relevo.model.model import Model, Watch
from relevo.model.retry import DEFAULT_POLICY, RetryPolicy
from relevo.model.settings import Settings
from relevo.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run is done with. The log is in the journal; everything here may differ from process to process."""

    model: Model
    toolbox: Toolbox
    clock: Clock
    settings: Settings
    limits: Limits
    first_limit: int
    """`max_tokens` of an ordinary request."""
    largest_limit: int
    """The most the model can be given."""
    retry: RetryPolicy = DEFAULT_POLICY
    dice: Callable[[], float] = field(default=random)
    """A number in [0, 1), for jitter."""
    hooks: Sequence[Hook] = ()
    """Rules around every call."""
    watch: Watch | None = None
    """Sees raw stream events, for live display."""
