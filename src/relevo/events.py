"""
What can happen in a session.

A body says what happened; an `Event` says where in the log it stands. Names on the wire follow the Managed Agents
vocabulary (`{domain}.{action}`) wherever it has a word; ours stand beside it. A body whose kind this program does
not know is kept as `Unknown`, byte for byte: fleets are never upgraded at one moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from relevo.content import Block, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    """The first event of every log: who runs, for whom."""

    kind: ClassVar[str] = "session.created"
    agent: Mapping[str, Json]
    """The agent's record as it was then (`Agent.record()`): what shapes every request."""
    identity: Mapping[str, Json] = field(default_factory=dict)
    """Who speaks, as the channel knows it (an authenticated user id, say). The model can never set it."""
    title: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdated:
    """Something that shapes requests was changed on purpose; None is unchanged."""

    kind: ClassVar[str] = "session.updated"
    agent: Mapping[str, Json] | None = None
    title: str | None = None
    metadata: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """A person, or whoever speaks for one, said something."""

    kind: ClassVar[str] = "user.message"
    content: Sequence[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInterrupt:
    """Stop at the next safe point; open calls are closed. The model does not see it as a message."""

    kind: ClassVar[str] = "user.interrupt"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfirmation:
    """A person decided about one waiting call."""

    kind: ClassVar[str] = "user.tool_confirmation"
    tool_use_id: str
    """The call's id (ours, as the Managed Agents API does it), never the model's."""
    result: Literal["allow", "deny"]
    approver: str
    """Who decided, as the door knows them."""
    input_sha256: str
    """Of the input that was decided about; a call with another input is not covered."""
    input: Any = None
    """The edited input to run instead, already validated; None runs it as proposed."""
    deny_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRunning:
    """A harness took the session up."""

    kind: ClassVar[str] = "session.status_running"
    epoch: int
    worker: str = ""
    """Which process, for people; nothing depends on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionIdle:
    """The harness put the session down, and why."""

    kind: ClassVar[str] = "session.status_idle"
    stop_reason: Mapping[str, Json]
    """`{"type": ...}`: the wire form of an `Outcome` (see outcome.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStarted:
    """A request is about to be sent. What arrives in the log after it was not seen by its answer."""

    kind: ClassVar[str] = "span.model_request_start"
    model: str
    max_tokens: int
    attempt: int = 1
    """1 is the first try of this request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered:
    """A whole answer, as it came."""

    kind: ClassVar[str] = "model.answered"
    message: Mapping[str, Json]
    """The raw Message object: unknown fields and blocks verbatim."""
    request_id: str | None = None
    malformed: Sequence[int] = ()
    """Indexes of `tool_use` blocks whose input was not a JSON object; they are answered, never run."""
    cost_usd: str | None = None
    """Decimal, at the prices of the day; None is unknown, never free."""
    seconds: float | None = None
    """From sending to the last byte."""
    first_token_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """A request that gave no answer. Nothing it streamed counts."""

    kind: ClassVar[str] = "model.failed"
    error: Mapping[str, Json]
    """`{"type", "message", "status", "code", "request_id"}`."""
    retry_in_seconds: float | None = None
    """The wait before the next attempt; None when there will be none."""
    usage: Mapping[str, Json] | None = None
    """What was counted before it failed; None when nothing was."""
    cost_usd: str | None = None
    """Of that usage; as in `ModelAnswered`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopNudged:
    """The harness asked the model to go on: after a cut answer at the largest limit, or after an empty one."""

    kind: ClassVar[str] = "loop.nudged"
    reason: Literal["max_tokens", "empty"]
    text: str
    """What the model is told, as a user message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """An effect is about to begin. Written before it does: after a crash this line is all we know."""

    kind: ClassVar[str] = "tool.started"
    tool_use_id: str
    """The call's id (ours)."""
    name: str
    input: Any
    """What the tool is run with: validated, and edited if a person edited it."""
    effect: str
    """read, idempotent, compensable, irreversible or transactional; see tools/effects.py."""
    key: str
    """The idempotency key given to the tool; the same on every attempt of this call."""
    attempt: int = 1
    changed_by: str | None = None
    """The hook that put this input in place of the model's; None when none did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailed:
    """An attempt at a call failed, and another follows. The model reads only the last one's end."""

    kind: ClassVar[str] = "tool.failed"
    tool_use_id: str
    name: str
    error: Mapping[str, Json]
    """As in `ToolEnded`, with a `message`."""
    retry_in_seconds: float
    attempt: int = 1
    seconds: float | None = None
    """How long the attempt took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWaiting:
    """A call that cannot end yet; `until` says what will end the wait."""

    kind: ClassVar[str] = "tool.waiting"
    tool_use_id: str
    name: str
    input: Any
    until: Mapping[str, Json]
    """`{"type": "approval", "reason", "input_sha256", "expires_at"}`; other types follow."""
    changed_by: str | None = None
    """As in `ToolStarted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    """The one result of a call, of whatever kind: returned, failed, refused, cancelled, unknown."""

    kind: ClassVar[str] = "tool.ended"
    tool_use_id: str
    name: str
    content: str | Sequence[Block]
    """What the model reads."""
    note: str | None = None
    """What the harness adds for the model, after the content."""
    is_error: bool = False
    error: Mapping[str, Json] | None = None
    """`{"category", "code", "retryable", "outcome", "partial", "retry_after_seconds"}` when `is_error`."""
    data: Any = None
    """The tool's value as JSON, for gates and programs; the model reads `content`. None when there is none."""
    input: Any = None
    """The input it ran with; None when it never ran."""
    seconds: float | None = None
    degraded: Mapping[str, Json] | None = None
    """`{"source", "age_seconds", "because"}` when a fallback gave it; gates do not count such a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEndedLate:
    """A call that was given up came to its end after all. The model hears of it with what it reads next."""

    kind: ClassVar[str] = "tool.ended_late"
    tool_use_id: str
    name: str
    content: str
    """What it came to, cut short."""
    is_error: bool = False
    seconds: float | None = None
    """From its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An event of a kind, or a version, that this program does not know. Kept, never interpreted."""

    unknown_kind: str
    version: int
    data: Json

    @property
    def kind(self) -> str:
        return self.unknown_kind


Body = (
    SessionCreated
    | SessionUpdated
    | UserMessage
    | UserInterrupt
    | ToolConfirmation
    | SessionRunning
    | SessionIdle
    | RequestStarted
    | ModelAnswered
    | ModelFailed
    | LoopNudged
    | ToolStarted
    | ToolFailed
    | ToolWaiting
    | ToolEnded
    | ToolEndedLate
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Event:
    """A body at its place in a log."""

    session_id: str
    position: int
    """1, 2, ... without gaps."""
    at: datetime
    """When it was written, UTC. For people: order is `position`, never time."""
    body: Body

    @property
    def id(self) -> str:
        """`sevt_...`, stable and derived: nothing stores it, nothing can disagree about it."""
        return event_id(self.session_id, self.position)

    @property
    def kind(self) -> str:
        return self.body.kind


def event_id(session_id: str, position: int) -> str:
    """The id of the event at `position` of a session."""
    if session_id.startswith("sesn_"):
        return f"sevt_{session_id.removeprefix('sesn_')}_{position}"
    return f"sevt-{session_id}_{position}"  # an id of the user's own; it can never be one of ours
