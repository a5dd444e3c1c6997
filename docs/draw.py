"""Draws docs/phases.md from the table in relevo.phases: `make docs`."""

from __future__ import annotations

from pathlib import Path

from relevo.phases import Phase, Sign, diagram
from relevo.stops import STOP_REASONS

PAGE = Path(__file__).with_name("phases.md")


def page() -> str:
    """The whole page. A test compares it with the file."""
    stops = "\n".join(f"| `{reason}` | {reading.value.replace('_', ' ')} |" for reason, reading in STOP_REASONS.items())
    return f"""# Phases

Drawn from `relevo.phases` by `make docs`. A session is in one of {len(Phase)} phases; {len(Sign)} signs, read from
events, move it. A sign without an arrow leaves the phase as it is.

```mermaid
{diagram()}
```

## Stop reasons

What an answer means, from `relevo.stops`:

| `stop_reason` | reading |
|---|---|
{stops}
| none (a cut stream) | not an answer: the attempt failed and is made again |
| any other | unsupported: the turn ends typed, nothing of the answer runs |
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
