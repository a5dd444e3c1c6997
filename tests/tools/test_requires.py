from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.errors import InvalidTool
from relevo.tools import Requires

NEEDS_CUSTOMER = Requires("get_customer", customer_id="customer.id")


def customer(number: Any) -> Any:
    return {"customer": {"id": number}}


def test_nothing_is_satisfied_without_a_result() -> None:
    assert not NEEDS_CUSTOMER.satisfied_by({"customer_id": "c1"}, [])
    assert not Requires("login").satisfied_by({}, [])


def test_a_result_about_the_same_thing_satisfies() -> None:
    assert NEEDS_CUSTOMER.satisfied_by({"customer_id": "c1", "amount": 5}, [customer("c1")])


def test_a_result_about_another_thing_does_not() -> None:
    assert not NEEDS_CUSTOMER.satisfied_by({"customer_id": "c2"}, [customer("c1")])


def test_tutorial_3_5_a_later_result_replaces_an_earlier_one() -> None:
    newest_first = [customer("c2"), customer("c1")]

    assert not NEEDS_CUSTOMER.satisfied_by({"customer_id": "c1"}, newest_first)
    assert NEEDS_CUSTOMER.satisfied_by({"customer_id": "c2"}, newest_first)


def test_where_any_result_counts_an_earlier_one_still_does() -> None:
    any_order = Requires("lookup_order", order_id="order.id", newest_only=False)

    assert any_order.satisfied_by({"order_id": 1}, [{"order": {"id": 2}}, {"order": {"id": 1}}])
    assert not any_order.satisfied_by({"order_id": 3}, [{"order": {"id": 2}}, {"order": {"id": 1}}])


def test_without_binds_any_success_will_do() -> None:
    assert Requires("login").satisfied_by({}, [None])


def test_all_fields_must_meet_in_one_result() -> None:
    both = Requires("get", {"a": "x", "b": "y"}, newest_only=False)

    assert both.satisfied_by({"a": 1, "b": 2}, [{"x": 1, "y": 2}])
    assert not both.satisfied_by({"a": 1, "b": 2}, [{"x": 1, "y": 9}, {"x": 9, "y": 2}])


def test_a_star_means_any_element_and_a_number_one_of_them() -> None:
    listed = Requires("list_orders", order_id="orders.*.id")
    first = Requires("list_orders", order_id="orders.0.id")
    result = {"orders": [{"id": "o1"}, {"id": "o2"}]}

    assert listed.satisfied_by({"order_id": "o2"}, [result])
    assert first.satisfied_by({"order_id": "o1"}, [result])
    assert not first.satisfied_by({"order_id": "o2"}, [result])
    assert not Requires("list_orders", order_id="orders.7.id").satisfied_by({"order_id": "o2"}, [result])
    assert Requires("by_key", order_id="*.id").satisfied_by({"order_id": "o1"}, [{"k": {"id": "o1"}}])


def test_a_field_of_the_input_may_lie_deeper() -> None:
    assert Requires("get", {"order.id": "id"}).satisfied_by({"order": {"id": 5}}, [{"id": 5}])


@pytest.mark.parametrize(
    "result", [None, {}, [], "c1", {"customer": None}, {"customer": {"id": None}}, {"customer": "c1"}]
)
@pytest.mark.parametrize("sent", [{}, {"customer_id": None}, {"customer_id": "c1"}, None, []])
def test_what_is_missing_or_null_satisfies_nothing(sent: Any, result: Any) -> None:
    assert not NEEDS_CUSTOMER.satisfied_by(sent, [result])


@pytest.mark.parametrize("value", [1, 1.5, "1", True])
@pytest.mark.parametrize("other", [1, 1.5, "1", True])
def test_values_of_other_types_are_other_values(value: Any, other: Any) -> None:
    satisfied = NEEDS_CUSTOMER.satisfied_by({"customer_id": value}, [customer(other)])

    assert satisfied == (value == other and type(value) is type(other))


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.", 5])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    with pytest.raises(InvalidTool, match="dotted path"):
        Requires("get", {"field": path})


def test_it_is_plain_data() -> None:
    assert Requires("get", a="b") == Requires("get", {"a": "b"})
    assert len({Requires("get", a="b"), Requires("get", a="b")}) == 1


@given(st.lists(st.sampled_from(["c1", "c2", "c3"])), st.sampled_from(["c1", "c2", "c3"]))
def test_the_newest_result_alone_decides(ids: Any, wanted: Any) -> None:
    satisfied = NEEDS_CUSTOMER.satisfied_by({"customer_id": wanted}, map(customer, ids))

    assert satisfied == (ids[:1] == [wanted])
