"""
Signatures on thinking that can be checked later, without remembering anything.

A signature holds a tag of the model, a seal of the thinking itself and a seal of the prompt before it, so that an
altered block and a block moved behind another prompt can be told apart.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2b

_MARK = b"rv1"
_TAG, _SEAL = 4, 16


class Verdict(Enum):
    """What a signature says about a block."""

    GOOD = auto()
    FOREIGN = auto()
    """Not written by this simulator (or by one with another seed), or damaged."""
    ALTERED = auto()
    """The thinking is not what was signed."""
    OTHER_MODEL = auto()
    """Good, but of another model; the API drops such a block."""
    OTHER_PREFIX = auto()
    """Good, but the prompt before it has changed."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs and checks with a key that the seed decides."""

    seed: int

    def sign(self, thinking: str, *, model: str, prefix: bytes) -> str:
        """Sign a block that follows `prefix`."""
        tag = self._tag(model)
        seals = self._seal(b"text", tag, _bytes(thinking)) + self._seal(b"prefix", tag, prefix)
        return base64.b64encode(_MARK + tag + seals).decode("ascii")

    def check(self, thinking: str, signature: str, *, model: str, prefix: bytes) -> Verdict:
        """Judge a block that came back; the worst finding wins, in the order altered, other model, other prefix."""
        try:
            raw = base64.b64decode(signature, validate=True)
        except (binascii.Error, ValueError):
            return Verdict.FOREIGN
        if len(raw) != len(_MARK) + _TAG + 2 * _SEAL or not raw.startswith(_MARK):
            return Verdict.FOREIGN
        tag, text, before = raw[3:7], raw[7:23], raw[23:]
        if not hmac.compare_digest(text, self._seal(b"text", tag, _bytes(thinking))):
            return Verdict.ALTERED
        if tag != self._tag(model):
            return Verdict.OTHER_MODEL
        if not hmac.compare_digest(before, self._seal(b"prefix", tag, prefix)):
            return Verdict.OTHER_PREFIX
        return Verdict.GOOD

    def _tag(self, model: str) -> bytes:
        return blake2b(_bytes(model), digest_size=_TAG).digest()

    def _seal(self, *parts: bytes) -> bytes:
        key = b"relevo simulator %d" % self.seed
        return hmac.digest(key, b"\0".join(parts), "sha256")[:_SEAL]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
