"""What an agent can do: tools, what they do to the world, and how one call ends."""

from relevo.errors import ToolError
from relevo.tools.context import ToolContext
from relevo.tools.endings import Degraded, Done, Ending, Failed, NotDone, Returned, Unclear, Waiting
from relevo.tools.requires import Requires
from relevo.tools.tool import Tool, tool
from relevo.tools.toolbox import Toolbox

__all__ = [
    "Degraded",
    "Done",
    "Ending",
    "Failed",
    "NotDone",
    "Requires",
    "Returned",
    "Tool",
    "ToolContext",
    "ToolError",
    "Toolbox",
    "Unclear",
    "Waiting",
    "tool",
]
