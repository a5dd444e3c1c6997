"""`relevo approvals`, `approve`, `deny`: what waits for a person, and the person's word."""

from __future__ import annotations

import asyncio
import getpass
import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from relevo.cli.options import DEFAULT_LOG, Agents, AsJson, LogPath, every_session, load_agent, opened
from relevo.cli.render import complain, say, say_json
from relevo.content import decode
from relevo.errors import InvalidValue, NothingToDecide, RelevoError
from relevo.events import ToolConfirmation
from relevo.harness import Harness
from relevo.human.questions import Question

MIN_PART_CHARS = 4
"""Less of an id is no name but an accident (`relevo approve "$UNSET"`)."""

_WHOLE = re.compile(r"sevt[_-].+\.\d+")

CallId = Annotated[
    str, typer.Argument(metavar="CALL", help="The call's id, or any unmistakable part of it, of 4 characters or more.")
]
By = Annotated[str | None, typer.Option("--by", help="Who decides; else the user of this machine.")]


def approvals(log: LogPath = DEFAULT_LOG, as_json: AsJson = False) -> None:
    """List the calls that wait for a decision."""
    found = asyncio.run(_list(log))
    if as_json:
        say_json([_json(question) for question in found])
        return
    if not found:
        say("nothing waits for a decision")
    for question in found:
        due = f"  until {question.expires_at:%Y-%m-%d %H:%M:%S}" if question.expires_at else ""
        say(f"{question.call_id}{due}")
        say(f"    {question.tool}({json.dumps(question.input, ensure_ascii=False)})")
        say(f"    why: {question.reason}")
        if question.identity:
            say(f"    for: {json.dumps(dict(question.identity), ensure_ascii=False)}")
        say(f"    session {question.session_id}")


def approve(
    call: CallId,
    by: By = None,
    edit: Annotated[str | None, typer.Option("--edit", metavar="JSON", help="Run it with this input instead.")] = None,
    agent: Agents = None,
    log: LogPath = DEFAULT_LOG,
    as_json: AsJson = False,
) -> None:
    """Allow a call to run, once. `relevo wake` then carries the session on."""
    edited = None if edit is None else _object(edit)
    _said(asyncio.run(_decide(log, call, by, True, None, edited, agent or [])), as_json)


def deny(
    call: CallId,
    by: By = None,
    reason: Annotated[str | None, typer.Option("--reason", help="What the model is told.")] = None,
    log: LogPath = DEFAULT_LOG,
    as_json: AsJson = False,
) -> None:
    """Refuse a call. `relevo wake` then carries the session on."""
    _said(asyncio.run(_decide(log, call, by, False, reason, None, [])), as_json)


async def _list(log: Path) -> list[Question]:
    async with opened(log) as harness:
        return await _waiting(harness)


async def _waiting(harness: Harness) -> list[Question]:
    found: list[Question] = []
    async for info in every_session(harness):
        # Also one that is still `running`: its process may have died after the question was written.
        if info.stop_reason not in ("requires_action", None):
            continue
        try:
            found += await harness.session(info.id).questions()
        except Exception as error:  # noqa: BLE001  whatever is in it, the calls of the others still wait
            complain(f"session {info.id} cannot be read: {type(error).__name__}: {error}")
    return found


async def _decide(
    log: Path,
    part: str,
    by: str | None,
    allow: bool,
    reason: str | None,
    edited: dict[str, Any] | None,
    places: list[str],
) -> dict[str, Any]:
    approver = by or getpass.getuser()
    async with opened(log, [load_agent(place) for place in places]) as harness:
        session_id, call_id = await _find(harness, part)
        session = harness.session(session_id)
        if allow:
            new = await session.approve(call_id, approver=approver, edited=edited)
        else:
            new = await session.deny(call_id, approver=approver, reason=reason)
    result = "allow" if allow else "deny"
    return {"session_id": session_id, "call_id": call_id, "result": result, "approver": approver, "new": new}


async def _find(harness: Harness, part: str) -> tuple[str, str]:
    """
    The session and the call that `part` means. A whole id means that call and no other, also when it is the beginning
    of another's, and also when it no longer waits: so a repeat can be told.
    """
    if len(part.strip()) < MIN_PART_CHARS:
        raise InvalidValue(f"{part!r} is too little of a call's id; give {MIN_PART_CHARS} characters or more")
    waiting = [(question.session_id, question.call_id) for question in await _waiting(harness)]
    found = [each for each in waiting if each[1] == part]
    if not found and _WHOLE.fullmatch(part):
        found = await _decided(harness, part)
    elif not found:
        found = [each for each in waiting if part in each[1]]
    if not found:
        raise NothingToDecide(f"no waiting call has {part!r} in its id; see `relevo approvals`")
    if len(found) > 1:
        calls = ", ".join(f"{call_id} of {session_id}" for session_id, call_id in found)
        raise InvalidValue(f"{part!r} means {len(found)} calls: {calls}")
    return found[0]


async def _decided(harness: Harness, call_id: str) -> list[tuple[str, str]]:
    """Where a call of exactly this id was decided. Read from the logs: a session's id cannot be told from a call's."""
    found: list[tuple[str, str]] = []
    async for info in every_session(harness):
        try:
            decisions = await harness.session(info.id).events(kinds={ToolConfirmation.kind})
        except RelevoError as error:
            complain(f"session {info.id} cannot be read: {error}")
            continue
        if any(isinstance(each.body, ToolConfirmation) and each.body.tool_use_id == call_id for each in decisions):
            found.append((info.id, call_id))
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        value = decode(text)
    except ValueError as error:
        raise InvalidValue(f"--edit is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidValue("--edit must be a JSON object")
    return value


def _said(done: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(done)
        return
    word = "allowed" if done["result"] == "allow" else "denied"
    say(f"{word} by {done['approver']}" if done["new"] else f"was {word} already")
    say(f"session {done['session_id']}: relevo wake carries it on")


def _json(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in Question.__slots__}
