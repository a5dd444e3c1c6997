"""
`make bench`: what does a turn cost, against the naive loop on the official SDK that keeps nothing?

Each peer runs in processes of its own, in turn, several times; a ratio compares a process with the naive one next to it.
The milliseconds are this machine's in this hour; the ratios are the measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

CASES = [
    ("T10-K1-D0-P0*20", "T = 10", "sdk"),
    ("T100-K1-D0-P0*3", "T = 100", "sdk"),
    ("T500-K1-D0-P0", "T = 500", "sdk"),
    ("T20-K8-D0-P0*5", "8 calls in parallel, T = 20", "sdk"),
    ("T20-K1-D100-P0*3", "100 deltas in one write, T = 20", "sdk-stream"),
    ("T20-K1-D100-P1*2", "100 deltas, one each ms, T = 20", "sdk-stream"),
    ("N200:T10-K1-D0-P0", "200 sessions at once, T = 10", "sdk"),
]
PEERS = ("relevo", "relevo-memory")


def drive(peer: str, base_url: str, cases: list[str]) -> dict[str, dict[str, Any]]:
    """One process of one peer over the cases."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.drive", peer, base_url, folder, *cases]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise SystemExit(f"{peer} failed:\n{done.stderr[-3000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["case"]: line for line in lines}


def slope(costs: list[float]) -> float:
    """Microseconds that a turn costs more for every turn before it: a line through medians of ten bins."""
    size = len(costs) // 10
    bins = [statistics.median(costs[n * size : (n + 1) * size]) for n in range(10)]
    places = [(n + 0.5) * size for n in range(10)]
    return statistics.linear_regression(places, bins).slope * 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--reps", type=int, default=3, help="processes of each peer")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--json", action="store_true", help="print every figure")
    given = parser.parse_args()
    cases = [case for case in CASES if given.only in case[0] or given.only in case[1]]
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        server = subprocess.Popen([sys.executable, "-m", "benchmarks.server", str(port_file)])
        try:
            while not port_file.exists():
                if server.poll() is not None:
                    raise SystemExit("the server of the benchmark did not start")
            base_url = f"http://127.0.0.1:{port_file.read_text()}"
            for rep in range(given.reps):
                for peer in ("sdk", "sdk-stream", *PEERS):
                    print(f"\r{rep + 1}/{given.reps} {peer:<16}", end="", file=sys.stderr, flush=True)
                    own = [case for case, _, naive in cases if peer in PEERS or peer == naive]
                    for case, line in drive(peer, base_url, own).items() if own else ():
                        found[peer, case].append(line)
        finally:
            server.terminate()
            server.wait()
    print("\r" + " " * 30 + "\r", end="", file=sys.stderr)
    if given.json:
        print(json.dumps([line for lines in found.values() for line in lines]))
        return
    report(cases, found)


def report(cases: list[tuple[str, str, str]], found: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    def median(peer: str, case: str, name: str) -> float:
        return statistics.median(line[name] for line in found[peer, case])

    def ratio(peer: str, case: str, naive: str, name: str) -> float:
        pairs = zip(found[peer, case], found[naive, case], strict=True)
        return statistics.median(ours[name] / theirs[name] for ours, theirs in pairs)

    print("| | naive SDK loop, CPU ms a turn | Relevo, SQLite log | ratio | Relevo, log in memory | ratio |")
    print("|---|--:|--:|--:|--:|--:|")
    for case, title, naive in cases:
        name = "cpu_ms_per_turn"
        cells = [f"{median(naive, case, name):.2f}"]
        for peer in PEERS:
            cells += [f"{median(peer, case, name):.2f}", f"{ratio(peer, case, naive, name):.2f}"]
        print(f"| {title} | {' | '.join(cells)} |")
    print()
    for case, title, naive in cases:
        speed = [ratio(peer, case, naive, "turns_per_second") for peer in PEERS]
        print(f"- {title}: turns a second, times the naive loop: {speed[0]:.2f} (SQLite), {speed[1]:.2f} (memory)")
    written = [median("relevo", case, "written_per_turn") for case, _, _ in cases]
    print(f"- written a turn with the SQLite log: {min(written) / 1024:.1f} to {max(written) / 1024:.1f} KB")
    long = next((case for case, _, _ in cases if case.startswith("T500")), None)
    if long is not None:
        for peer in ("sdk", *PEERS):
            slopes = [slope(line["per_turn_ms"]) for line in found[peer, long]]
            print(f"- {peer}: {statistics.median(slopes):.2f} microseconds of CPU more for every past turn")
    for peer in ("sdk", *PEERS):
        first = cases[0][0]
        if found[peer, first]:
            cpu, rss = median(peer, first, "import_cpu_s"), median(peer, first, "rss_mb")
            print(f"- {peer}: import and set-up {cpu:.2f} s of CPU, at most {rss:.0f} MB in all")


if __name__ == "__main__":
    main()
