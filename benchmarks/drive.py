"""One peer in one process: `python -m benchmarks.drive PEER BASE_URL FOLDER CASE...` prints one JSON object a case."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from itertools import pairwise
from pathlib import Path

from benchmarks import peers


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def written() -> int:
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("wchar:"):
            return int(line.split()[1])
    return 0


async def lag(stop: asyncio.Event) -> float:
    """The longest time in which the event loop served nobody, in seconds."""
    longest, last = 0.0, time.perf_counter()
    while not stop.is_set():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest


async def main(name: str, base_url: str, folder: Path, cases: list[str]) -> None:
    began = cpu()
    run, close = await peers.peer(name, folder)
    imported = cpu() - began
    await run(f"{base_url}/T3-K1-D0-P0")
    for case in cases:
        path, _, times = case.partition("*")
        repeat = int(times or 1)
        concurrent = path.startswith("N")
        count, _, path = path.partition(":") if concurrent else ("1", "", path)
        at_once = int(count.removeprefix("N"))
        turns = int(path.split("-")[0].removeprefix("T")) * repeat * at_once
        peers.clock.clear()
        wall, used, bytes_written = time.perf_counter(), cpu(), written()
        for _ in range(repeat):
            await peers.many(run, f"{base_url}/{path}", at_once)
        wall, used, bytes_written = time.perf_counter() - wall, cpu() - used, written() - bytes_written
        marks = [moment for _, moment in peers.clock]
        per_turn = [after - before for before, after in pairwise(marks)] if at_once == 1 else []
        print(
            json.dumps(
                {
                    "peer": name,
                    "case": case,
                    "cpu_ms_per_turn": used / turns * 1000,
                    "wall_ms_per_turn": wall / turns * 1000,
                    "turns_per_second": turns / wall,
                    "written_per_turn": bytes_written / turns,
                    "import_cpu_s": imported,
                    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                    "per_turn_ms": [round(cost * 1000, 4) for cost in per_turn] if repeat == 1 else [],
                }
            ),
            flush=True,
        )
    await close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:]))
