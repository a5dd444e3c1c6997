"""`python -m relevo.simulator --port 0 --port-file F`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from relevo.simulator.brains.brain import Brain
from relevo.simulator.brains.canned import Canned
from relevo.simulator.brains.recorded import Recorded
from relevo.simulator.brains.script import Script
from relevo.simulator.serving import serve
from relevo.simulator.simulator import Simulator


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a simulator until it is told to end; the exit status is 0, or 2 for arguments that make no sense."""
    parser = argparse.ArgumentParser(prog="relevo.simulator", description="A Claude Messages API that does as told.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--port-file", help="gets the port once the server listens")
    parser.add_argument("--script", help="YAML steps to play; see brains/script.py")
    parser.add_argument("--brain", default="canned", help="canned, or recorded:FILE[,FILE...]")
    parser.add_argument("--mode", choices=("strict", "lenient", "record"), default="strict")
    parser.add_argument("--faults", help="a specification or a YAML file; see plans.py")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--api-key", help="the only credential accepted; any by default")
    parser.add_argument("--record", help="keep every exchange in this file")
    parser.add_argument("--pace-seconds", type=float, default=0.0, help="pause after each delta")
    given = parser.parse_args(arguments)
    try:
        brain = brain_of(given.brain, script=given.script)
        simulator = Simulator(
            brain,
            mode=given.mode,
            faults=given.faults,
            seed=given.seed,
            api_key=given.api_key,
            keep_requests=0,
            signatures=not isinstance(brain, Recorded),
            pace_seconds=given.pace_seconds,
            record=given.record,
        )
    except (OSError, ValueError) as error:
        parser.error(str(error))
    serve(simulator, host=given.host, port=given.port, port_file=given.port_file)
    return 0


def brain_of(name: str, *, script: str | None = None) -> Brain:
    """The brain that a command line names; raises ValueError for one that there is not."""
    if script is not None:
        return Script.read(script)
    if name == "canned":
        return Canned()
    kind, _, paths = name.partition(":")
    if kind == "recorded" and paths:
        return Recorded.read(*paths.split(","))
    raise ValueError(f"no brain is called {name!r}; there are canned and recorded:FILE")


if __name__ == "__main__":
    sys.exit(main())
