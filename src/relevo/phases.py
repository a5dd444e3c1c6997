"""
Where a session stands, as a table.

A `Phase` says whose turn it is. A `Sign` is what an event means for that. Everything that can move a session is a
row of `TRANSITIONS`; a sign with no row leaves the phase as it is. The diagram in docs/phases.md is drawn from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Phase(Enum):
    """Whose turn it is."""

    QUIET = "quiet"
    """Nothing is owed."""
    ASKING = "asking"
    """The model owes an answer."""
    CUT = "cut"
    """The model's answer hit the output limit."""
    EMPTY = "empty"
    """The model's answer said nothing."""
    CALLING = "calling"
    """Calls are open, and at least one can move now."""
    WAITING = "waiting"
    """Calls are open, and every one waits for somebody outside."""
    ENDING = "ending"
    """The turn has an ending that is not yet written down."""


class Sign(Enum):
    """What an event means for whose turn it is."""

    SPOKE = "somebody spoke"
    ANSWERED = "the model finished"
    CALLED = "the model asked for tools"
    PAUSED = "the server paused"
    CUT = "the answer was cut"
    SILENT = "the answer was empty"
    STOPPED = "the answer ends the turn in a typed way"
    GAVE_UP = "the last attempt failed"
    NUDGED = "the model was asked to go on"
    ASKED = "a request was sent"
    ALL_WAIT = "every open call waits"
    CAN_MOVE = "an open call can move"
    ALL_ANSWERED = "every call is answered"
    RESTED = "the ending is written"
    UNHEARD = "a message still waits to be heard"


TRANSITIONS: Mapping[tuple[Phase, Sign], Phase] = {
    (Phase.QUIET, Sign.SPOKE): Phase.ASKING,
    (Phase.QUIET, Sign.UNHEARD): Phase.ASKING,
    (Phase.ASKING, Sign.ANSWERED): Phase.ENDING,
    (Phase.ASKING, Sign.CALLED): Phase.CALLING,
    (Phase.ASKING, Sign.PAUSED): Phase.ASKING,
    (Phase.ASKING, Sign.CUT): Phase.CUT,
    (Phase.ASKING, Sign.SILENT): Phase.EMPTY,
    (Phase.ASKING, Sign.STOPPED): Phase.ENDING,
    (Phase.ASKING, Sign.GAVE_UP): Phase.ENDING,
    (Phase.ASKING, Sign.RESTED): Phase.QUIET,
    (Phase.CUT, Sign.ASKED): Phase.ASKING,
    (Phase.CUT, Sign.NUDGED): Phase.ASKING,
    (Phase.CUT, Sign.SPOKE): Phase.ASKING,
    (Phase.CUT, Sign.RESTED): Phase.QUIET,
    (Phase.EMPTY, Sign.NUDGED): Phase.ASKING,
    (Phase.EMPTY, Sign.SPOKE): Phase.ASKING,
    (Phase.EMPTY, Sign.RESTED): Phase.QUIET,
    (Phase.CALLING, Sign.ALL_WAIT): Phase.WAITING,
    (Phase.CALLING, Sign.ALL_ANSWERED): Phase.ASKING,
    (Phase.WAITING, Sign.CAN_MOVE): Phase.CALLING,
    (Phase.WAITING, Sign.ALL_ANSWERED): Phase.ASKING,
    (Phase.ENDING, Sign.RESTED): Phase.QUIET,
}


def following(phase: Phase, sign: Sign) -> Phase:
    """The phase after `sign`."""
    return TRANSITIONS.get((phase, sign), phase)


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> quiet"]
    lines += [f"    {phase.value} --> {after.value}: {sign.value}" for (phase, sign), after in TRANSITIONS.items()]
    return "\n".join(lines)
