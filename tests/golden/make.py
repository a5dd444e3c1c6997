"""
Keep what this release writes: `python -m tests.golden.make SESSIONS.db`, once for each release.

The file is what `relevo demo --simulator --yes --folder DIR` leaves. Never make an old release's logs again: that they
are old is what they are for.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import relevo
from tests.golden.logs import meaning

HERE = Path(__file__).parent


def main(database: str) -> None:
    folder = HERE / relevo.__version__
    folder.mkdir()
    rows = sqlite3.connect(database).execute(
        "select s.id, e.place & 4294967295, e.kind, e.version, e.at, cast(e.data as text)"
        " from relevo_events e join relevo_sessions s on s.session = e.place >> 32 order by e.place"
    )
    sessions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for session, position, kind, version, at, data in rows:
        sessions[session].append({"position": position, "kind": kind, "version": version, "at": at, "data": data})
    for session, lines in sessions.items():
        means = meaning(session, lines)
        (folder / f"{session}.json").write_text(
            json.dumps({"session": session, "events": lines, "meaning": means}, ensure_ascii=False, indent=1) + "\n"
        )


if __name__ == "__main__":
    main(sys.argv[1])
