"""Tool names as the API takes them."""

from __future__ import annotations

import hashlib
import re

from relevo.content import clean
from relevo.errors import InvalidTool

# Source: Claude docs, "Define tools": ^[a-zA-Z0-9_-]{1,64}$, read 2026-08. The wire takes 128; the page is the promise.
MAX_NAME_CHARS = 64
_VALID = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}")
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]+")
_HASH_CHARS = 12
_READ_CHARS = 1_000
"""So much of a foreign name is looked at for its readable part; the hash is of all of it."""
_HASHED = re.compile(rf"_[0-9a-f]{{{_HASH_CHARS}}}$")


def checked_name(name: object) -> str:
    """
    The name, if the API takes it.

    Raises:
        InvalidTool: it does not; give the tool another with `name=`.
    """
    if not isinstance(name, str) or not _VALID.fullmatch(name):
        shown = repr(name[:100] if isinstance(name, str) else name)[:100]
        raise InvalidTool(
            f"tool name {shown} is not 1 to {MAX_NAME_CHARS} letters, digits, '_' or '-'; give another with name="
        )
    return name


def clean_name(name: str) -> str:
    """
    A valid name for any foreign one (of an MCP server, say): other names give other results, in every process.

    What is valid stays as it is. All else gets a hash of the original at its end, and so does a valid name that
    looks as if it had one: otherwise `a.b` could meet a tool that is really called `a_b_<hash>`. Keep the originals
    in a table; clean a name once, not twice.
    """
    if _VALID.fullmatch(name) and not _HASHED.search(name):
        return name
    # surrogatepass: two names that differ only in broken characters are still two names.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    readable = _FOREIGN.sub("_", clean(name[:_READ_CHARS])).strip("_") or "tool"
    return f"{readable[: MAX_NAME_CHARS - _HASH_CHARS - 1]}_{digest}"
