"""`relevo cost`: tokens and money, by session and model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from relevo.cli.options import DEFAULT_LOG, AsJson, LogPath, every_session, opened
from relevo.cli.render import printable, say_json, wide_console
from relevo.events import Event, ModelAnswered, ModelFailed
from relevo.model.usage import Usage, read_usage


@dataclass(frozen=True, slots=True)
class Line:
    """What one model cost in one session."""

    session_id: str
    model: str
    usage: Usage
    cost_usd: Decimal
    unpriced: int
    """Answers of unknown price; the cost is then a lower bound."""


def cost(
    session: Annotated[list[str] | None, typer.Argument(help="Ids of sessions; none is all.")] = None,
    log: LogPath = DEFAULT_LOG,
    as_json: AsJson = False,
) -> None:
    """Show tokens and money by session and model. An unknown price is unknown, never zero."""
    lines = asyncio.run(_cost(log, session or []))
    if as_json:
        say_json([as_json_line(line) for line in lines])
    else:
        wide_console().print(table(lines))


async def _cost(log: Path, ids: list[str]) -> list[Line]:
    async with opened(log) as harness:
        if not ids:
            ids = [info.id async for info in every_session(harness)]
        return [line for session_id in ids for line in costs(session_id, await harness.session(session_id).events())]


def costs(session_id: str, events: Iterable[Event]) -> list[Line]:
    """One line a model."""
    lines: dict[str, Line] = {}
    for event in events:
        match event.body:
            case ModelAnswered(message=message, cost_usd=price):
                model, usage = str(message.get("model")), read_usage(message.get("usage"))
            case ModelFailed(usage=raw) if raw is not None:
                model, usage, price = "(failed requests)", read_usage(raw), event.body.cost_usd
            case _:
                continue
        line = lines.get(model, Line(session_id, model, Usage(), Decimal(0), 0))
        lines[model] = Line(
            session_id,
            model,
            line.usage + usage,
            line.cost_usd + Decimal(price or 0),
            line.unpriced + (price is None),
        )
    return list(lines.values())


def table(lines: Iterable[Line]) -> Table:
    """The lines for a terminal, with a sum."""
    shown = Table(title=None, box=None, pad_edge=False)
    for heading in ("session", "model"):
        shown.add_column(heading)
    for heading in ("answers", "input", "cache read", "cache write", "output", "hit", "USD"):
        shown.add_column(heading, justify="right")
    total, money, unpriced = Usage(), Decimal(0), 0
    for line in lines:
        names = (Text(printable(name)) for name in (line.session_id, line.model))  # theirs, and no markup
        shown.add_row(*names, *_cells(line.usage, line.cost_usd, line.unpriced))
        total, money, unpriced = total + line.usage, money + line.cost_usd, unpriced + line.unpriced
    shown.add_row("all", "", *_cells(total, money, unpriced), style="bold")
    return shown


def _cells(usage: Usage, money: Decimal, unpriced: int) -> tuple[str, ...]:
    written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    hit = usage.cache_read_tokens / usage.prompt_tokens if usage.prompt_tokens else 0
    price = f"{money:.6f}" + (f" + {unpriced} unknown" if unpriced else "")
    return (
        str(usage.answers),
        str(usage.input_tokens),
        str(usage.cache_read_tokens),
        str(written),
        str(usage.output_tokens),
        f"{hit:.0%}",
        price,
    )


def as_json_line(line: Line) -> dict[str, Any]:
    """A line for programs."""
    return {
        "session_id": line.session_id,
        "model": line.model,
        **{name: getattr(line.usage, name) for name in Usage.__slots__},
        "cost_usd": str(line.cost_usd),
        "unpriced": line.unpriced,
    }
