"""No test here sees the machine's own settings, and every server is closed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from hypothesis import settings

# A busy machine is no mistake of ours.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[str]]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Give a handler, get the address of a server that uses it for every path."""
    runners: list[web.AppRunner] = []

    async def start(handler: Handler) -> str:
        app = web.Application(client_max_size=64 * 1024 * 1024)

        async def call(incoming: web.Request) -> web.StreamResponse:
            return await handler(incoming)

        app.router.add_route("*", "/{path:.*}", call)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    yield start
    for runner in runners:
        await runner.cleanup()
