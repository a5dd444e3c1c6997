"""The brains that ship with the simulator."""

from __future__ import annotations
