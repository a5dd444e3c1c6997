from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from relevo.log import Log, MemoryLog
from tests.contracts.log_contract import LogContract


class TestMemoryLog(LogContract):
    @pytest.fixture
    async def log(self) -> AsyncIterator[Log]:
        log = MemoryLog()
        yield log
        await log.close()
