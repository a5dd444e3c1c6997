"""
Hooks: an operator's rules around every call, before it and after it.

A hook is a pair of pure functions of the call and the state, so it says the same after a wake, in any process. It can
stop a call, send the model another way, ask a person, or change what goes in; and it can change what the model reads
of a result. It sees what the gate sees, and nothing it says is ever weaker than a gate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relevo.content import Block, Json, checked
from relevo.errors import InvalidAgent, NotJson
from relevo.state import State
from relevo.tools.context import ToolContext
from relevo.tools.endings import Failed, Returned
from relevo.tools.result import ending_of

log = logging.getLogger("relevo.hooks")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a hook sees of a call."""

    name: str
    input: Mapping[str, Json]
    """As JSON, and as earlier hooks left it. Treat it as read-only."""
    effect: str
    context: ToolContext


@dataclass(frozen=True, slots=True)
class Proceed:
    """Nothing to say. A hook may as well return None."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; the model reads why, as a matter of permission."""

    reason: str


@dataclass(frozen=True, slots=True)
class Guide:
    """Do not run it; the model reads what to do instead."""

    instead: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """A person must decide; `reason` is for them."""

    reason: str


@dataclass(frozen=True, slots=True)
class Transform:
    """Run it with this input instead. It is validated like any other, and the model is told."""

    input: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Replace:
    """The model reads this instead of the result; programs and gates see `data`."""

    content: str | Sequence[Block]
    data: Json = None


@dataclass(frozen=True, slots=True)
class Note:
    """The model reads this after the result."""

    text: str


BeforeCall = Callable[[ToolCall, State], Proceed | Deny | Guide | Confirm | Transform | None]
AfterCall = Callable[[ToolCall, "Returned | Failed", State], Proceed | Replace | Note | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """
    Rules around calls.

    Both functions must be pure and quick: no clock, network or disk. One that raises, or answers what it may not,
    fails closed: the call is not run, or its result is not shown.
    """

    name: str
    before: BeforeCall | None = None
    after: AfterCall | None = None
    tools: Collection[str] | None = None
    """Which tools it is about; None is all."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidAgent("a hook needs a name")
        if isinstance(self.tools, str):
            raise InvalidAgent(f"hook {self.name!r}: tools is a collection of names, not one text")
        if self.before is None and self.after is None:
            raise InvalidAgent(f"hook {self.name!r} does nothing: give it before, after or both")

    def is_about(self, tool: str) -> bool:
        return self.tools is None or tool in self.tools


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the hooks together say before a call."""

    input: Mapping[str, Json]
    """What to run it with."""
    denied: Deny | Guide | None = None
    confirm: str | None = None
    """Why a person must decide; None when no hook asks."""
    changed_by: str | None = None
    """The last hook that put another input in its place."""


def before_call(hooks: Sequence[Hook], call: ToolCall, state: State, *, settled: bool = False) -> Verdict:
    """
    Ask every hook in order; the first that denies or guides has the last word.

    `settled` is a call whose very input a person approved: it may still be denied, and is neither changed nor asked
    about again.
    """
    confirm: str | None = None
    changed_by: str | None = None
    for hook in hooks:
        if hook.before is None or not hook.is_about(call.name):
            continue
        match _asked(hook, hook.before, call, state):
            case None | Proceed():
                pass
            case (Deny() | Guide()) as denied:
                return Verdict(call.input, denied)
            case Confirm(reason):
                confirm = confirm or reason
            case Transform(changed) if not settled:
                try:
                    plain: Any = checked(dict(changed))
                except (NotJson, TypeError, ValueError):
                    return Verdict(call.input, _broken(hook, "its input is no JSON"))
                call = ToolCall(name=call.name, input=plain, effect=call.effect, context=call.context)
                changed_by = hook.name
            case Transform():
                pass
            case other:
                return Verdict(call.input, _broken(hook, f"it answered {type(other).__name__}"))
    return Verdict(call.input, confirm=None if settled else confirm, changed_by=changed_by)


def after_call(
    hooks: Sequence[Hook], call: ToolCall, ending: Returned | Failed, state: State, *, max_chars: int
) -> tuple[Returned | Failed, list[str]]:
    """The ending as the hooks leave it, and what they add for the model."""
    notes: list[str] = []
    for hook in hooks:
        if hook.after is None or not hook.is_about(call.name):
            continue
        answer: object
        try:
            answer = hook.after(call, ending, state)
        except Exception as error:  # noqa: BLE001  whatever went wrong, nothing is shown
            answer = error
        match answer:
            case None | Proceed():
                pass
            case Note(text):
                notes.append(text)
            case Replace(content, data):
                shown = ending_of(Returned(content, data), tool=call.name, max_chars=max_chars)
                ending = shown if isinstance(shown, Returned | Failed) else _hidden(hook, call, ending, shown)
            case other:
                ending = _hidden(hook, call, ending, other)
    return ending, notes


def _asked(hook: Hook, before: BeforeCall, call: ToolCall, state: State) -> object:
    try:
        return before(call, state)
    except Exception as error:  # noqa: BLE001  whatever went wrong, the call is not run
        return _broken(hook, f"it raised {type(error).__name__}")


def _broken(hook: Hook, why: str) -> Deny:
    log.error("action=hook.failed hook=%s: %s", hook.name, why)
    return Deny(f"the rule {hook.name!r} could not be applied ({why})")


def _hidden(hook: Hook, call: ToolCall, ending: Returned | Failed, answer: object) -> Failed:
    why = f"it {'raised' if isinstance(answer, Exception) else 'answered'} {type(answer).__name__}"
    log.error("action=hook.failed hook=%s call=%s: %s", hook.name, call.context.call_id, why)
    return Failed(
        message=f"{call.name} came to its end, but the rule {hook.name!r} for its result failed, so it is not shown.",
        category="internal",
        code="hook_failed",
        outcome=ending.outcome if isinstance(ending, Failed) else "executed",
    )
