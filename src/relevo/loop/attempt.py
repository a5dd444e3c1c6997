"""One attempt at the next answer: the intent in the log, the request, and what came of it in the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relevo.content import checked
from relevo.errors import InvalidRequest, InvalidValue, ModelError, NotJson
from relevo.events import ModelAnswered, ModelFailed, RequestStarted
from relevo.loop.deadline import time_left
from relevo.loop.decide import AskModel
from relevo.loop.journal import Journal
from relevo.loop.parts import Parts
from relevo.model.answer import Answer
from relevo.model.prices import cost
from relevo.model.request import Request, build
from relevo.model.retry import wait_before

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 32 * 1024 * 1024
"""The API refuses a larger request with 413. Source: API errors page, read 2026-12-01."""


async def ask(journal: Journal, parts: Parts, step: AskModel) -> None:
    """
    Make one attempt at the next answer, and write down what came of it; before its time, only wait for that.

    Whatever goes wrong is written down too: the turn then ends in a typed way, and the next wake does not meet it
    again.
    """
    clock = parts.clock
    left = time_left(journal, parts)
    if step.not_before is not None and step.not_before > clock.now():
        wait = (step.not_before - clock.now()).total_seconds()
        await clock.sleep(wait if left is None else min(wait, left))
        await journal.catch_up()
        return  # decided again: meanwhile somebody may have said stop
    attempt = journal.state.failures + 1
    began = clock.monotonic()
    await journal.append(RequestStarted(model=parts.settings.model, max_tokens=step.max_tokens, attempt=attempt))
    try:
        async with clock.timeout(left):
            answer = await parts.model.ask(_request(journal, parts, step.max_tokens), watch=parts.watch)
    except ModelError as error:
        await journal.append(_failure(journal, parts, error, attempt))
        return
    except InvalidRequest as error:
        refused = ModelError(f"the request would be refused: {error}", type="invalid_request_error")
        await journal.append(_failure(journal, parts, refused, attempt))
        return
    except Exception as error:  # noqa: BLE001  nothing may end a wake without a word in the log
        if isinstance(error, TimeoutError) and left is not None and clock.monotonic() >= began + left:
            # Asked again at once, so that the limit that was reached ends the turn, and nothing else.
            late = ModelError("the time of the turn is over", type="timeout", code="deadline", retryable=True)
            await journal.append(replace(_failure(journal, parts, late, attempt), retry_in_seconds=0.0))
            return
        # A bug of whoever carries the request. Its text may hold anything, secrets too: only its name is told.
        name = type(error).__name__
        log.error("the model raised %s", name, extra={"action": "model_raised"})  # noqa: TRY400
        await journal.append(_failure(journal, parts, ModelError(f"{name} was raised", type="protocol"), attempt))
        return
    try:
        await journal.append(_answered(parts, answer))
    except InvalidValue as error:
        usage: Any = answer.message.get("usage")
        unkept = ModelError(f"the answer cannot be kept: {error}", type="protocol", usage=usage)
        await journal.append(_failure(journal, parts, unkept, attempt))


def _answered(parts: Parts, answer: Answer) -> ModelAnswered:
    return ModelAnswered(
        message=answer.message,
        request_id=answer.request_id,
        malformed=sorted(answer.malformed),
        cost_usd=_price(answer.message.get("usage"), str(answer.message.get("model") or parts.settings.model)),
        seconds=answer.seconds,
        first_token_seconds=answer.first_token_seconds,
    )


def _request(journal: Journal, parts: Parts, max_tokens: int) -> Request:
    journal.projection.check(has_tools=bool(parts.settings.tools))
    # No message carries a cache mark: they are taken off at the doors.
    request = build(parts.settings, journal.projection.messages, max_tokens=max_tokens, marked=())
    size = len(request.head) + sum(map(len, request.messages))
    if size > MAX_BODY_BYTES:
        raise ModelError(f"the request has {size} bytes; the API takes {MAX_BODY_BYTES}", type="request_too_large")
    return request


def _failure(journal: Journal, parts: Parts, error: ModelError, attempt: int) -> ModelFailed:
    since = journal.state.failing_since
    elapsed = 0.0 if since is None else (parts.clock.now() - since).total_seconds()
    return ModelFailed(
        error={
            "type": error.type,
            "message": error.message,
            "status": error.status,
            "code": error.code,
            "request_id": error.request_id,
            "retry_after": error.retry_after,
        },
        retry_in_seconds=wait_before(error, attempt=attempt, elapsed=elapsed, random=parts.dice(), policy=parts.retry),
        usage=_countable(error.usage),
        cost_usd=_price(error.usage, parts.settings.model),
    )


def _countable(usage: Any) -> Mapping[str, Any] | None:
    """What was counted, when the log can hold it."""
    try:
        counted: Any = checked(usage)
    except NotJson:
        return None
    return counted if isinstance(counted, Mapping) else None


def _price(usage: Mapping[str, Any] | None, model: str) -> str | None:
    price = cost(usage, model)
    return None if price is None else str(price)
