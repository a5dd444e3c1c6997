from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support_desk.business import Business, DeskUnavailable, RefundRefused, connect, sql
from support_desk.order import Refund
from support_desk.ticket import Handoff

HANDOFF = Handoff(
    session_id="sesn_1", customer_id="C-1001", order_id="ORD-2001", category="refund", root_cause="Broken twice.",
    amount_cents=4990, attempts=("looked it up",), recommended_action="Pay.", priority="high",
)  # fmt: skip


def pay(business: Business, key: str = "k", **more: Any) -> Refund:
    given: dict[str, Any] = {
        "customer_id": "C-1001", "order_id": "ORD-2001", "line": 0, "cents": 4990, "reason": "damaged",
        "session_id": "sesn_1", "call_id": "sevt_1_5.0",
    }  # fmt: skip
    return business.refund(key=key, **{**given, **more})


def refused(business: Business, key: str = "other", **more: Any) -> str:
    with pytest.raises(RefundRefused) as caught:
        pay(business, key, **more)
    return caught.value.refusal.code


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as connection:
        yield connection


class TestRefunds:
    def test_a_refund_is_in_the_books_with_who_what_and_which_call(self, business: Business) -> None:
        made = pay(business)

        assert business.refunds_of("ORD-2001") == business.refunds_in("sesn_1") == [made]
        assert business.refund_by_key("k") == made
        assert (made.customer_id, made.currency, made.call_id) == ("C-1001", "EUR", "sevt_1_5.0")

    def test_the_same_key_again_returns_the_first_refund_and_pays_nothing(self, business: Business) -> None:
        before = business.total_refunded()
        first = pay(business)

        assert pay(business) == first
        assert business.total_refunded() == before + 4990

    def test_a_key_is_for_one_refund_only(self, business: Business) -> None:
        pay(business)

        assert refused(business, "k", cents=1) == "key_reused"

    def test_another_call_does_not_pay_again_for_the_same_thing(self, business: Business) -> None:
        """A re-sampled turn has new ids, so its key is new; the thing is not."""
        pay(business, "first sample", line=1, cents=3200)

        assert refused(business, "second sample", line=1, cents=3200) == "already_refunded"
        assert refused(business, "told otherwise", cents=3200) == "already_refunded"
        assert business.total_refunded("ORD-2001") == 3200

    @pytest.mark.parametrize(
        ("asked", "code"),
        [
            ({"order_id": "ORD-9999"}, "order_not_found"),
            ({"order_id": "ORD-2006"}, "not_yours"),
            ({"order_id": "ORD-2003", "customer_id": "C-1002", "cents": 1}, "not_delivered"),
            ({"order_id": "ORD-2005", "customer_id": "C-1003", "cents": 1}, "already_refunded"),
            ({"line": 7}, "no_such_line"),
            ({"cents": 0}, "too_much"),
            ({"cents": -4990}, "too_much"),
            ({"cents": 4991}, "too_much"),
            ({"cents": 2**70}, "too_much"),
            ({"line": 2**70}, "no_such_line"),
        ],
    )
    def test_a_refused_refund_leaves_no_trace(self, business: Business, asked: dict[str, Any], code: str) -> None:
        before = business.total_refunded()

        assert refused(business, **asked) == code
        assert (business.total_refunded(), business.refund_by_key("other")) == (before, None)

    def test_of_many_threads_exactly_one_pays(self, business: Business) -> None:
        start, codes = threading.Barrier(6), []

        def attempt(number: int) -> None:
            start.wait()
            try:
                codes.append(pay(business, f"k{number}").reference)
            except RefundRefused as error:
                codes.append(error.refusal.code)

        threads = [threading.Thread(target=attempt, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(codes) == ["R-00012", *["already_refunded"] * 5]
        assert business.total_refunded("ORD-2001") == 4990

    async def test_of_two_processes_at_once_exactly_one_pays(self, business: Business) -> None:
        program = (
            "import sys; from support_desk.business import *; books = Business(sys.argv[1]); print('ready', flush=True)\n"
            "sys.stdin.readline()\n"
            "try: print(books.refund(key=sys.argv[2], customer_id='C-1001', order_id='ORD-2001', line=0, cents=4990,"
            " reason='late', session_id='', call_id='').reference)\n"
            "except RefundRefused as error: print(error.refusal.code)"
        )
        here = str(Path(__file__).parents[2] / "examples")
        pipe = asyncio.subprocess.PIPE
        started = [
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                program,
                str(business.path),
                key,
                stdin=pipe,
                stdout=pipe,
                env={"PYTHONPATH": here},
            )
            for key in ("one", "two")
        ]
        for process in started:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        said = [(await done)[0].decode().strip() for done in [process.communicate(b"go\n") for process in started]]

        assert sorted(said) == ["R-00012", "already_refunded"]
        assert business.total_refunded("ORD-2001") == 4990
        assert business.audit() == []


ASKED = st.fixed_dictionaries(
    {
        "key": st.sampled_from("abcdef"),
        "customer_id": st.sampled_from(["C-1001", "C-1003", "C-1006"]),
        "order_id": st.sampled_from(["ORD-2001", "ORD-2002", "ORD-2004", "ORD-2005", "ORD-2008", "ORD-2009", "ORD-1"]),
        "line": st.integers(-1, 3),
        "cents": st.one_of(
            st.integers(-10, 10), st.integers(-(2**70), 2**70), st.sampled_from([4990, 24900, 1850, 2400])
        ),
    }
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(ASKED, max_size=12))
def test_no_sequence_of_attempts_breaks_the_books(sample: Path, asked: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        business = Business(shutil.copy(sample, folder))
        before, paid = business.total_refunded(), {}
        for each in asked:
            try:
                refund = pay(business, **each)
            except RefundRefused:
                continue
            paid[refund.id] = refund.cents

        assert business.audit() == []
        assert business.total_refunded() == before + sum(paid.values())
        assert all(cents > 0 for cents in paid.values())


class TestLastFence:
    """The tables refuse by themselves, whoever writes."""

    ROW = (
        "INSERT INTO refunds (request_key, order_id, line, cents, currency, reason, customer_id, session_id, call_id,"
        " paid_at) VALUES (:key, :order, :line, :cents, :currency, 'x', :customer, '', '', '')"
    )
    GOOD: ClassVar[dict[str, Any]] = {
        "key": "new",
        "order": "ORD-2001",
        "line": 0,
        "cents": 100,
        "currency": "EUR",
        "customer": "C-1001",
    }

    @pytest.mark.parametrize(
        "bad",
        [
            {"cents": 4991},
            {"cents": 0},
            {"cents": -100},
            {"cents": 12.5},
            {"line": 1, "cents": 3201},
            {"line": 9, "cents": 1},
            {"currency": "USD"},
            {"customer": "C-1002"},
            {"order": "ORD-2003", "customer": "C-1002"},
            {"order": "ORD-2005", "customer": "C-1003", "currency": "USD"},
            {"key": "before-relevo-1"},
            {"order": "ORD-9999"},
        ],
    )
    def test_a_wrong_row_is_refused(self, books: Path, bad: dict[str, Any]) -> None:
        with opened(books) as connection, pytest.raises(sqlite3.IntegrityError):
            connection.execute(self.ROW, {**self.GOOD, **bad})

    def test_a_right_row_is_not(self, books: Path) -> None:
        with opened(books) as connection:
            connection.execute(self.ROW, self.GOOD)

        assert Business(books).audit() == []

    @pytest.mark.parametrize("statement", ["UPDATE refunds SET cents = 1", "DELETE FROM refunds"])
    def test_what_was_paid_is_never_changed(self, books: Path, statement: str) -> None:
        with opened(books) as connection, pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)


class TestAudit:
    """It reads rows only, so it also sees what got past the fences."""

    @pytest.mark.parametrize(
        ("bad", "says"),
        [
            ({"cents": 4991}, "order ORD-2001: refunded 4991 of 4990 paid"),
            ({"cents": -1}, "refund 12: -1 cents for line 0"),
            ({"line": 1, "cents": 3201}, "refund 12: 3201 cents for line 1"),
            ({"line": 9}, "refund 12: 100 cents for line 9"),
            ({"currency": "USD"}, "refund 12: in USD, the order is in EUR"),
            ({"customer": "C-1002"}, "refund 12: C-1002 got the money of C-1001"),
            ({"order": "ORD-2003", "customer": "C-1002"}, "refund 12: order ORD-2003 is shipped"),
            ({"order": "ORD-9999"}, "refund 12: order ORD-9999 is unknown"),
            (
                {"order": "ORD-2005", "customer": "C-1003", "currency": "USD"},
                "refund 12: pays again for what refund 1 paid",
            ),
            ({"key": "before-relevo-1"}, "refund 12: has the request key of refund 1"),
        ],
    )
    def test_every_wrong_row_is_named(self, books: Path, bad: dict[str, Any], says: str) -> None:
        with opened(books) as connection:
            connection.executescript(
                "PRAGMA foreign_keys = OFF; CREATE TABLE bare AS SELECT * FROM refunds; DROP TABLE refunds;"
                " CREATE TABLE refunds (id INTEGER PRIMARY KEY, request_key, order_id, line, cents, currency, reason,"
                " customer_id, session_id, call_id, paid_at); INSERT INTO refunds SELECT * FROM bare;"
            )
            connection.execute(TestLastFence.ROW, {**TestLastFence.GOOD, **bad})

        assert says in Business(books).audit()

    def test_thesample_shop_is_in_order(self, business: Business) -> None:
        assert business.audit() == []

    def test_a_ticket_that_stands_twice_is_named(self, business: Business) -> None:
        business.open_ticket(HANDOFF, key="k")
        with opened(business.path) as connection:
            connection.executescript(
                "CREATE TABLE bare AS SELECT * FROM tickets; DROP TABLE tickets;"
                " CREATE TABLE tickets AS SELECT * FROM bare;"
                " INSERT INTO tickets SELECT 2, request_key || '2', session_id, customer_id, order_id, category, root_cause,"
                " amount_cents, attempts, recommended_action, priority, opened_at FROM bare;"
            )

        assert business.audit() == ["ticket 2: is ticket 1 again"]


class TestAccess:
    """Not to be reached is not the same as empty."""

    def test_a_missing_file_is_no_empty_shop(self, tmp_path: Path) -> None:
        with pytest.raises(DeskUnavailable):
            Business(tmp_path / "nowhere.db").order("ORD-2001")

    def test_a_file_that_is_no_database_is_unavailable(self, tmp_path: Path) -> None:
        path = tmp_path / "desk.db"
        path.write_text("not a database, but long enough to be read as one " * 40)

        with pytest.raises(DeskUnavailable):
            Business(path).customers(name="Maria Garcia")

    def test_a_shop_that_is_locked_pays_nothing_and_says_so(self, books: Path) -> None:
        business = Business(books, busy_seconds=0)
        with opened(books) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DeskUnavailable) as caught:
                pay(business)

        assert caught.value.outcome == "not_executed"
        assert business.refund_by_key("k") is None

    def test_a_locked_shop_can_still_be_read(self, books: Path) -> None:
        with opened(books) as other:
            other.execute("BEGIN IMMEDIATE")

            assert Business(books, busy_seconds=0).order("ORD-2001") is not None

    def test_what_breaks_at_the_commit_may_have_happened(
        self, business: Business, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Breaks(sqlite3.Connection):
            def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
                if sql == "COMMIT":
                    raise sqlite3.OperationalError("disk I/O error")
                return super().execute(sql, parameters)

        monkeypatch.setattr(
            Business,
            "_connect",
            lambda self, _: _named(sqlite3.connect(self.path, isolation_level=None, factory=Breaks)),
        )
        with pytest.raises(DeskUnavailable) as caught:
            pay(business)

        assert caught.value.outcome == "unknown"

    def test_only_when_told_so_a_missing_shop_is_made(self, tmp_path: Path) -> None:
        path = tmp_path / "a" / "desk.db"

        assert len(Business(path, make=True).orders_of("C-1001")) == 2
        assert path.exists()


def _named(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = lambda cursor, row: {c[0]: v for c, v in zip(cursor.description, row, strict=True)}
    return connection


class TestCustomers:
    def test_all_that_is_given_must_fit(self, business: Business) -> None:
        assert [each.id for each in business.customers(email="ANA.Torres@example.com")] == ["C-1001"]
        assert [each.id for each in business.customers(name="maria garcia")] == ["C-1004", "C-1005"]
        assert business.customers(name="Maria Garcia", customer_id="C-1001") == []

    @pytest.mark.parametrize("odd", ["%", "_", "' OR 1=1 --", "", "\x00"])
    def test_no_text_is_a_pattern(self, business: Business, odd: str) -> None:
        assert (
            business.customers(email=odd) == business.customers(name=odd) == business.customers(customer_id=odd) == []
        )

    def test_orders_of_a_customer_come_newest_first(self, business: Business) -> None:
        assert business.orders_of("C-1001") == ["ORD-2002", "ORD-2001"]
        assert business.orders_of("C-9999") == []


class TestTickets:
    def test_a_ticket_holds_the_whole_handoff_and_its_id_comes_from_the_queue(self, business: Business) -> None:
        ticket, is_new = business.open_ticket(HANDOFF, key="k")

        assert (ticket.reference, is_new) == ("T-00001", True)
        assert business.tickets("sesn_1") == [replace(ticket, handoff=replace(HANDOFF, attempts=["looked it up"]))]

    def test_the_same_key_or_the_same_case_of_a_session_is_one_ticket(self, business: Business) -> None:
        first, _ = business.open_ticket(HANDOFF, key="k")

        assert business.open_ticket(HANDOFF, key="k") == (first, False)
        assert business.open_ticket(replace(HANDOFF, root_cause="Said again."), key="other") == (first, False)
        assert business.open_ticket(replace(HANDOFF, order_id=None), key="third")[1] is True
        assert business.open_ticket(replace(HANDOFF, session_id="sesn_2"), key="fourth")[1] is True
        assert business.audit() == []

    def test_nobody_signed_in_may_still_reach_a_person(self, business: Business) -> None:
        ticket, _ = business.open_ticket(replace(HANDOFF, customer_id=None, order_id=None, amount_cents=None), key="k")

        assert (ticket.handoff.customer_id, ticket.handoff.order_id) == (None, None)


def test_the_books_are_made_by_statements_that_may_run_again(books: Path) -> None:
    with opened(books) as connection:
        connection.executescript(sql("business.sql"))

    assert Business(books).audit() == []
