"""
A Claude Messages API on loopback that does what it is told.

```python
async with Simulator(Script([call("get_order", {"id": 7}), say("It is on its way.")])) as sim:
    client = AsyncAnthropic(base_url=sim.base_url, api_key="any")
```
"""

from __future__ import annotations

from relevo.simulator.brains.brain import Brain, BrainMistake
from relevo.simulator.brains.canned import Canned
from relevo.simulator.brains.recorded import Recorded
from relevo.simulator.brains.rules import Rules, when_result, when_said
from relevo.simulator.brains.script import Script
from relevo.simulator.faults import (
    CleanEnd,
    CutChunk,
    DuplicateDelta,
    Fault,
    HtmlBody,
    HttpError,
    NoEventLine,
    NoUsage,
    Reset,
    SlowDrip,
    Stall,
    StreamError,
    UnknownEvent,
)
from relevo.simulator.models import MODELS, Model
from relevo.simulator.outcome import Seen
from relevo.simulator.plans import Faults, Plan
from relevo.simulator.replies import Reply, call, compact, fail, raw, redacted, refuse, say, think
from relevo.simulator.request import Call, Request, Result
from relevo.simulator.serving import serve, serve_forever
from relevo.simulator.simulator import Simulator
from relevo.simulator.violation import Violation

__all__ = [
    "MODELS",
    "Brain",
    "BrainMistake",
    "Call",
    "Canned",
    "CleanEnd",
    "CutChunk",
    "DuplicateDelta",
    "Fault",
    "Faults",
    "HtmlBody",
    "HttpError",
    "Model",
    "NoEventLine",
    "NoUsage",
    "Plan",
    "Recorded",
    "Reply",
    "Request",
    "Reset",
    "Result",
    "Rules",
    "Script",
    "Seen",
    "Simulator",
    "SlowDrip",
    "Stall",
    "StreamError",
    "UnknownEvent",
    "Violation",
    "call",
    "compact",
    "fail",
    "raw",
    "redacted",
    "refuse",
    "say",
    "serve",
    "serve_forever",
    "think",
    "when_result",
    "when_said",
]
