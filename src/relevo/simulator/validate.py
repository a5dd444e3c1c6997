"""The rules that a request must keep, in the order in which the API would complain."""

from __future__ import annotations

import hmac
from collections.abc import Container, Mapping
from dataclasses import dataclass

from relevo.simulator import (
    validate_compaction,
    validate_limits,
    validate_messages,
    validate_shape,
    validate_thinking,
    validate_tools,
    wire,
)
from relevo.simulator.betas import BETAS, VERSIONS
from relevo.simulator.models import Model
from relevo.simulator.outcome import Incoming
from relevo.simulator.signatures import Signer
from relevo.simulator.verdict import UNKNOWN_MODEL, Verdict

_POST = {"/v1/messages", "/v1/messages/count_tokens"}


@dataclass(frozen=True, slots=True)
class Rulebook:
    """All rules, for some models.  `api_key` None accepts any; `signer` None believes every signature."""

    models: Mapping[str, Model]
    api_key: str | None = None
    signer: Signer | None = None
    expired_containers: Container[object] = frozenset()

    def envelope(self, incoming: Incoming) -> Verdict:
        """Judge method, path, credential, headers and the JSON of the body."""
        verdict = Verdict()
        path = incoming.path.rstrip("/")
        posts = path in _POST
        if not posts and path != "/v1/models" and not path.startswith("/v1/models/"):
            verdict.add("E10", "Not found", status=404, error_type="not_found_error")
            return verdict
        if incoming.method != ("POST" if posts else "GET"):
            verdict.add("E11", "Method Not Allowed", status=405)
            return verdict
        self._headers(incoming, verdict)
        if incoming.raw is None:
            verdict.add("E6", "Request exceeds the maximum size", status=413, error_type="request_too_large")
        elif posts:
            try:
                verdict.body = wire.load(incoming.raw)
            except wire.NotJson as error:
                verdict.add("E5", f"The request body is not valid JSON: {error}")
            else:
                if not isinstance(verdict.body, dict):
                    verdict.add("E5", "The request body is not valid JSON: it must be an object")
        return verdict

    def _headers(self, incoming: Incoming, verdict: Verdict) -> None:
        headers = incoming.headers
        bearer = headers.get("authorization", "")
        key = headers.get("x-api-key", "")
        word, _, token = bearer.partition(" ")
        given = token.strip() if word.casefold() == "bearer" else key
        if not given or (self.api_key is not None and not hmac.compare_digest(given.encode(), self.api_key.encode())):
            message = "Invalid bearer token" if bearer else "invalid x-api-key"
            verdict.add("E1", message, status=401, error_type="authentication_error")
        version = headers.get("anthropic-version")
        if version is None:
            verdict.add("E2", "anthropic-version: header is required")
        elif version not in VERSIONS:
            verdict.add("E3", f'anthropic-version: "{version}" is not a valid version')
        else:
            verdict.version = version
        verdict.betas = wire.comma_list(headers.getall("anthropic-beta", ()))
        unknown = [beta for beta in verdict.betas if beta not in BETAS]
        if unknown:
            named = ", ".join(f"`{beta}`" for beta in unknown)
            verdict.add("E4", f"Unexpected value(s) {named} for the `anthropic-beta` header.")

    def message(self, verdict: Verdict) -> None:
        """Judge the body of `POST /v1/messages`."""
        if isinstance(verdict.body, dict):
            self._body(verdict, counting=False)

    def count(self, verdict: Verdict) -> None:
        """Judge the body of `POST /v1/messages/count_tokens`."""
        if isinstance(verdict.body, dict):
            self._body(verdict, counting=True)

    def _body(self, verdict: Verdict, *, counting: bool) -> None:
        whole = validate_shape.check(verdict, counting=counting)
        if not counting:
            _thread(verdict)
        if not whole:
            return
        body = verdict.body
        model = self.models.get(body["model"])
        if model is None:
            verdict.add("E9", f"model: {body['model']}", status=404, error_type="not_found_error")
            model = UNKNOWN_MODEL
        if len(body["messages"]) > validate_messages.MAX_MESSAGES:
            verdict.add("M3", f"messages: at most {validate_messages.MAX_MESSAGES} messages are allowed")
        verdict.survey()
        validate_messages.check(verdict, model)
        validate_tools.check(verdict, model)
        validate_limits.check(verdict, model)
        validate_compaction.check(verdict, self.signer)
        validate_thinking.check(verdict, model, self.signer)
        container = body.get("container")
        name = container.get("id") if isinstance(container, dict) else container
        if name in self.expired_containers:
            verdict.add("L23", f"container: {name} has expired")


def _thread(verdict: Verdict) -> None:
    thread = verdict.body.get("thread")
    if not isinstance(thread, dict) or not thread:
        return
    if thread.get("type") == "continue" and (verdict.body.get("system") or verdict.body.get("tools")):
        verdict.add("H1", "thread: `system` and `tools` must be omitted when a thread is continued")
    verdict.add(
        "H5",
        "thread: message threads are not supported here",
        error_code="thread_unsupported_request",
        details={"unsupported": ["inference_hooks"]},
    )
