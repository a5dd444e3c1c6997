"""SQL in files of its own, by name."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def load(path: Path) -> dict[str, str]:
    """The statements of a file in their order: each stands under a line `-- name: ...`."""
    parts = _HEAD.split(path.read_text(encoding="utf-8"))[1:]
    return dict(zip(parts[::2], (text.strip() for text in parts[1::2]), strict=True))
