"""
The doors, from a terminal.

Exit codes: 0 done; 1 the turn ended without an answer (refused, cut, a limit, an unknown stop); 2 the words of the
command are off; 3 no such session, call or agent; 4 somebody must act first (`relevo approvals`); 5 somebody else was
first (decided, or holds the session); 6 the model cannot be reached; 7 the log cannot be used; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from relevo.cli import approvals, cost, demo, events, run, sessions, sim, verify, wake
from relevo.cli.exits import Stopped, exit_code
from relevo.cli.render import complain, say
from relevo.errors import RelevoError
from relevo.version import __version__

app = typer.Typer(
    name="relevo",
    help="Durable Claude agents that any process can carry on.",
    epilog=(
        "Exit codes: 0 done; 1 ended without an answer; 2 usage; 3 not found; 4 waiting for somebody; "
        "5 somebody else was first; 6 model unavailable; 7 log unusable; 130 Ctrl-C."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"relevo {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Durable Claude agents that any process can carry on."""


app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("sessions")(sessions.sessions)
app.command("events")(events.events)
app.command("wake")(wake.wake)
app.command("approvals")(approvals.approvals)
app.command("approve")(approvals.approve)
app.command("deny")(approvals.deny)
app.command("cost")(cost.cost)
app.command("verify")(verify.verify)
app.command("sim")(sim.sim)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb and leave with its exit code."""
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except KeyboardInterrupt:
        complain("stopped; the log is whole, `relevo wake` carries on")
        sys.exit(130)
    except Stopped as stopped:
        sys.exit(stopped.code)
    except RelevoError as error:
        complain(str(error))
        sys.exit(exit_code(error))
    except BrokenPipeError:
        # The reader went away (`relevo events | head`): nothing to complain about, and nowhere to.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            raise
        if text := usage():
            complain(text)
        sys.exit(getattr(error, "exit_code", 2))
    sys.exit(code if isinstance(code, int) else 0)
