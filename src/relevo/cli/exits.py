"""What the shell is told."""

from __future__ import annotations

from relevo import errors
from relevo.outcome import AwaitingAction, Ended, ModelUnavailable, Outcome


class Stopped(Exception):
    """Leave with this exit code; everything was said."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


_CODES: tuple[tuple[type[errors.RelevoError], int], ...] = (
    (errors.SessionNotFound, 3),
    (errors.NothingToDecide, 3),
    (errors.InvalidAgent, 3),
    (errors.DecisionError, 5),
    (errors.LeaseLost, 5),
    (errors.SessionHeld, 5),
    (errors.LogMoved, 5),
    (errors.ModelError, 6),
    (errors.LogError, 7),
    (errors.InvalidValue, 2),
    (errors.ToolError, 2),
)


def exit_code(error: errors.RelevoError) -> int:
    """For an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


def outcome_code(outcome: Outcome | None) -> int:
    """For the end of a turn."""
    match outcome:
        case None | Ended():
            return 0
        case AwaitingAction():
            return 4
        case ModelUnavailable():
            return 6
        case _:
            return 1
