"""
One session in the hands of one process: what the log means so far, and the only way to add to it.

The journal keeps the fold and the projection in step with the log. When somebody else appended first (a person spoke,
or decided), it reads what came and appends after that: a result that exists is written wherever the log is now.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from relevo.clock import Clock
from relevo.context.project import Projection
from relevo.errors import LogError, LogMoved
from relevo.events import Body, Event
from relevo.fold import fold
from relevo.log.log import Lease, Log, Transaction, TransactionalLog
from relevo.loop.snapshot import due, replay, save
from relevo.state import State

logger = logging.getLogger("relevo.loop")


class Journal:
    """Append-and-fold for the holder of a lease. Not shared between processes; safe between tasks of one loop."""

    def __init__(
        self, log: Log, lease: Lease, clock: Clock, state: State, projection: Projection, *, saved: int = 0
    ) -> None:
        self._log = log
        self._clock = clock
        self._writing = asyncio.Lock()  # keeps appends of parallel tools in one order
        self._saved = saved
        self._telling: set[asyncio.Task[None]] = set()
        self.lease = lease
        self.state = state
        self.projection = projection

    @classmethod
    async def open(cls, log: Log, session_id: str, clock: Clock, *, take_over: bool = False) -> Journal:
        """Claim the session and read it up. Raises SessionNotFound, and SessionHeld as `Log.claim` does."""
        lease = await log.claim(session_id, take_over=take_over)
        state, projection, saved = await replay(log, session_id)
        return cls(log, lease, clock, state, projection, saved=saved)

    async def append(self, *bodies: Body, flush: bool = False) -> None:
        """
        Write `bodies` at the end of the log, whatever came before them.

        Raises LeaseLost when another process has taken over; then nothing was written and this one must stop.
        """
        while not await self.append_if_still(*bodies, flush=flush):
            pass

    async def append_if_still(self, *bodies: Body, flush: bool = False) -> bool:
        """
        Write `bodies` if nobody else appended since; False when somebody did: that is read now, to decide again.

        For what was decided and not done: an ending, say, that a message just made untrue. Raises as `append` does.
        """
        async with self._writing:
            at = self._clock.now()
            try:
                head = await self._log.append(
                    self.lease.session_id,
                    bodies,
                    expected=self.state.position,
                    at=at,
                    epoch=self.lease.epoch,
                    flush=flush,
                )
            except LogMoved:
                await self.catch_up()
                return False
            first = head - len(bodies) + 1
            self._take_in(Event(self.lease.session_id, first + n, at, body) for n, body in enumerate(bodies))
            return True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction | None]:
        """
        A block whose writes in the log's database, and whose events, are stored together or not at all.

        None when this log offers none. Raises LeaseLost before it begins.
        """
        if not isinstance(self._log, TransactionalLog):
            yield None
            return
        async with self._writing:
            async with AsyncExitStack() as stack:
                yield await self._begun(self._log, stack)
            await self.catch_up()

    async def _begun(self, log: TransactionalLog, stack: AsyncExitStack) -> Transaction:
        while True:
            begin = log.transaction(
                self.lease.session_id, expected=self.state.position, at=self._clock.now(), epoch=self.lease.epoch
            )
            try:
                return await stack.enter_async_context(begin)
            except LogMoved:
                await self.catch_up()

    def tell(self, body: Body) -> None:
        """
        Write news of the outside at the end of the log, with no claim to the session: it is true whoever holds it.

        Returns at once; what cannot be written is lost, with a line in the program's log.
        """
        task = asyncio.get_running_loop().create_task(self._tell(body))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, body: Body) -> None:
        expected = self.state.position
        try:
            while True:
                try:
                    await self._log.append(self.lease.session_id, [body], expected=expected, at=self._clock.now())
                except LogMoved as moved:
                    expected = moved.actual
                else:
                    return
        except LogError as error:
            logger.warning("action=news.lost session=%s error=%s", self.lease.session_id, type(error).__name__)

    async def save(self) -> None:
        """Put a snapshot away, if the log has grown enough since the last."""
        if due(self.state.position, self._saved):
            await self._log.save_snapshot(self.lease.session_id, save(self.state, self.projection))
            self._saved = self.state.position

    async def catch_up(self) -> None:
        """Read what others appended."""
        self._take_in(await self._log.read(self.lease.session_id, after=self.state.position))

    def _take_in(self, events: Iterable[Event]) -> None:
        for event in events:
            self.state = fold(self.state, event)
            self.projection.apply(event)
