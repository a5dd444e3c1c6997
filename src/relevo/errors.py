"""
Every error of Relevo, one tree.

    RelevoError
    ├── InvalidValue (ValueError)     the caller's value, refused before anything happened
    │   ├── NotJson                   a value the log cannot hold, with its path
    │   ├── InvalidMessage            an empty or malformed message
    │   ├── InvalidTool               a tool declared wrongly
    │   └── InvalidAgent              an agent declared wrongly, or unknown here
    ├── LogError                      the log refused or failed; nothing was written
    │   ├── SessionNotFound
    │   ├── SessionHeld               a living process drives the session
    │   ├── LogMoved                  somebody appended first: read again, decide again
    │   ├── LeaseLost                 somebody else holds the session now: stop
    │   ├── LogClosed
    │   ├── LogCorrupt                stored bytes that cannot be read
    │   ├── LogTooNew                 written by a newer Relevo than this one
    │   └── LogUnavailable            disk full, read-only, locked too long
    ├── ModelError                    a model call failed; says whether a repeat may help
    │   └── MissingCredential
    ├── DecisionError                 an approval that cannot be taken
    │   ├── NothingToDecide
    │   ├── AlreadyDecided
    │   └── DecisionExpired
    ├── ToolError                     a tool's own failure: a result for the model, never a dead run
    └── InvalidRequest                our own bug: a request that would be refused, caught before sending
"""

from __future__ import annotations

from typing import Any, Literal, get_args

Category = Literal["transient", "validation", "business", "permission", "internal"]
"""Why a tool failed. Only `transient` may help itself; `internal` is a bug or an unforeseen exception."""

Outcome = Literal["not_executed", "failed", "unknown"]
"""What became of the effect: never begun, begun and known to have failed, or nobody knows."""


class RelevoError(Exception):
    """Base of all errors raised by Relevo."""


class InvalidValue(RelevoError, ValueError):
    """A value of the caller's that cannot be used."""


class NotJson(InvalidValue):
    """A value that JSON cannot say, with the path to it (`$.a[0]`)."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class InvalidMessage(InvalidValue):
    """A message that says nothing, or whose blocks the API would refuse."""


class InvalidTool(InvalidValue):
    """A tool that cannot be offered to the model as it is declared."""


class InvalidAgent(InvalidValue):
    """An agent that cannot run as it is declared, or that this program does not know."""


class LogError(RelevoError):
    """The log refused or failed. Nothing of the append is stored."""


class SessionNotFound(LogError):
    """No session has this id."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}")
        self.session_id = session_id


class SessionHeld(LogError):
    """A living process drives the session. Leave it to that, or take the session over on purpose."""

    def __init__(self, session_id: str, *, holder: str, hint: str = "take_over=True fences it off") -> None:
        host, _, rest = holder.rpartition(":")[0].rpartition(":")
        super().__init__(f"session {session_id!r} is driven by process {rest} on {host}; {hint}")
        self.session_id = session_id
        self.holder = holder


class LogMoved(LogError):
    """The log is no longer where the caller thought: read what came, then decide again."""

    def __init__(self, session_id: str, *, expected: int, actual: int) -> None:
        super().__init__(f"session {session_id!r} is at position {actual}, not at {expected}")
        self.session_id = session_id
        self.expected = expected
        self.actual = actual


class LeaseLost(LogError):
    """A newer wake holds the session. The caller must stop and write nothing more."""

    def __init__(self, session_id: str, *, epoch: int, newest: int) -> None:
        super().__init__(f"session {session_id!r} is held at epoch {newest}; this holder has {epoch}")
        self.session_id = session_id
        self.epoch = epoch
        self.newest = newest


class LogClosed(LogError):
    """The log was closed; open another."""


class LogCorrupt(LogError):
    """Stored bytes that cannot be read. Never treated as an empty log."""


class LogTooNew(LogError):
    """The store was written by a newer Relevo. Upgrade this one; nothing was changed."""


class LogUnavailable(LogError):
    """The store cannot be written or read now: disk full, read-only, or locked too long."""


class ModelError(RelevoError):
    """
    A model call that gave no answer.

    `status` is the HTTP status, 200 for an error inside a stream, None when no response came.
    `type` is the API's `error.type`, or one of ours: `connection`, `timeout`, `cut_stream`, `protocol`.
    `retryable` says whether the same request may succeed later; `retry_after` is in seconds, None if not told.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str = "api_error",  # noqa: A002  the API's own word
        code: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str | None = None,
        usage: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.type = type
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after
        self.request_id = request_id
        self.usage = usage
        """Usage seen before the failure, None when nothing was seen."""


class MissingCredential(ModelError):
    """No key to reach the model with."""

    def __init__(self, message: str) -> None:
        super().__init__(message, type="authentication_error")


class DecisionError(RelevoError):
    """An approval or denial that cannot be taken."""


class NothingToDecide(DecisionError):
    """No call of this id waits for a decision."""


class AlreadyDecided(DecisionError):
    """Another decision was taken first. An equal one is a success, not this error."""


class DecisionExpired(DecisionError):
    """The time to decide is over; the call was, or will be, denied."""


class ToolError(RelevoError):
    """
    Raise it in a tool to tell the model what went wrong and what may help.

    `message` is shown to the model: no secrets, no internals. `retryable` says whether the *same* call may
    succeed later. `outcome` says what became of the effect. `partial` is what was achieved, any JSON value.
    `retry_after` is how long not to ask again, in seconds; None when nobody said.
    """

    def __init__(
        self,
        message: str,
        *,
        category: Category = "business",
        retryable: bool = False,
        code: str | None = None,
        outcome: Outcome = "failed",
        partial: Any = None,
        retry_after: float | None = None,
    ) -> None:
        if category not in get_args(Category):
            raise InvalidValue(f"unknown category {category!r}; one of {', '.join(get_args(Category))}")
        if outcome not in get_args(Outcome):
            raise InvalidValue(f"unknown outcome {outcome!r}; one of {', '.join(get_args(Outcome))}")
        super().__init__(message)
        self.message = message
        self.category: Category = category
        self.retryable = retryable
        self.code = code
        self.outcome: Outcome = outcome
        self.partial = partial
        self.retry_after = retry_after


class InvalidRequest(RelevoError):
    """Our own bug: the next request would break a rule of the API. Nothing was sent."""

    def __init__(self, violations: tuple[str, ...]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations
