"""A brain made of rules: the first that has something to say says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relevo.simulator.brains.brain import BrainMistake
from relevo.simulator.replies import Reply, say
from relevo.simulator.request import Request

Rule = Callable[[Request], Reply | str | None]
"""Looks at a request; None lets the next rule look."""


class Rules:
    """
    Ask `rules` in order.

    Rules keep no state: all they need is in the request, so the brain gives the same answer to the same conversation in
    any process.  `otherwise` answers when no rule does; None makes that a `BrainMistake`.
    """

    def __init__(self, rules: Sequence[Rule], *, otherwise: Reply | str | None = "I have nothing to add.") -> None:
        self.rules = tuple(rules)
        self.otherwise = otherwise

    def answer(self, request: Request) -> Reply:
        """Give the first answer a rule has."""
        for rule in self.rules:
            found = rule(request)
            if found is not None:
                return say(found) if isinstance(found, str) else found
        if self.otherwise is None:
            raise BrainMistake(f"no rule answers {request.last_user_text[:80]!r} (turn {request.turn})")
        return say(self.otherwise) if isinstance(self.otherwise, str) else self.otherwise


def when_said(*words: str, then: Rule) -> Rule:
    """Apply `then` to a turn of the person (not of tools) that holds all of `words`, in any letter case."""
    wanted = tuple(word.casefold() for word in words)

    def rule(request: Request) -> Reply | str | None:
        text = request.last_user_text.casefold()
        return then(request) if not request.new_results and all(word in text for word in wanted) else None

    return rule


def when_result(name: str, *, then: Rule) -> Rule:
    """Apply `then` when the tool `name` has just answered."""

    def rule(request: Request) -> Reply | str | None:
        return then(request) if any(result.name == name for result in request.new_results) else None

    return rule
