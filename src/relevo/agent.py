"""What an agent is: a plain record. Nothing here runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, get_args

from relevo.content import Json, checked
from relevo.errors import InvalidAgent, InvalidValue, NotJson
from relevo.human.hooks import Hook
from relevo.model.capabilities import capabilities, default_max_tokens
from relevo.model.settings import Settings
from relevo.tools.tool import Tool
from relevo.tools.toolbox import Toolbox

Effort = Literal["low", "medium", "high", "xhigh", "max"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Caps that end a turn with what there is; safety nets, never the logic.

    0 allows nothing, None is no cap. `turns` to `seconds` count since somebody last spoke, `tokens` and `cost_usd`
    over the whole session.
    """

    turns: int | None = 100
    """Answers of the model."""
    tool_calls: int | None = 500
    """Calls the model asked for."""
    repeats: int | None = 5
    """The same call with the same result in a row. From two before the cap on, the result says so to the model."""
    seconds: float | None = None
    """Wall time of work, not of waiting. A request or a call that is under way then is given up."""
    tokens: int | None = None
    """Input and output, cached or not."""
    cost_usd: Decimal | None = None
    """US dollars. An answer of unknown price ends the turn: a cap that cannot be checked is not kept."""
    pauses: int = 5
    """Continuations of a server-side pause in a row."""
    nudges: int = 1
    """How often a cut or an empty answer is followed by a request to go on, each."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is None and name in _CAPPED:
                raise InvalidAgent(f"limit {name} needs a number: it keeps the loop from going on for ever")
            if value is not None and not _is_amount(value):
                raise InvalidAgent(f"limit {name} must be 0 or more, or None for no cap, not {value!r}")

    def record(self) -> dict[str, Json]:
        """As JSON."""
        return {
            name: str(value) if isinstance(value := getattr(self, name), Decimal) else value for name in self.__slots__
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Json]) -> Limits:
        """Read back; names from a newer machine are left out."""
        known = {name: value for name, value in record.items() if name in cls.__slots__}
        if known.get("cost_usd") is not None:
            try:
                known["cost_usd"] = Decimal(known["cost_usd"])
            except (InvalidOperation, TypeError, ValueError) as error:
                raise InvalidAgent(f"limit cost_usd is not a decimal: {known['cost_usd']!r}") from error
        return cls(**known)


_CAPPED = ("pauses", "nudges")


def _is_amount(value: object) -> bool:
    """A finite number, 0 or more. True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return Decimal(value).is_finite() and value >= 0


_CENTURY_SECONDS = 100 * 365 * 86_400
_INTERLEAVED = "interleaved-thinking-2025-05-14"
"""With it, a thinking budget may be larger than one answer's. Source: extended thinking page, read 2026-12-01."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """
    Who answers: a model, what it is told, and what it can do.

    Raises InvalidAgent (or InvalidTool) when it is made, never later.
    """

    name: str
    """1 to 64 of letters, digits, `.`, `_`, `-`. A log finds its agent's code by this name."""
    model: str
    """A model id as the API takes it."""
    system: str | None = None
    """The system prompt. Part of every request and never changed within a session, so that caching works."""
    tools: Sequence[Tool[..., Any]] = ()
    """Offered in this order."""
    max_tokens: int | None = None
    """Output limit of a request; None is fit for the model and the effort. Grows when an answer is cut."""
    effort: Effort | None = None
    """None is the model's own default."""
    thinking: Mapping[str, Json] | None = None
    """The API's `thinking` object; None is what is usual for the model."""
    stop_sequences: Sequence[str] = ()
    betas: Sequence[str] = ()
    """`anthropic-beta` values beyond those that the features used here need."""
    cache: bool = True
    """Mark the prompt for caching."""
    limits: Limits = field(default_factory=Limits)
    hooks: Sequence[Hook] = ()
    """Rules around every call, asked in this order. Code, so not part of the record."""
    approval_seconds: float | None = None
    """How long an approval may be given; None is for ever, 0 not at all."""
    version: str | None = None
    """Yours, for people; kept in the log."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidAgent(f"agent name {self.name!r} is not 1 to 64 of letters, digits, '.', '_', '-'")
        if not isinstance(self.model, str) or not self.model.strip():
            raise InvalidAgent(f"agent {self.name!r} has no model")
        if self.system is not None and not self.system.strip():
            raise InvalidAgent(f"agent {self.name!r} has a blank system prompt; leave it out instead")
        if self.max_tokens is not None and (type(self.max_tokens) is not int or self.max_tokens < 1):
            raise InvalidAgent(f"agent {self.name!r}: max_tokens must be at least 1, not {self.max_tokens!r}")
        if self.effort is not None and self.effort not in get_args(Effort):
            raise InvalidAgent(f"agent {self.name!r}: unknown effort {self.effort!r}")
        self._freeze_texts("stop_sequences")
        self._freeze_texts("betas")
        seconds = self.approval_seconds
        if seconds is not None and not (_is_amount(seconds) and seconds <= _CENTURY_SECONDS):
            raise InvalidAgent(f"agent {self.name!r}: approval_seconds must be 0 to a century, or None for ever")
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "hooks", tuple(self.hooks))
        if not all(isinstance(hook, Hook) for hook in self.hooks):
            raise InvalidAgent(f"agent {self.name!r}: hooks must be Hooks")
        Toolbox(self.tools)
        record = self.record()
        try:
            settings_of(record)
        except InvalidValue as error:
            raise InvalidAgent(f"agent {self.name!r}: {error}") from error
        self._check_room()

    def _check_room(self) -> None:
        """The API refuses more output than the model can give, and thinking that leaves no room for an answer."""
        can, room = capabilities(self.model), self.max_tokens or default_max_tokens(self.model, self.effort)
        if can.known and room > can.max_output_tokens:
            raise InvalidAgent(
                f"agent {self.name!r}: max_tokens {room} is over what {self.model} can give, {can.max_output_tokens}"
            )
        budget = (self.thinking or {}).get("budget_tokens")
        if isinstance(budget, int) and budget >= room and _INTERLEAVED not in self.betas:
            raise InvalidAgent(f"agent {self.name!r}: thinking may take {budget} tokens, all of max_tokens {room}")

    def _freeze_texts(self, name: str) -> None:
        given: str | Sequence[str] = getattr(self, name)
        texts = None if isinstance(given, str) else tuple(given)
        if texts is None or not all(isinstance(text, str) and text.strip() for text in texts):
            raise InvalidAgent(f"agent {self.name!r}: {name} is a list of texts that are not blank, not {given!r}")
        object.__setattr__(self, name, texts)

    def record(self) -> dict[str, Json]:
        """The agent as JSON: everything that shapes a request, and nothing that is code."""
        record = {
            "name": self.name,
            "model": self.model,
            "system": self.system,
            "tools": [tool.definition() for tool in self.tools],
            "max_tokens": self.max_tokens,
            "effort": self.effort,
            "thinking": self.thinking,
            "stop_sequences": list(self.stop_sequences),
            "betas": list(self.betas),
            "cache": self.cache,
            "limits": self.limits.record(),
            "approval_seconds": self.approval_seconds,
            "version": self.version,
        }
        try:
            plain: dict[str, Json] = checked(record)
        except NotJson as error:
            raise InvalidAgent(f"agent {self.name!r}: {error}") from error
        return plain


def settings_of(record: Mapping[str, Json]) -> Settings:
    """What shapes requests, as the log has it."""
    return Settings(
        model=record["model"],
        system=record.get("system"),
        tools=record.get("tools") or (),
        effort=record.get("effort"),
        thinking="default" if record.get("thinking") is None else record["thinking"],
        stop_sequences=record.get("stop_sequences") or (),
        betas=tuple(record.get("betas") or ()),
        cache=record.get("cache", True),
    )
