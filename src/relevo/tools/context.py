"""What a tool may know about the call it serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from relevo.content import Json

Report = Callable[[float | None, float | None, str | None], object]
"""Progress, total, message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """
    One attempt at one call. A tool gets it in the parameter annotated with this type, whatever its name is;
    the model neither sees nor sets it.
    """

    session_id: str
    call_id: str
    """Ours: unique for ever. Use it as the reference in your own records."""
    tool_use_id: str = ""
    """The model's id for the call; it may repeat."""
    tool: str = ""
    key: str = ""
    """The idempotency key: the same on every attempt of this call. Hand it to whatever you call."""
    attempt: int = 1
    approver: str | None = None
    """Who approved this very call; None when nobody had to."""
    identity: Mapping[str, Json] = field(default_factory=dict, repr=False)
    """Who speaks, as the channel knows it. Decide by this, never by what the model says about the person."""
    metadata: Mapping[str, Json] = field(default_factory=dict, repr=False)
    epoch: int = 0
    """The fencing token: a store that keeps the newest can refuse a process that lost its lease."""
    deadline: float | None = None
    """When the call is given up, on the harness's monotonic clock; None is never."""
    transaction: Any = field(default=None, repr=False)
    """For `transactional` tools: what to write through. Commit and rollback are not yours to call."""
    on_report: Report | None = field(default=None, repr=False)
    """Who hears of progress; use `report`."""

    def report(self, progress: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """
        Say that the work goes on, as far as it is (`progress` of `total`, in whatever unit).

        Shown to whoever watches, never to the model. A tool with `idle_seconds` is given up when it says nothing for
        so long. Cheap, never raises, may be called from any thread.
        """
        if self.on_report is not None:
            self.on_report(progress, total, message)

    def __post_init__(self) -> None:
        # A tool that changed these would change what the gates and the next tool see.
        object.__setattr__(self, "identity", MappingProxyType(_copied(self.identity)))
        object.__setattr__(self, "metadata", MappingProxyType(_copied(self.metadata)))


def _copied(value: Any) -> Any:
    """A deep copy of a JSON value; several times as fast as `copy.deepcopy`, on the path of every call."""
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
