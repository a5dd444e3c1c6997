"""A simulator as a process."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from relevo.simulator.simulator import Simulator


async def serve_forever(
    simulator: Simulator,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    port_file: str | Path | None = None,
    ready: asyncio.Event | None = None,
) -> None:
    """
    Listen until SIGTERM or SIGINT, or until cancelled; then close cleanly.

    Port 0 takes a free one.  `port_file` gets the port in one step once the server listens, and is removed at the end.
    `ready` is set at the same moment.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    caught = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread, or not on Windows
            loop.add_signal_handler(number, stop.set)
            caught.append(number)
    await simulator.start(port, host=host)
    try:
        if port_file is not None:
            _write(Path(port_file), str(simulator.port))
        if ready is not None:
            ready.set()
        await stop.wait()
    finally:
        await simulator.close()
        for number in caught:
            loop.remove_signal_handler(number)
        if port_file is not None:
            _remove(Path(port_file))


def serve(simulator: Simulator, *, host: str = "127.0.0.1", port: int = 0, port_file: str | Path | None = None) -> None:
    """`serve_forever` for a program that does nothing else; returns after SIGTERM or SIGINT."""
    asyncio.run(serve_forever(simulator, host=host, port=port, port_file=port_file))


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    # A reader that waits for the file must never see it empty.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, "utf-8")
    draft.replace(path)
