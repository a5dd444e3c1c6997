"""
May this call run? Judged from the log, never from memory.

`judge` is a pure function of the call, its tool and the state, so its answer is the same after a wake, on another
machine, in another process. It judges ordinary calls, calls a person has decided about, and calls that were begun by a
process that is gone, and calls whose last attempt failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from relevo.content import Json, sha256
from relevo.errors import Category, Outcome, ToolError
from relevo.events import ToolStarted
from relevo.human.hooks import Deny, Guide, Hook, ToolCall, before_call
from relevo.state import OpenCall, State, Status
from relevo.tools.context import ToolContext
from relevo.tools.effects import Recovery, after_crash
from relevo.tools.requires import Requires
from relevo.tools.tool import Tool
from relevo.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Start:
    """Run it."""

    call: OpenCall
    tool: Tool[..., Any]
    input: Json
    """As JSON; edited if a person edited it."""
    arguments: Mapping[str, Any]
    """The same, validated and typed."""
    attempt: int
    changed_by: str | None = None
    """The hook that changed the input; None when none did."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the tool by key what became of it, then finish or run it."""

    call: OpenCall
    tool: Tool[..., Any]
    input: Json
    arguments: Mapping[str, Any]
    attempt: int
    changed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Suspend:
    """It must wait; `until` says for what."""

    call: OpenCall
    until: Mapping[str, Json]
    input: Json
    """What it waits to be run with."""
    changed_by: str | None = None
    """As in `Start`."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer it with an error; do not run it."""

    call: OpenCall
    error: ToolError


Action = Start | Ask | Suspend | Refuse


def judge(
    call: OpenCall,
    toolbox: Toolbox,
    state: State,
    context: ToolContext,
    *,
    now: datetime,
    hooks: Sequence[Hook] = (),
) -> Action:
    """Say what is to be done with an open call. Anything doubtful asks a person or refuses; nothing fails open."""
    if call.refused is not None:
        return _refuse(call, f"Not executed: {call.refused}.", category="validation", code="not_called")
    try:
        tool = toolbox.find(call.call.name)
    except ToolError as error:
        if call.started is not None:
            return _unknown(call, "this program no longer has the tool, so it cannot be asked")
        return Refuse(call, error)
    if call.started is None:
        return _judge_new(call, tool, toolbox, state, context, now=now, hooks=hooks)
    if call.status is Status.STARTED:
        return _after_crash(call, call.started, tool)
    if call.status is Status.RETRYING:
        return _again(call, call.started, tool)
    return _unknown(call, "it began, and what it waited for did not come in time")


def _after_crash(call: OpenCall, started: ToolStarted, tool: Tool[..., Any]) -> Action:
    given, attempt = started.input, started.attempt + 1
    try:
        arguments = tool.validate(given)
    except ToolError:
        return _unknown(call, "this program's tool takes another input, so it cannot be asked")
    if started.effect != tool.effect:
        return _unknown(call, f"it began as {started.effect}, and this program's tool is {tool.effect}")
    match after_crash(tool.effect, has_reconcile=tool.reconcile is not None):
        case Recovery.RERUN:
            return Start(call, tool, given, arguments, attempt, started.changed_by)
        case Recovery.ASK:
            return Ask(call, tool, given, arguments, attempt, started.changed_by)
        case Recovery.NEVER:
            return _unknown(call, "it was interrupted while it ran, and it is never repeated by itself")


def _again(call: OpenCall, started: ToolStarted, tool: Tool[..., Any]) -> Action:
    """The next attempt at what was allowed before, unless this program's tool is another one by now."""
    try:
        arguments = tool.validate(started.input)
    except ToolError:
        return _unknown(call, "an attempt failed, and this program's tool takes another input")
    if started.effect != tool.effect or tool.effect == "irreversible":
        return _unknown(call, f"an attempt failed as {started.effect}, and this program's tool is {tool.effect}")
    return Start(call, tool, started.input, arguments, started.attempt + 1, started.changed_by)


def _judge_new(
    call: OpenCall,
    tool: Tool[..., Any],
    toolbox: Toolbox,
    state: State,
    context: ToolContext,
    *,
    now: datetime,
    hooks: Sequence[Hook],
) -> Action:
    decision = call.decision
    if decision is None and call.awaits == "approval":
        # It comes back undecided: only its time can have run out.
        return _refuse(
            call, "Not executed: nobody approved it in time.", category="permission", code="approval_expired"
        )
    if decision is not None and decision.result == "deny":
        why = f": {decision.deny_message}" if decision.deny_message else "."
        return _refuse(call, f"Not executed: a person denied it{why}", category="permission", code="denied")
    proposed = call.call.input if call.proposed is None else call.proposed
    if decision is not None and decision.input_sha256 != sha256(proposed):
        return _refuse(
            call, "Not executed: it was approved for another input.", category="permission", code="not_this_input"
        )
    given = decision.input if decision is not None and decision.input is not None else proposed
    try:
        arguments = tool.validate(given)
        verdict = before_call(
            hooks,
            ToolCall(name=tool.name, input=given, effect=tool.effect, context=context),
            state,
            settled=decision is not None,
        )
        if verdict.input is not given:
            given = verdict.input
            arguments = tool.validate(given)
    except ToolError as error:
        return Refuse(call, error)
    match verdict.denied:
        case Deny(reason):
            return _refuse(call, f"Not executed: {reason}", category="permission", code="denied_by_rule")
        case Guide(instead):
            return _refuse(call, f"Not executed: {instead}", category="business", code="guided")
        case None:
            pass
    for requirement in tool.requires:
        if not requirement.satisfied_by(given, (fact.data for fact in state.results(requirement.tool))):
            return _missing(call, requirement)
    if decision is None:
        asked = verdict.confirm or tool.approval_reason(arguments, context)
        if asked is not None:
            return _needs_approval(call, asked, given, verdict.changed_by, state, now)
    if not tool.parallel:
        before = _effect_before(call, toolbox, state)
        if before is not None:
            return Suspend(call, {"type": "order", "after": before}, given, verdict.changed_by)
    return Start(call, tool, given, arguments, 1, verdict.changed_by)


def _missing(call: OpenCall, requirement: Requires) -> Refuse:
    """Says which call must come first, and about what."""
    fields = ", ".join(f"{field} (as {path} of its result)" for field, path in requirement.bound)
    about = f" for the same {fields}" if fields else ""
    return _refuse(
        call,
        f"Not executed: {call.call.name} needs a successful {requirement.tool} first{about}. "
        f"Call {requirement.tool}, read its result, then call {call.call.name} again.",
        category="business",
        code="prerequisite_missing",
    )


def _needs_approval(
    call: OpenCall, reason: str, given: Json, changed_by: str | None, state: State, now: datetime
) -> Suspend:
    seconds = state.agent.get("approval_seconds")
    until = {
        "type": "approval",
        "reason": reason,
        "input_sha256": sha256(given),
        "expires_at": None if seconds is None else (now + timedelta(seconds=seconds)).isoformat(),
    }
    return Suspend(call, until, given, changed_by)


def _effect_before(call: OpenCall, toolbox: Toolbox, state: State) -> str | None:
    """An effect that the model asked for earlier in the same answer and that still waits: order is kept."""
    for other in state.open.values():
        if other.call.id == call.call.id:
            return None
        tool = toolbox.get(other.call.name)
        if other.status is Status.WAITING and tool is not None and not tool.parallel:
            return other.call.id
    return None


def _unknown(call: OpenCall, why: str) -> Refuse:
    name = call.call.name
    return _refuse(
        call,
        f"The outcome of {name} is unknown: {why}. It may or may not have taken effect. "
        "Check the actual state with another tool, or ask a person, before you rely on it or try again.",
        category="internal",
        code="outcome_unknown",
        outcome="unknown",
    )


def _refuse(
    call: OpenCall, message: str, *, category: Category, code: str, outcome: Outcome = "not_executed"
) -> Refuse:
    return Refuse(call, ToolError(message, category=category, code=code, outcome=outcome))


def unknown_outcome(call: OpenCall, why: str) -> ToolError:
    """What the model reads when nobody can say whether a call took effect."""
    return _unknown(call, why).error
