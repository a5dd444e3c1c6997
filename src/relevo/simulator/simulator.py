"""The simulator: a Messages API that does what it is told."""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from relevo.simulator import stream, wire
from relevo.simulator.app import Listener
from relevo.simulator.brains.brain import Answers, Brain, BrainMistake
from relevo.simulator.brains.canned import Canned
from relevo.simulator.cache import Cache
from relevo.simulator.compose import Answer, compose, prewarmed
from relevo.simulator.containers import Expired
from relevo.simulator.delivery import Send, play, play_body
from relevo.simulator.faults import STATUS_TYPES, Fault, HtmlBody, HttpError, NoUsage, Reset, StreamError
from relevo.simulator.ids import Ids, spell
from relevo.simulator.models import MODELS, Model, info, page
from relevo.simulator.outcome import EVENTS_TYPE, Incoming, Outcome, Seen, json_outcome, rate_limits, refusal
from relevo.simulator.plans import Faults
from relevo.simulator.recording import Recorder
from relevo.simulator.replies import Reply, say
from relevo.simulator.request import Request
from relevo.simulator.signatures import Signer
from relevo.simulator.tokens import tokens
from relevo.simulator.validate import Rulebook
from relevo.simulator.verdict import Verdict
from relevo.simulator.violation import Violation

Mode = Literal["strict", "lenient", "record"]
TOLERATED = frozenset({"E4", "E7"})
"""What lenient mode lets pass: unknown betas and unknown fields."""
UNAVOIDABLE = frozenset({"E1", "E5", "E6", "E8", "E10", "E11", "H5"})
"""What no mode lets pass: without it there is nothing to answer, or (H5) the answer would be wrong in silence."""

_MESSAGES = "/v1/messages"
_COUNT = "/v1/messages/count_tokens"
_MODELS = "/v1/models"


class Simulator:
    """
    A Claude Messages API on loopback.

    `brain` None says a fixed short text; a function of the request will do.  `mode`: *strict* refuses a request
    that breaks any rule; *lenient* lets unknown fields and betas pass; *record* refuses only what cannot be
    answered.  Both note in `requests` what they let pass.  `faults` may be a specification as in `plans`.
    `api_key` None accepts any credential, but not none.  `clock` gives seconds since 1970 and ages the prompt
    cache.  `keep_requests` bounds `requests`; 0 keeps none. `signatures` false believes every thinking signature.
    `pace_seconds` is the pause after each delta of a stream; 0 is none. `record` names a file that gets every
    exchange, for `Recorded` to play again.
    """

    def __init__(
        self,
        brain: Brain | Answers | None = None,
        *,
        mode: Mode = "strict",
        faults: Faults | str | None = None,
        seed: int = 0,
        api_key: str | None = None,
        clock: Callable[[], float] = time.time,
        models: Sequence[Model] = MODELS,
        keep_requests: int = 1000,
        signatures: bool = True,
        delta_chars: int = stream.DELTA_CHARS,
        pace_seconds: float = 0.0,
        record: str | Path | None = None,
    ) -> None:
        if mode not in ("strict", "lenient", "record"):
            raise ValueError(f"mode is strict, lenient or record, not {mode!r}")
        self.brain = brain if brain is not None else Canned()
        self.mode = mode
        self.faults = Faults.parse(faults, seed=seed) if isinstance(faults, str) else faults or Faults()
        self.requests: deque[Seen] = deque(maxlen=keep_requests)
        self.mistakes: list[BrainMistake] = []
        """What brains could not answer; a test that ends well has none."""
        self._clock = clock
        self._models = {model.id: model for model in models}
        self._seed = seed
        self._ids = Ids(seed)
        self._signer = Signer(seed)
        self._cache = Cache(clock)
        self._expired = Expired(clock)
        self._rules = Rulebook(
            self._models,
            api_key=api_key,
            signer=self._signer if signatures else None,
            expired_containers=self._expired,
        )
        self._delta_chars = delta_chars
        self._pace_seconds = pace_seconds
        self._recorder = Recorder(record) if record is not None else None
        self._seen = 0
        self._asked = 0
        self._answered = 0
        self._listener: Listener | None = None
        self._host = ""

    @property
    def base_url(self) -> str:
        """Where it listens, without a slash at the end; raises RuntimeError before `start`."""
        if self._listener is None:
            raise RuntimeError("the simulator does not listen yet")
        return f"http://{self._host}:{self._listener.port}"

    @property
    def port(self) -> int:
        """The port it listens on; raises RuntimeError before `start`."""
        if self._listener is None:
            raise RuntimeError("the simulator does not listen yet")
        return self._listener.port

    @property
    def violations(self) -> list[Violation]:
        """Every broken rule of the requests kept, in order."""
        return [violation for seen in self.requests for violation in seen.violations]

    async def start(self, port: int = 0, *, host: str = "127.0.0.1") -> None:
        """Listen; port 0 takes a free one."""
        if self._listener is not None:
            raise RuntimeError(f"the simulator already listens on {self.base_url}")
        listener = Listener(self.handle)
        await listener.start(host, port)
        self._listener, self._host = listener, host

    async def close(self) -> None:
        """Stop listening; stalled streams break.  May be called twice."""
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def handle(self, incoming: Incoming) -> Outcome:
        """Answer one HTTP request; the socket's way in, and a test's when it wants none."""
        self._seen += 1
        number = self._seen
        request_id = spell("req_", self._seed, number)
        verdict = self._rules.envelope(incoming)
        note = _Note()
        try:
            outcome = await self._route(incoming, verdict, request_id, note)
        except BrainMistake as mistake:
            self.mistakes.append(mistake)
            outcome = Outcome(500, wire.error_body("api_error", f"simulator: {mistake}", request_id))
            outcome.headers["x-should-retry"] = "false"
        outcome.headers["request-id"] = request_id
        outcome.headers["anthropic-organization-id"] = "00000000-0000-4000-8000-000000000000"
        if self.requests.maxlen:
            self.requests.append(
                Seen(
                    number,
                    incoming.method,
                    incoming.path,
                    incoming.headers,
                    verdict.body,
                    tuple(verdict.violations),
                    outcome.status,
                    request_id,
                    note.message,
                )
            )
        return outcome

    async def _route(self, incoming: Incoming, verdict: Verdict, request_id: str, note: _Note) -> Outcome:
        path = incoming.path.rstrip("/")
        if path == _MESSAGES and incoming.method == "POST":
            return await self._messages(incoming, verdict, request_id, note)
        if refused := self._refused(verdict):
            return refusal(refused, request_id)
        if path == _COUNT:
            return self._count(verdict, request_id)
        if path == _MODELS:
            return json_outcome(page(list(self._models.values()), incoming.query))
        name = path.removeprefix(_MODELS + "/")
        if name in self._models:
            return json_outcome(info(self._models[name]))
        return refusal(Violation("E9", f"model: {name}", 404, "not_found_error"), request_id)

    async def _messages(self, incoming: Incoming, verdict: Verdict, request_id: str, note: _Note) -> Outcome:
        self._asked += 1
        fault = self.faults.pick(self._asked)
        if early := self._early(fault, request_id):
            return early
        self._rules.message(verdict)
        if refused := self._refused(verdict):
            return refusal(refused, request_id)
        assert incoming.raw is not None
        body = verdict.body
        model = self._models.get(body["model"]) or Model(str(body["model"]), str(body["model"]))
        prompt = self._cache.spend(body, min_tokens=model.min_cache_tokens, weight=verdict.weight)
        key = self._ids.key(incoming.raw)
        if body["max_tokens"] == 0:
            answer = prewarmed(body, model=model, prompt=prompt, key=key)
            reply = Reply()
        else:
            self._answered += 1
            reply = await self._ask(Request(body, incoming.headers, verdict.betas, self._answered))
            fault = reply.fault or fault
            if early := self._early(fault, request_id):
                return early
            answer = compose(reply, body, model=model, prompt=prompt, key=key, signer=self._signer)
        if verdict.transformations:
            answer.message["input_transformations"] = verdict.transformations
        self._expired.note(answer.message)
        note.message = answer.message
        if self._recorder is not None:
            self._recorder.add(incoming.path, verdict.betas, body, answer.message)
        outcome = self._send(body, answer, reply, fault, request_id)
        outcome.headers.update(rate_limits(self._clock(), prompt.total))
        return outcome

    async def _ask(self, request: Request) -> Reply:
        answer: Any = getattr(self.brain, "answer", self.brain)
        try:
            found = answer(request)
            if inspect.isawaitable(found):
                found = await found
        except BrainMistake:
            raise
        except Exception as error:  # a brain is other people's code
            raise BrainMistake(f"the brain raised {error!r}") from error
        if isinstance(found, str):
            return say(found)
        if not isinstance(found, Reply):
            raise BrainMistake(f"a brain answers with a Reply or text, not {found!r}")
        return found

    def _send(self, body: Any, answer: Answer, reply: Reply, fault: Fault | None, request_id: str) -> Outcome:
        message = answer.message
        if isinstance(fault, NoUsage):
            message = {**message, "usage": None} if fault.null else {k: v for k, v in message.items() if k != "usage"}
        if body.get("stream") is True:
            if reply.stream_text is not None and fault is None:
                return Outcome(acts=[Send(reply.stream_text.encode())], content_type=EVENTS_TYPE)
            sent = stream.frames(message, partial_json=answer.partial_json, delta_chars=self._delta_chars)
            return Outcome(acts=play(sent, fault, pace_seconds=self._pace_seconds), content_type=EVENTS_TYPE)
        if isinstance(fault, StreamError):
            status = next((code for code, kind in STATUS_TYPES.items() if kind == fault.error_type), 500)
            return Outcome(status, wire.error_body(fault.error_type, fault.message, request_id))
        raw = wire.dump(message)
        if fault is None:
            return Outcome(body=raw)
        return Outcome(acts=play_body(raw, fault))

    def _early(self, fault: Fault | None, request_id: str) -> Outcome | None:
        match fault:
            case Reset():
                return Outcome()
            case HtmlBody(status):
                return Outcome(status, b"<html><body><h1>Bad gateway</h1></body></html>", content_type="text/html")
            case HttpError(status, error_type, message, retry_after, retry_after_ms, should_retry, error_code):
                kind = error_type or STATUS_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
                details = {"error_code": error_code} if error_code else None
                outcome = Outcome(status, wire.error_body(kind, message, request_id, details))
                if retry_after is not None:
                    outcome.headers["retry-after"] = retry_after
                if retry_after_ms is not None:
                    outcome.headers["retry-after-ms"] = str(retry_after_ms)
                if should_retry is not None:
                    outcome.headers["x-should-retry"] = str(should_retry).lower()
                return outcome
            case _:
                return None

    def _refused(self, verdict: Verdict) -> Violation | None:
        for violation in verdict.violations:
            if violation.rule in UNAVOIDABLE:
                return violation
            if self.mode == "strict" or (self.mode == "lenient" and violation.rule not in TOLERATED):
                return violation
        return None

    def _count(self, verdict: Verdict, request_id: str) -> Outcome:
        self._rules.count(verdict)
        if refused := self._refused(verdict):
            return refusal(refused, request_id)
        found: dict[str, Any] = {"input_tokens": tokens(verdict.weight)}
        if verdict.body.get("context_management"):
            found["context_management"] = {"original_input_tokens": found["input_tokens"]}
        return json_outcome(found)


@dataclass(slots=True)
class _Note:
    message: dict[str, Any] | None = None
