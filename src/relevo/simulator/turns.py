"""A conversation as turns: consecutive messages of one role are one turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(slots=True)
class Turn:
    """What one role said before another spoke; each block comes with its place (message, block)."""

    role: str
    first: int
    """The index of its first message."""
    blocks: list[tuple[int, int, Json]]

    def of(self, kind: str) -> list[tuple[int, int, Json]]:
        """Its blocks of one type."""
        return [each for each in self.blocks if each[2]["type"] == kind]


def turns(messages: list[Json]) -> list[Turn]:
    """Merge messages into turns (M4)."""
    merged: list[Turn] = []
    for index, message in enumerate(messages):
        role = message["role"]
        content = message.get("content") or ()
        if not merged or merged[-1].role != role:
            merged.append(Turn(role, index, []))
        blocks = merged[-1].blocks
        if isinstance(content, str):
            blocks.append((index, 0, {"type": "text", "text": content}))
            continue
        inner = 0
        for block in content:
            blocks.append((index, inner, block))
            inner += 1  # noqa: SIM113 - measured: this loop is hot
    return merged
