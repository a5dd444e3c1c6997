"""A tool: a function the model may ask for, and what the harness must know about it."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, overload

from relevo.content import Json, checked, encode
from relevo.errors import InvalidTool, NotJson, ToolError
from relevo.tools.context import ToolContext
from relevo.tools.effects import EFFECTS, Effect, Recovery, after_crash
from relevo.tools.endings import Answer
from relevo.tools.names import checked_name
from relevo.tools.requires import Requires
from relevo.tools.retry import DEFAULT_RETRY, Retry
from relevo.tools.rules import Rule, checked_rules
from relevo.tools.schema import Parameters, parameters
from relevo.tools.signature import is_async, read, renamed

P = ParamSpec("P")
R = TypeVar("R")

Approve = Callable[[Mapping[str, Any], ToolContext], bool | str | None]
"""Asked with the validated arguments. True or a text (the reason for the approver) asks a person, False does not."""

Reconcile = Callable[[Mapping[str, Any], ToolContext], Any]
"""Asked with the validated arguments about an unknown outcome; sync or async; gives `Done`, `NotDone` or `Unclear`."""

Fallback = Callable[[Mapping[str, Any], ToolContext], Any]
"""Asked with the validated arguments when a read could not be done; sync or async; returns a `Degraded`, or raises."""

MIN_RESULT_CHARS = 300
"""Below this there is no room for a cut and its explanation."""

_log = logging.getLogger("relevo.tools")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool(Generic[P, R]):
    """A declared tool; make one with `tool`. Called directly, it is still the function."""

    name: str
    description: str
    function: Callable[P, R]
    parameters: Parameters = field(repr=False)
    is_async: bool
    """False: it runs in a thread, which cannot be killed."""
    effect: Effect = "irreversible"
    timeout_seconds: float | None = 60
    """Of one attempt; None is no limit."""
    idle_seconds: float | None = None
    """Given up when it reports nothing (`ToolContext.report`) for so long; None is never."""
    max_result_chars: int = 100_000
    """What the model reads of a result at most, in characters; images have a limit of their own."""
    strict: bool = False
    requires: tuple[Requires, ...] = ()
    approve: bool | Approve | None = field(default=None, repr=False)
    """None and False never ask a person, True always does; a function decides for each call."""
    reconcile: Reconcile | None = field(default=None, repr=False)
    errors: tuple[Rule, ...] = field(default=(), repr=False)
    """What exceptions mean that it lets through, before `rules.DEFAULT_RULES` are asked."""
    retry: Retry = DEFAULT_RETRY
    """When a transient failure is tried again, as far as the effect allows it; an irreversible call never is."""
    fallback: Fallback | None = field(default=None, repr=False)
    """Only of reads: what to show, as degraded, when all attempts failed for transient reasons."""
    examples: tuple[Mapping[str, Json], ...] = field(default=(), repr=False)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def input_schema(self) -> dict[str, Any]:
        """What the model may send, as JSON schema; a fresh copy."""
        return self.parameters.schema

    @property
    def parallel(self) -> bool:
        """Whether calls may overlap. Only reads do; all else runs one by one, in the model's order."""
        return self.effect == "read"

    @property
    def recovery(self) -> Recovery:
        """What to do with a call that started, did not end, and whose process is gone."""
        return after_crash(self.effect, has_reconcile=self.reconcile is not None)

    def definition(self) -> dict[str, Json]:
        """The tool as the API takes it: a fresh copy, keys always in the same order."""
        definition: dict[str, Json] = {"name": self.name}
        if self.description:
            definition["description"] = self.description
        definition["input_schema"] = self.input_schema
        if self.strict:
            definition["strict"] = True
        if self.examples:
            definition["input_examples"] = checked(self.examples)
        return definition

    @property
    def definition_sha256(self) -> str:
        """Hash of the definition's bytes: another value means that the model is shown another tool."""
        return hashlib.sha256(encode(self.definition())).hexdigest()

    def validate(self, input: Json) -> dict[str, Any]:  # noqa: A002  the API's word
        """
        The typed arguments of a call, by the function's parameter names, defaults included.

        Raises:
            ToolError: the input is wrong; the text is for the model.
        """
        return self.parameters.validate(input)

    def approval_reason(self, arguments: Mapping[str, Any], context: ToolContext) -> str | None:
        """
        Why a person must decide about this call; None if nobody must. Arguments as `validate` gives them.

        Fails closed: a function that raises, or returns neither a bool nor a text, asks.
        """
        if self.approve is None or self.approve is False:
            return None
        if self.approve is True:
            return f"{self.name} always needs approval"
        try:
            answer = self.approve(arguments, context)
        except Exception as error:  # noqa: BLE001  whatever went wrong, a person decides
            _log.warning(
                "action=approve.raised session=%s call=%s tool=%s error=%s",
                context.session_id,
                context.call_id,
                self.name,
                type(error).__name__,
            )
            return f"the approval rule of {self.name} failed ({type(error).__name__})"
        if answer is False:
            return None
        if isinstance(answer, str) and answer.strip():
            return answer
        if answer is True or answer == "":
            return f"{self.name} needs approval"
        return f"the approval rule of {self.name} gave no decision"


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "irreversible",
    timeout_seconds: float | None = 60,
    idle_seconds: float | None = None,
    max_result_chars: int = 100_000,
    strict: bool = False,
    requires: Requires | Sequence[Requires] = (),
    approve: bool | Approve | None = None,
    reconcile: Callable[[Mapping[str, Any], ToolContext], Answer | Any] | None = None,
    errors: Rule | Sequence[Rule] = (),
    retry: Retry = DEFAULT_RETRY,
    fallback: Fallback | None = None,
    examples: Sequence[Mapping[str, Json]] = (),
) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "irreversible",
    timeout_seconds: float | None = 60,
    idle_seconds: float | None = None,
    max_result_chars: int = 100_000,
    strict: bool = False,
    requires: Requires | Sequence[Requires] = (),
    approve: bool | Approve | None = None,
    reconcile: Callable[[Mapping[str, Any], ToolContext], Answer | Any] | None = None,
    errors: Rule | Sequence[Rule] = (),
    retry: Retry = DEFAULT_RETRY,
    fallback: Fallback | None = None,
    examples: Sequence[Mapping[str, Json]] = (),
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """
    Declare a tool, as a decorator (`@tool`, `@tool(effect="read")`) or by a call (`tool(instance.method)`).

    Name, description and input schema come from the function: its name, its docstring, its annotations. `effect`
    says what a call does to the world; left out, it counts as irreversible, and is never run twice.

    Raises:
        InvalidTool: it cannot be offered to the model like this; the message says what to change.
    """
    if function is not None:
        return _declare(function, _names_of_caller(), **options)

    def declare(function: Callable[..., Any]) -> Tool[..., Any]:
        return _declare(function, _names_of_caller(), **options)

    return declare


def _names_of_caller() -> dict[str, Any]:
    """The names where the tool is declared: annotations that are text may mean a class of a function's own."""
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return {} if caller is None else dict(caller.f_locals)


def _declare(
    function: Callable[..., Any],
    local_names: Mapping[str, Any],
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "irreversible",
    timeout_seconds: float | None = 60,
    idle_seconds: float | None = None,
    max_result_chars: int = 100_000,
    strict: bool = False,
    requires: Requires | Sequence[Requires] = (),
    approve: bool | Approve | None = None,
    reconcile: Reconcile | None = None,
    errors: Rule | Sequence[Rule] = (),
    retry: Retry = DEFAULT_RETRY,
    fallback: Fallback | None = None,
    examples: Sequence[Mapping[str, Json]] = (),
) -> Tool[..., Any]:
    if isinstance(function, Tool):
        raise InvalidTool(f"{function.name!r} is a tool already")
    signature = renamed(read(function, local_names), name=name, description=description)
    checked_name(signature.name)
    made = Tool[..., Any](
        name=signature.name,
        description=signature.description,
        function=function,
        parameters=parameters(signature, strict=strict),
        is_async=signature.is_async,
        effect=effect,
        timeout_seconds=timeout_seconds,
        idle_seconds=idle_seconds,
        max_result_chars=max_result_chars,
        strict=strict,
        requires=(requires,) if isinstance(requires, Requires) else tuple(requires),
        approve=approve,
        reconcile=reconcile,
        errors=checked_rules(errors, signature.name),
        retry=retry,
        fallback=fallback,
        examples=tuple(examples),
    )
    _check(made)
    return made


def _check(made: Tool[..., Any]) -> None:
    """Raise InvalidTool for what cannot work, before anybody relies on it."""
    name = made.name
    if made.effect not in EFFECTS:
        raise InvalidTool(f"tool {name!r}: unknown effect {made.effect!r}; one of {', '.join(EFFECTS)}")
    if made.effect == "transactional" and not made.is_async:
        # A thread that outlives its time limit would go on writing in a transaction that is over.
        raise InvalidTool(f"tool {name!r}: a transactional tool must be async, so that it can be stopped")
    for limit in ("timeout_seconds", "idle_seconds"):
        seconds = getattr(made, limit)
        if seconds is not None and not seconds > 0:
            raise InvalidTool(f"tool {name!r}: {limit} is {seconds!r}; None is no limit")
    if not made.max_result_chars >= MIN_RESULT_CHARS:
        raise InvalidTool(f"tool {name!r}: max_result_chars is {made.max_result_chars!r}, under {MIN_RESULT_CHARS}")
    _check_approve(made)
    _check_chain(made)
    for required in made.requires:
        for path, _ in required.bound:
            if path.split(".")[0] not in made.parameters.fields:
                raise InvalidTool(f"tool {name!r} requires {required.tool!r} by {path!r}, which is not in its input")
    for example in made.examples:
        try:
            checked(example)
            made.validate(example)
        except (ToolError, NotJson) as error:
            raise InvalidTool(f"tool {name!r}: an example is not a valid input: {error}") from error


def _check_approve(made: Tool[..., Any]) -> None:
    if not (made.approve is None or isinstance(made.approve, bool) or callable(made.approve)):
        raise InvalidTool(f"tool {made.name!r}: approve is {made.approve!r}; a bool or a function (input, context)")
    if callable(made.approve) and is_async(made.approve):
        raise InvalidTool(f"tool {made.name!r}: approve must not be async: a decision is a function of the call alone")


def _check_chain(made: Tool[..., Any]) -> None:
    name = made.name
    if not isinstance(made.retry, Retry):
        raise InvalidTool(f"tool {name!r}: retry is {made.retry!r}; a Retry, NO_RETRY for none")
    if made.fallback is not None and made.effect != "read":
        raise InvalidTool(f"tool {name!r}: only a read can have a fallback; nothing stands in for an effect")
