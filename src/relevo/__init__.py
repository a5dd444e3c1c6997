"""
Durable Claude agents that any process can carry on.

What `__all__` lists is the public API. Names are loaded when they are first used, so that `import relevo` costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relevo.agent import Agent as Agent
    from relevo.agent import Effort as Effort
    from relevo.agent import Limits as Limits
    from relevo.clock import Clock as Clock
    from relevo.clock import MovableClock as MovableClock
    from relevo.clock import RealClock as RealClock
    from relevo.door import run as run
    from relevo.errors import AlreadyDecided as AlreadyDecided
    from relevo.errors import DecisionError as DecisionError
    from relevo.errors import DecisionExpired as DecisionExpired
    from relevo.errors import InvalidAgent as InvalidAgent
    from relevo.errors import InvalidMessage as InvalidMessage
    from relevo.errors import InvalidRequest as InvalidRequest
    from relevo.errors import InvalidTool as InvalidTool
    from relevo.errors import InvalidValue as InvalidValue
    from relevo.errors import LeaseLost as LeaseLost
    from relevo.errors import LogClosed as LogClosed
    from relevo.errors import LogCorrupt as LogCorrupt
    from relevo.errors import LogError as LogError
    from relevo.errors import LogMoved as LogMoved
    from relevo.errors import LogTooNew as LogTooNew
    from relevo.errors import LogUnavailable as LogUnavailable
    from relevo.errors import MissingCredential as MissingCredential
    from relevo.errors import ModelError as ModelError
    from relevo.errors import NothingToDecide as NothingToDecide
    from relevo.errors import NotJson as NotJson
    from relevo.errors import RelevoError as RelevoError
    from relevo.errors import SessionHeld as SessionHeld
    from relevo.errors import SessionNotFound as SessionNotFound
    from relevo.errors import ToolError as ToolError
    from relevo.events import Event as Event
    from relevo.harness import Harness as Harness
    from relevo.human.hooks import Confirm as Confirm
    from relevo.human.hooks import Deny as Deny
    from relevo.human.hooks import Guide as Guide
    from relevo.human.hooks import Hook as Hook
    from relevo.human.hooks import Note as Note
    from relevo.human.hooks import Proceed as Proceed
    from relevo.human.hooks import Replace as Replace
    from relevo.human.hooks import ToolCall as ToolCall
    from relevo.human.hooks import Transform as Transform
    from relevo.human.questions import Question as Question
    from relevo.log.log import Lease as Lease
    from relevo.log.log import Log as Log
    from relevo.log.log import SessionInfo as SessionInfo
    from relevo.log.memory import MemoryLog as MemoryLog
    from relevo.log.sqlite import SqliteLog as SqliteLog
    from relevo.model.answer import Answer as Answer
    from relevo.model.client import DirectModel as DirectModel
    from relevo.model.model import Model as Model
    from relevo.model.request import Request as Request
    from relevo.model.retry import RetryPolicy as RetryPolicy
    from relevo.model.sdk import SdkModel as SdkModel
    from relevo.outcome import AwaitingAction as AwaitingAction
    from relevo.outcome import ContextFull as ContextFull
    from relevo.outcome import Empty as Empty
    from relevo.outcome import Ended as Ended
    from relevo.outcome import Interrupted as Interrupted
    from relevo.outcome import LimitReached as LimitReached
    from relevo.outcome import ModelUnavailable as ModelUnavailable
    from relevo.outcome import Outcome as Outcome
    from relevo.outcome import Refused as Refused
    from relevo.outcome import Truncated as Truncated
    from relevo.outcome import UnsupportedStop as UnsupportedStop
    from relevo.session import Session as Session
    from relevo.state import State as State
    from relevo.tools.context import ToolContext as ToolContext
    from relevo.tools.effects import Effect as Effect
    from relevo.tools.endings import Degraded as Degraded
    from relevo.tools.endings import Done as Done
    from relevo.tools.endings import NotDone as NotDone
    from relevo.tools.endings import Returned as Returned
    from relevo.tools.endings import Unclear as Unclear
    from relevo.tools.requires import Requires as Requires
    from relevo.tools.retry import NO_RETRY as NO_RETRY
    from relevo.tools.retry import Retry as Retry
    from relevo.tools.rules import Rule as Rule
    from relevo.tools.tool import Tool as Tool
    from relevo.tools.tool import tool as tool

from relevo.version import __version__ as __version__

_HOMES = {
    "relevo.agent": "Agent Effort Limits",
    "relevo.clock": "Clock MovableClock RealClock",
    "relevo.door": "run",
    "relevo.errors": (
        "AlreadyDecided DecisionError DecisionExpired InvalidAgent InvalidMessage InvalidRequest InvalidTool "
        "InvalidValue LeaseLost LogClosed LogCorrupt LogError LogMoved LogTooNew LogUnavailable MissingCredential "
        "ModelError NotJson NothingToDecide RelevoError SessionHeld SessionNotFound ToolError"
    ),
    "relevo.events": "Event",
    "relevo.harness": "Harness",
    "relevo.human.hooks": "Confirm Deny Guide Hook Note Proceed Replace ToolCall Transform",
    "relevo.human.questions": "Question",
    "relevo.log.log": "Lease Log SessionInfo",
    "relevo.log.memory": "MemoryLog",
    "relevo.log.sqlite": "SqliteLog",
    "relevo.model.answer": "Answer",
    "relevo.model.client": "DirectModel",
    "relevo.model.model": "Model",
    "relevo.model.request": "Request",
    "relevo.model.retry": "RetryPolicy",
    "relevo.model.sdk": "SdkModel",
    "relevo.outcome": (
        "AwaitingAction ContextFull Empty Ended Interrupted LimitReached ModelUnavailable Outcome Refused Truncated "
        "UnsupportedStop"
    ),
    "relevo.session": "Session",
    "relevo.state": "State",
    "relevo.tools.context": "ToolContext",
    "relevo.tools.effects": "Effect",
    "relevo.tools.endings": "Degraded Done NotDone Returned Unclear",
    "relevo.tools.requires": "Requires",
    "relevo.tools.retry": "NO_RETRY Retry",
    "relevo.tools.rules": "Rule",
    "relevo.tools.tool": "Tool tool",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "NO_RETRY",
    "Agent",
    "AlreadyDecided",
    "Answer",
    "AwaitingAction",
    "Clock",
    "Confirm",
    "ContextFull",
    "DecisionError",
    "DecisionExpired",
    "Degraded",
    "Deny",
    "DirectModel",
    "Done",
    "Effect",
    "Effort",
    "Empty",
    "Ended",
    "Event",
    "Guide",
    "Harness",
    "Hook",
    "Interrupted",
    "InvalidAgent",
    "InvalidMessage",
    "InvalidRequest",
    "InvalidTool",
    "InvalidValue",
    "Lease",
    "LeaseLost",
    "LimitReached",
    "Limits",
    "Log",
    "LogClosed",
    "LogCorrupt",
    "LogError",
    "LogMoved",
    "LogTooNew",
    "LogUnavailable",
    "MemoryLog",
    "MissingCredential",
    "Model",
    "ModelError",
    "ModelUnavailable",
    "MovableClock",
    "NotDone",
    "NotJson",
    "Note",
    "NothingToDecide",
    "Outcome",
    "Proceed",
    "Question",
    "RealClock",
    "Refused",
    "RelevoError",
    "Replace",
    "Request",
    "Requires",
    "Retry",
    "RetryPolicy",
    "Returned",
    "Rule",
    "SdkModel",
    "Session",
    "SessionHeld",
    "SessionInfo",
    "SessionNotFound",
    "SqliteLog",
    "State",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "Transform",
    "Truncated",
    "Unclear",
    "UnsupportedStop",
    "run",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'relevo' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
