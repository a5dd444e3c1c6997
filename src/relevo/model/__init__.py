"""
The model API behind one seam: `Model.ask(request) -> Answer`.

Two transports carry it: `DirectModel` (bytes over aiohttp) and `SdkModel` (a client of the official SDK). What they
load is loaded by their first request, so this import is light.
"""

from relevo.model.answer import Answer
from relevo.model.attempt import Deadlines
from relevo.model.capabilities import Capabilities, capabilities, default_max_tokens, max_output
from relevo.model.client import DirectModel
from relevo.model.model import Model, Watch
from relevo.model.prices import cost
from relevo.model.request import Request, build
from relevo.model.retry import RetryPolicy, wait_before
from relevo.model.sdk import SdkModel
from relevo.model.settings import Settings
from relevo.model.usage import Usage, context_tokens, read_usage

__all__ = [
    "Answer",
    "Capabilities",
    "Deadlines",
    "DirectModel",
    "Model",
    "Request",
    "RetryPolicy",
    "SdkModel",
    "Settings",
    "Usage",
    "Watch",
    "build",
    "capabilities",
    "context_tokens",
    "cost",
    "default_max_tokens",
    "max_output",
    "read_usage",
    "wait_before",
]
