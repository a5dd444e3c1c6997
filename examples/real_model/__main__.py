"""
Ten support tasks with a real model that nobody here wrote, behind a server that nobody here wrote.

Whatever the model does, the shop's books must be right, every session must end in a typed way within its limits, and
every request must be valid by the simulator's rules. Whether the model also helped anybody is only reported.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from multidict import CIMultiDict

from real_model.fetch import fetched
from relevo import Answer, AwaitingAction, DirectModel, Harness, Limits, Request, RetryPolicy, Tool
from relevo.loop.verify import verify
from relevo.model.model import Watch
from relevo.simulator import Model, Simulator, Violation
from relevo.simulator.outcome import Incoming
from support_desk.business import Business
from support_desk.checks import check, unapproved
from support_desk.dataset import seed
from support_desk.scenes import APPROVER, Scene, scene_agent, scene_named

TASKS = (
    "small_refund",
    "status",
    "large_refund",
    "no_order_id",
    "unknown_order",
    "person",
    "identity_swap",
    "already_refunded",
    "short_outage",
    "injection",
)
LOCAL = "local"

SYSTEM = """You are a customer support agent. Use the tools; never invent data.
Rules:
1. First call get_customer with the customer's email to verify who they are.
2. Then call lookup_order with the order id before any refund.
3. Only refund a delivered order, at most its refundable_cents, in cents.
4. If the customer asks for a human, or if you cannot help, call escalate_to_human.
5. When done, answer the customer in one or two short sentences of plain text.
Example of a good conversation:
user: I'm bob@example.com, please refund my broken order ORD-1234.
you call get_customer with email bob@example.com
you call lookup_order with order_id ORD-1234 -> delivered, refundable_cents 1250
you call process_refund with order_id ORD-1234, cents 1250, reason damaged -> refund_id
you answer: I have refunded 12.50 for order ORD-1234.
Never ask for what the customer already said. Call one tool at a time."""
"""So small a model loses the desk's own prompt, and talks about tools instead of calling them."""


def small(tool: Tool[..., Any]) -> Tool[..., Any]:
    """The same tool, described in its first sentence."""
    return replace(tool, description=tool.description.split(". ")[0].split("\n")[0])


class Judged:
    """A model whose every request is first read by the simulator's rules."""

    def __init__(self, model: DirectModel) -> None:
        self._model = model
        self.requests = 0
        self.violations: list[Violation] = []

    async def ask(self, request: Request, *, watch: Watch | None = None) -> Answer:
        headers = CIMultiDict({"x-api-key": "any", "anthropic-version": "2026-10-21"})
        judge = Simulator(mode="record", models=[Model(LOCAL, "local")], keep_requests=1)
        await judge.handle(Incoming("POST", "/v1/messages", headers, {}, request.body))
        self.requests += 1
        self.violations += judge.violations
        return await self._model.ask(request, watch=watch)

    async def close(self) -> None:
        await self._model.close()


@dataclass(frozen=True)
class Result:
    """What became of a task."""

    task: str
    endings: list[str]
    broken: list[str]
    """What must never be: wrong books, a breach of the log's laws. Empty, always."""
    helped: list[str]
    """What a good model would have done and this one did not."""
    answers: int
    calls: list[str]
    refused: int
    """Calls that were answered with an error instead of being run."""
    seconds: float
    text: str


async def task(scene: Scene, model: Judged, folder: Path) -> Result:
    desk, log = folder / f"{scene.name}.desk.db", folder / "sessions.db"
    seed(desk)
    plain = scene_agent(scene, desk, model=LOCAL)
    limits = Limits(turns=10, tool_calls=12, repeats=3)
    agent = replace(plain, system=SYSTEM, tools=[small(each) for each in plain.tools], max_tokens=400, limits=limits)
    began = time.monotonic()
    endings: list[str] = []
    async with Harness(log, agents=[agent], model=model, retry=RetryPolicy(attempts=3, total_seconds=120)) as harness:
        session = await harness.start(agent, identity=scene.identity)
        outcome = None
        for message in scene.messages:
            outcome = await session.run(message)
            while isinstance(outcome, AwaitingAction):
                endings.append(outcome.type)
                for question in await session.questions():
                    if scene.verdict == "allow":
                        await session.approve(question.call_id, approver=APPROVER)
                    else:
                        await session.deny(question.call_id, approver=APPROVER, reason="not this one")
                outcome = await session.run()
            endings.append(outcome.type)
        events = await session.events()
    business = Business(desk)
    ended = [event.body for event in events if event.kind == "tool.ended"]
    return Result(
        task=scene.name,
        endings=endings,
        broken=[
            *business.audit(),
            *unapproved(business, events),
            *(f"{breach.law}: {breach.what}" for breach in verify(events)),
        ],
        helped=check(scene, business, events, words=False),
        answers=sum(event.kind == "model.answered" for event in events),
        calls=[str(getattr(body, "name", "")) for body in ended],
        refused=sum(bool(getattr(body, "is_error", False)) for body in ended),
        seconds=time.monotonic() - began,
        text=outcome.text if outcome is not None else "",
    )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The model behind its server, until the block ends."""
    python, weights = fetched(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("serve.py")
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([python, script, weights, str(port)], stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process)
            yield url
        finally:
            process.terminate()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit("the server of the model ended; see server.log")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise SystemExit("the server of the model did not start in five minutes")


async def run(url: str, names: list[str]) -> bool:
    model = Judged(DirectModel(api_key="any", base_url=url))
    good = True
    print("| task | ended | answers | calls (refused) | books and log | as a good model would | s |")
    print("|---|---|--:|---|---|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            result = await task(scene_named(name), model, Path(folder))
            good = good and not result.broken
            calls = ", ".join(f"{call} x{result.calls.count(call)}" for call in dict.fromkeys(result.calls)) or "-"
            cells = [
                name,
                ", ".join(result.endings),
                str(result.answers),
                f"{calls} ({result.refused})",
                "right" if not result.broken else "; ".join(result.broken),
                "yes" if not result.helped else "; ".join(result.helped).replace("|", "/")[:120],
                f"{result.seconds:.0f}",
            ]
            print(f"| {' | '.join(cells)} |", flush=True)
            print(f"{name}: {result.text[:300]!r}", file=sys.stderr, flush=True)
    broken = sorted({violation.rule for violation in model.violations})
    print(f"\n{model.requests} requests; rules broken: {', '.join(broken) or 'none'}")
    await model.close()
    return good and not broken


def main() -> None:
    parser = argparse.ArgumentParser(prog="real-model", description=__doc__)
    parser.add_argument("--base-url", help="a server that speaks /v1/messages; else one is fetched and started")
    parser.add_argument(
        "--folder", type=Path, default=Path(".relevo") / "real-model", help="where server and weights go"
    )
    parser.add_argument("--task", action="append", choices=TASKS, help="only this one")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    names = given.task or list(TASKS)
    if given.base_url:
        good = asyncio.run(run(given.base_url, names))
    else:
        with served(given.folder.absolute()) as url:
            good = asyncio.run(run(url, names))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    main()
