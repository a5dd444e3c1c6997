"""
What went wrong in a tool, as the model may read it.

A `ToolError` was written for the model and is passed on. Any other exception was not: its text may hold a key, a
query or a path, so the model gets the type's name and a reference, and the log line the place in the code. What it
means is looked up in a table (`rules.py`). The text itself goes only to the debug level, where whoever turns it on has
asked for it.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from relevo.content import Json, clean
from relevo.errors import NotJson, ToolError
from relevo.tools.context import ToolContext
from relevo.tools.encoding import to_json
from relevo.tools.endings import Failed, Fate, failed
from relevo.tools.rules import meaning_of
from relevo.tools.tool import Tool
from relevo.tools.truncation import cut

MAX_MESSAGE_CHARS = 4_000

_log = logging.getLogger("relevo.tools")


def failure_of(error: BaseException, tool: Tool[..., Any], context: ToolContext) -> Failed:
    """
    The ending of a call that raised. A group of exceptions is judged by its leaves.

    Raises:
        KeyboardInterrupt: it was one of them; that is not the tool's to answer.
    """
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, KeyboardInterrupt):
            raise leaf
    # A task group cancels the siblings of what failed: that says nothing.
    causes = [leaf for leaf in leaves if not isinstance(leaf, asyncio.CancelledError)] or leaves
    said = [cause for cause in causes if isinstance(cause, ToolError)]
    if len(said) == len(causes):
        return _said(said, tool)
    return _unforeseen(error, causes, tool, context)


def timed_out(tool: Tool[..., Any], seconds: float, *, began: bool) -> Failed:
    """The ending of a call that took too long. Only a read, or what never began, may simply be tried again."""
    if not began:
        return Failed(
            message=f"{tool.name} did not get to run within {seconds:g} seconds.",
            category="transient",
            code="timeout",
            retryable=True,
            outcome="not_executed",
        )
    outcome = fate(tool)
    return Failed(
        message=f"{tool.name} did not end within {seconds:g} seconds and was stopped.",
        category="transient",
        code="timeout",
        retryable=outcome == "failed",
        outcome=outcome,
    )


def fate(tool: Tool[..., Any]) -> Fate:
    """What became of the effect of a call that was broken off: a read has none, a transaction was rolled back."""
    return "failed" if tool.effect in ("read", "transactional") else "unknown"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _said(errors: list[ToolError], tool: Tool[..., Any]) -> Failed:
    first = failed(errors[0])
    messages = dict.fromkeys(_message(error, tool) for error in errors)
    return Failed(
        message=cut("\n".join(messages), MAX_MESSAGE_CHARS),
        category=first.category,
        code=first.code,
        retryable=all(error.retryable for error in errors),
        outcome=_worst(error.outcome for error in errors),
        partial=_partial(errors[0].partial),
        retry_after_seconds=max((error.retry_after for error in errors if error.retry_after is not None), default=None),
    )


def _message(error: ToolError, tool: Tool[..., Any]) -> str:
    text = clean(str(error.message))
    return text if text.strip() else f"{tool.name} failed."


def _partial(value: Any) -> Json:
    try:
        return to_json(value)
    except NotJson as error:
        return f"(could not be encoded: {error})"


def _unforeseen(
    error: BaseException, causes: list[BaseException], tool: Tool[..., Any], context: ToolContext
) -> Failed:
    kinds = ", ".join(dict.fromkeys(type(cause).__name__ for cause in causes))
    _log.warning(
        "action=tool.raised session=%s call=%s tool=%s attempt=%d error=%s at=%s",
        context.session_id,
        context.call_id,
        tool.name,
        context.attempt,
        kinds,
        _place(causes[0]),
    )
    _log.debug("action=tool.raised call=%s", context.call_id, exc_info=error)
    meanings = [meaning_of(cause, tool.errors) for cause in causes]
    # Of several, one that will not pass decides: waiting does not cure it.
    meant = next((meaning for meaning in meanings if meaning.rule.category != "transient"), meanings[0])
    outcome = _worst(meaning.rule.outcome or fate(tool) for meaning in meanings)
    waits = [meaning.retry_after for meaning in meanings if meaning.retry_after is not None]
    reference = f"(reference {context.call_id})"
    told = f"{tool.name} failed unexpectedly: {kinds} {reference}."
    if meant.rule.message is not None:
        told = f"{meant.rule.message} {reference}"
    elif meant.status is not None:
        told = f"{tool.name} failed: HTTP status {meant.status}, {kinds} {reference}."
    return Failed(
        message=told,
        category=meant.rule.category,
        code=f"http_{meant.status}" if meant.rule.code == "http" else meant.rule.code,
        retryable=meant.rule.category == "transient" and outcome in ("failed", "not_executed"),
        outcome=outcome,
        retry_after_seconds=max(waits, default=None),
    )


def _worst(outcomes: Iterable[Fate]) -> Fate:
    return max(outcomes, key=("not_executed", "failed", "unknown", "executed").index)


def _place(error: BaseException) -> str:
    """Where it was raised, without the values that were there."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
