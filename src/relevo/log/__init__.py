"""The log of every session, and where it is kept."""

from relevo.log.log import MAX_EVENT_BYTES, Lease, Log, SessionInfo, Snapshot
from relevo.log.memory import MemoryLog
from relevo.log.sqlite import SqliteLog
from relevo.log.transaction import Transaction

__all__ = ["MAX_EVENT_BYTES", "Lease", "Log", "MemoryLog", "SessionInfo", "Snapshot", "SqliteLog", "Transaction"]
