"""The default brain: a short answer to anything valid."""

from __future__ import annotations

import json

from relevo.simulator.brains.sample import sample
from relevo.simulator.replies import Reply, call, compact, say
from relevo.simulator.request import Request


class Canned:
    """Says the same `text` each time; where the request demands a tool or a format, gives the smallest that fits."""

    def __init__(self, text: str = "This is a simulated answer.") -> None:
        self.text = text

    def answer(self, request: Request) -> Reply:
        """Answer at once."""
        if request.body.get("compaction"):
            return compact("A simulated summary of what was said.")
        choice = request.body.get("tool_choice") or {}
        if choice.get("type") in ("any", "tool"):
            wanted = choice.get("name")
            for tool in request.body.get("tools") or ():
                if "input_schema" in tool and (wanted is None or tool.get("name") == wanted):
                    return call(tool["name"], sample(tool["input_schema"]))
            return call(str(wanted or request.tool_names[0]), {})
        form = (request.body.get("output_config") or {}).get("format")
        if isinstance(form, dict) and "schema" in form:
            return say(json.dumps(sample(form["schema"])))
        return say(self.text)
