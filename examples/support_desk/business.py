"""
The desk's own books, in SQLite.

A connection for each operation: safe between threads and between processes. Money moves in one place, `refund`, in
one transaction that no other writer can enter; the tables' constraints and triggers say the same again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from support_desk.order import Customer, Line, Order, Refund, Refusal, refusal
from support_desk.ticket import Handoff, Ticket


class DeskUnavailable(Exception):
    """
    The books cannot be read or written now. Says nothing about what is in them.

    `outcome` is `unknown` when it broke while a change was being committed.
    """

    def __init__(self, reason: str, *, outcome: Literal["not_executed", "unknown"] = "not_executed") -> None:
        super().__init__(reason)
        self.outcome = outcome


class RefundRefused(Exception):
    """There is no refund, and nothing was written; `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class Business:
    """
    The books at `path`.

    `busy_seconds` is how long an operation waits for other writers. A missing file is `DeskUnavailable`, never an
    empty shop; only with `make` it is made and filled with the sample data.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_seconds: float = 5.0,
        make: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._make = make
        self._now = now

    def customers(
        self, *, customer_id: str | None = None, email: str | None = None, name: str | None = None
    ) -> list[Customer]:
        """Everybody who fits all that is given."""
        with self._reading("customers") as connection:
            rows = connection.execute(
                "SELECT id, name, email FROM customers WHERE (:id IS NULL OR id = :id)"
                " AND (:email IS NULL OR email = :email COLLATE NOCASE)"
                " AND (:name IS NULL OR name = :name COLLATE NOCASE) ORDER BY id",
                {"id": customer_id, "email": email, "name": name},
            )
            return [Customer(**row) for row in rows]

    def orders_of(self, customer_id: str) -> list[str]:
        """Ids of a customer's orders, newest first."""
        with self._reading("customers") as connection:
            rows = connection.execute(
                "SELECT id FROM orders WHERE customer_id = ? ORDER BY placed_on DESC, id DESC", [customer_id]
            )
            return [row["id"] for row in rows]

    def order(self, order_id: str) -> Order | None:
        """The order with this id; None: there is none."""
        with self._reading("order") as connection:
            return _order(connection, order_id)

    def refund(
        self,
        *,
        key: str,
        customer_id: str,
        order_id: str,
        line: int,
        cents: int,
        reason: str,
        session_id: str,
        call_id: str,
        at_most_cents: int | None = None,
    ) -> Refund:
        """
        Give money back, once. The same `key` again returns the refund that it made, and changes nothing.

        `at_most_cents` is what all refunds of the order may come to without a person's word; None: somebody gave it.

        Raises:
            RefundRefused: the rule of refunds says no, or the key was used for another refund.
            DeskUnavailable: try again later; with `outcome` "unknown", look first.
        """
        with self._writing("refund") as connection:
            earlier = _refund(connection, key)
            if earlier is not None:
                if (earlier.order_id, earlier.line, earlier.cents) != (order_id, line, cents):
                    raise RefundRefused(Refusal("key_reused", f"The key of {earlier.reference} is for another refund."))
                return earlier
            order = _order(connection, order_id)
            why_not = refusal(
                order, order_id, customer_id=customer_id, line=line, cents=cents, at_most_cents=at_most_cents
            )
            if why_not is not None:
                raise RefundRefused(why_not)
            assert order is not None
            connection.execute(
                "INSERT INTO refunds"
                " (request_key, order_id, line, cents, currency, reason, customer_id, session_id, call_id, paid_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [key, order_id, line, cents, order.currency, reason, customer_id, session_id, call_id, self._at()],
            )
            made = _refund(connection, key)
            assert made is not None
        return made

    def refund_by_key(self, key: str) -> Refund | None:
        """What the key paid; None: nothing."""
        with self._reading("refund") as connection:
            return _refund(connection, key)

    def refunds_of(self, order_id: str) -> list[Refund]:
        """What was given back for an order, oldest first."""
        with self._reading("refund") as connection:
            return _refunds(connection, order_id)

    def refunds_in(self, session_id: str) -> list[Refund]:
        """What one session paid, oldest first."""
        with self._reading("refund") as connection:
            rows = connection.execute("SELECT * FROM refunds WHERE session_id = ? ORDER BY id", [session_id])
            return [Refund(**row) for row in rows]

    def total_refunded(self, order_id: str | None = None) -> int:
        """In cents, whatever the currency; None counts all orders."""
        with self._reading("refund") as connection:
            rows = connection.execute(
                "SELECT coalesce(sum(cents), 0) AS total FROM refunds WHERE :id IS NULL OR order_id = :id",
                {"id": order_id},
            )
            return int(rows.fetchone()["total"])

    def open_ticket(self, handoff: Handoff, *, key: str) -> tuple[Ticket, bool]:
        """
        Put a case in the queue of people; return its ticket and whether it is new.

        The same `key` again, or the same session about the same thing, returns the ticket that there is.
        """
        with self._writing("ticket") as connection:
            made = connection.execute(
                "INSERT INTO tickets (request_key, session_id, customer_id, order_id, category, root_cause,"
                " amount_cents, attempts, recommended_action, priority, opened_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    key,
                    handoff.session_id,
                    handoff.customer_id,
                    handoff.order_id or "",
                    handoff.category,
                    handoff.root_cause,
                    handoff.amount_cents,
                    json.dumps(list(handoff.attempts), ensure_ascii=False),
                    handoff.recommended_action,
                    handoff.priority,
                    self._at(),
                ],
            )
            row = connection.execute(
                "SELECT * FROM tickets WHERE request_key = ? OR (session_id = ? AND category = ? AND order_id = ?)"
                " ORDER BY request_key = ? DESC LIMIT 1",
                [key, handoff.session_id, handoff.category, handoff.order_id or "", key],
            ).fetchone()
        return _ticket(row), made.rowcount == 1

    def tickets(self, session_id: str | None = None) -> list[Ticket]:
        """Open cases, oldest first; None is of all sessions."""
        with self._reading("ticket") as connection:
            rows = connection.execute(
                "SELECT * FROM tickets WHERE :id IS NULL OR session_id = :id ORDER BY id", {"id": session_id}
            )
            return [_ticket(row) for row in rows]

    def audit(self) -> list[str]:
        """What is wrong with the books; empty is how it must always be."""
        with self._reading("audit") as connection:
            return [row["wrong"] for row in connection.execute(sql("audit.sql"))]

    def _at(self) -> str:
        return self._now().isoformat(timespec="seconds")

    @contextmanager
    def _reading(self, what: str, *, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._connect(what)) as connection:
                connection.execute(begin)  # all that is read is of one moment; what breaks before a commit rolls back
                yield connection
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise DeskUnavailable(str(error)) from error

    @contextmanager
    def _writing(self, what: str) -> Iterator[sqlite3.Connection]:
        with self._reading(what, begin="BEGIN IMMEDIATE") as connection:  # no other writer until the end
            yield connection
            try:
                connection.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                raise DeskUnavailable(str(error), outcome="unknown") from error

    def _connect(self, what: str) -> sqlite3.Connection:  # noqa: ARG002  the name of the books needed, for outages.py
        if self._make and not self.path.exists():
            from support_desk.dataset import seed

            seed(self.path)
        connection = connect(self.path, busy_seconds=self._busy_seconds)
        connection.row_factory = _named
        return connection


def connect(path: Path, *, busy_seconds: float = 5.0, mode: Literal["rw", "rwc"] = "rw") -> sqlite3.Connection:
    """A connection in autocommit mode; `rwc` makes the file."""
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=busy_seconds, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def sql(name: str) -> str:
    """The text of one of the desk's `.sql` files."""
    return resources.files("support_desk").joinpath(name).read_text("utf-8")


def _named(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


def _order(connection: sqlite3.Connection, order_id: str) -> Order | None:
    row = connection.execute(
        "SELECT *, (SELECT coalesce(sum(cents), 0) FROM payments WHERE order_id = orders.id) AS paid_cents"
        " FROM orders WHERE id = ?",
        [order_id],
    ).fetchone()
    if row is None:
        return None
    lines = connection.execute(
        "SELECT line, item, quantity, unit_cents FROM lines WHERE order_id = ? ORDER BY line", [order_id]
    )
    return Order(**row, lines=tuple(Line(**line) for line in lines), refunds=tuple(_refunds(connection, order_id)))


def _refunds(connection: sqlite3.Connection, order_id: str) -> list[Refund]:
    rows = connection.execute("SELECT * FROM refunds WHERE order_id = ? ORDER BY id", [order_id])
    return [Refund(**row) for row in rows]


def _refund(connection: sqlite3.Connection, key: str) -> Refund | None:
    row = connection.execute("SELECT * FROM refunds WHERE request_key = ?", [key]).fetchone()
    return None if row is None else Refund(**row)


def _ticket(row: dict[str, Any]) -> Ticket:
    kept = {name: row[name] for name in Handoff.__slots__}
    kept["attempts"] = json.loads(row["attempts"])
    kept["order_id"] = row["order_id"] or None
    return Ticket(id=row["id"], handoff=Handoff(**kept), opened_at=row["opened_at"])
