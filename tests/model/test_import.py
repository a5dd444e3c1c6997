"""What importing the room costs."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_model_room_loads_no_transport() -> None:
    code = "import sys, relevo.model; print([m for m in ('aiohttp', 'anthropic', 'httpx2', 'pydantic') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"
