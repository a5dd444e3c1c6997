from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path

import pytest

from support_desk.business import Business
from support_desk.dataset import CUSTOMERS, ORDERS, dataset, seed


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def test_the_same_seed_makes_the_same_shop(tmp_path: Path) -> None:
    seed(tmp_path / "a.db", seed=3)
    seed(tmp_path / "b.db", seed=3)
    seed(tmp_path / "c.db", seed=4)

    assert dump(tmp_path / "a.db") == dump(tmp_path / "b.db") != dump(tmp_path / "c.db")


@pytest.mark.parametrize("number", [1, 7, 42])
def test_every_shop_is_of_full_size_and_in_order(tmp_path: Path, number: int) -> None:
    seed(tmp_path / "desk.db", seed=number)
    business = Business(tmp_path / "desk.db")
    shop = dataset(number)

    assert (len(shop.customers), len(shop.orders)) == (CUSTOMERS, ORDERS)
    assert len({customer.email for customer in shop.customers}) == CUSTOMERS
    assert business.audit() == []
    assert all(business.order(order.id) == order for order in shop.orders)


def test_two_customers_share_a_name() -> None:
    names = [customer.name for customer in dataset().customers]

    assert names.count("Maria Garcia") == 2


def test_seeding_again_changes_nothing(books: Path) -> None:
    before = dump(books)
    seed(books, seed=99)

    assert dump(books) == before


async def test_two_processes_may_make_the_shop_at_once(tmp_path: Path) -> None:
    path, here = tmp_path / "desk.db", str(Path(__file__).parents[2] / "examples")
    program = "import sys; from support_desk.dataset import seed; sys.stdin.readline(); seed(sys.argv[1])"
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(path), stdin=asyncio.subprocess.PIPE, env={"PYTHONPATH": here}
        )
        for _ in range(2)
    ]
    await asyncio.gather(*(process.communicate(b"go\n") for process in started))

    assert [process.returncode for process in started] == [0, 0]
    assert len(Business(path).orders_of("C-1001")) == 2
