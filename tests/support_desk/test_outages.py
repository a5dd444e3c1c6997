from __future__ import annotations

from pathlib import Path

import pytest

from support_desk.business import DeskUnavailable
from support_desk.outages import FlakyBusiness


def test_books_fail_as_often_as_was_ordered_and_only_those(books: Path) -> None:
    business = FlakyBusiness(books, {"order": 2})
    for _ in range(2):
        with pytest.raises(DeskUnavailable):
            business.order("ORD-2001")

    assert business.order("ORD-2001") is not None
    assert business.customers(customer_id="C-1001")
