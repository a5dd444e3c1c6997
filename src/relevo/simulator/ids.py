"""Identifiers that the seed and the request decide, so that a run can be repeated."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
REMEMBERED_REQUESTS = 10_000


def spell(prefix: str, *parts: object) -> str:
    """`prefix` and 24 characters that only `parts` decide, in the shape of the API's ids."""
    number = int.from_bytes(blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=18).digest())
    letters = []
    for _ in range(22):
        number, index = divmod(number, 58)
        letters.append(ALPHABET[index])
    return f"{prefix}01{''.join(letters)}"


class Ids:
    """
    Ids by seed, request and how often that very request came.

    They do not depend on what other clients ask meanwhile, nor on a restart: a conversation carried on after a restart
    never meets an id that it already holds, because its requests have grown.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._times: OrderedDict[bytes, int] = OrderedDict()

    def key(self, raw: bytes) -> str:
        """Name one arrival of a request."""
        digest = blake2b(raw, digest_size=16).digest()
        times = self._times.pop(digest, 0) + 1
        self._times[digest] = times
        if len(self._times) > REMEMBERED_REQUESTS:
            self._times.popitem(last=False)
        return f"{self._seed}:{digest.hex()}:{times}"
