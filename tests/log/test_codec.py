from __future__ import annotations

import json
import math
import types
from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from time import perf_counter
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relevo.content import MAX_DEPTH
from relevo.errors import InvalidValue, NotJson
from relevo.events import Body, ModelFailed, SessionCreated, ToolEnded, Unknown, UserInterrupt, UserMessage
from relevo.log.codec import decode, encode
from relevo.log.upcast import Upcasts

KINDS = [cls for cls in get_args(Body) if cls is not Unknown]

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def bodies_of(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Bodies of a kind with any JSON in every field: the codec does not judge what a field means."""
    given_ = {one.name: values for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING}
    left = {one.name: values for one in fields(cls) if one.name not in given_}
    return st.fixed_dictionaries(given_, optional=left).map(lambda chosen: cls(**chosen))


bodies = st.one_of([bodies_of(cls) for cls in KINDS])
unknown = st.builds(
    Unknown, unknown_kind=texts.map(lambda text: f"new.{text}"), version=st.integers(1, 2**31), data=values
)


def ended(data: Any) -> ToolEnded:
    return ToolEnded(tool_use_id="sevt_1_2.0", name="look", content="", data=data)


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@given(bodies | unknown)
def test_a_body_comes_back_as_it_was(body: Body) -> None:
    stored = encode(body)

    assert decode(*stored) == body
    assert encode(decode(*stored)) == stored


@given(bodies)
def test_what_is_stored_is_compact_json_in_utf8_under_the_kinds_own_name(body: Body) -> None:
    kind, version, data = encode(body)

    assert kind == body.kind
    assert version == 1
    assert json.dumps(json.loads(data), separators=(",", ":"), ensure_ascii=False).encode() == data


@pytest.mark.parametrize("cls", KINDS)
def test_every_kind_has_a_name_of_its_own(cls: type[Any]) -> None:
    assert [other.kind for other in KINDS].count(cls.kind) == 1


def test_a_field_that_is_none_by_default_takes_no_room() -> None:
    assert encode(UserInterrupt()).data == b"{}"
    assert encode(ended(None)).data == b'{"tool_use_id":"sevt_1_2.0","name":"look","content":"","is_error":false}'


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 9), values)
def test_an_unknown_kind_is_kept_with_its_data(name: str, version: int, data: Any) -> None:
    body = decode(f"new.{name}", version, json.dumps(data).encode())

    assert body == Unknown(unknown_kind=f"new.{name}", version=version, data=data)


@given(bodies_of(ToolEnded))
def test_a_newer_version_of_a_known_kind_is_kept_byte_for_byte(body: Body) -> None:
    stored = encode(body)._replace(version=2)

    newer = decode(*stored)

    assert isinstance(newer, Unknown)
    assert encode(newer) == stored


def test_a_field_from_a_newer_program_is_passed_over() -> None:
    assert decode("user.interrupt", 1, b'{"reason":"enough","mood":"bad"}') == UserInterrupt(reason="enough")


def test_a_field_that_may_be_absent_takes_its_default() -> None:
    assert decode("session.created", 1, b'{"agent":{}}') == SessionCreated(agent={})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"content":[]',
        b'{"content":[]}}',
        b'{"content":[]} ',
        b'{"content":NaN}',
        b"[]",
        b"null",
        b"{}",
        b'{"content":"\xff"}',
        b"\0" * 40,
        b'{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda data: repr(data[:16]),
)
def test_b217_bytes_that_no_version_wrote_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode("user.message", 1, data)


def test_a_version_before_the_first_is_refused() -> None:
    with pytest.raises(ValueError, match="version 0"):
        decode("user.message", 0, b'{"content":[]}')


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    "bad",
    [
        datetime(2026, 1, 2, tzinfo=UTC),
        Decimal("1.10"),
        UUID(int=1),
        Path("/tmp"),
        b"bytes",
        {1, 2},
        Colour.RED,
        UserInterrupt(),
        object(),
        math.nan,
        -math.inf,
        1j,
        10**5000,
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_b117_what_json_cannot_say_is_refused(bad: Any) -> None:
    with pytest.raises(NotJson):
        encode(ended({"at": [bad]}))


def test_b117_the_refusal_names_the_place() -> None:
    with pytest.raises(NotJson) as caught:
        encode(ended({"rows": [1, {"at": math.nan}]}))

    assert caught.value.path == "$.data.rows[1].at"


def test_a_cyclic_value_is_refused() -> None:
    cyclic: dict[str, Any] = {}
    cyclic["self"] = [cyclic]

    with pytest.raises(NotJson):
        encode(ended(cyclic))


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}], ids=["list", "object"])
def test_what_is_too_deep_to_be_read_again_is_not_written(wrap: Callable[[Any], Any]) -> None:
    deepest = ended(nested(MAX_DEPTH, wrap))

    assert decode(*encode(deepest)) == deepest
    for depth in (MAX_DEPTH + 1, 500, 100_000):
        with pytest.raises(NotJson, match="deep"):
            encode(ended(nested(depth, wrap)))


def test_many_brackets_are_not_depth() -> None:
    wide = ended([[{}]] * 1000 + ["{[" * 1000])

    assert decode(*encode(wide)) == wide


@given(st.text())
def test_b122_any_text_is_stored_without_lone_surrogates(text: str) -> None:
    body = decode(*encode(UserMessage(content=[{"type": "text", "text": text, f"key {text}": 1}])))

    assert isinstance(body, UserMessage)
    kept = body.content[0]["text"]
    kept.encode()
    assert kept == text or any(0xD800 <= ord(one) <= 0xDFFF for one in text)


def test_b122_two_halves_that_met_are_one_character_again() -> None:
    body = decode(*encode(ended("\ud83d\ude00")))

    assert isinstance(body, ToolEnded)
    assert body.data == "\U0001f600"


def test_mappings_and_tuples_become_objects_and_arrays() -> None:
    body = decode(*encode(ModelFailed(error=types.MappingProxyType({"path": (1, 2)}))))

    assert body == ModelFailed(error={"path": [1, 2]})


@pytest.mark.parametrize("body", [None, {"kind": "user.message"}, "user.message", SessionCreated])
def test_what_is_no_body_is_refused(body: Any) -> None:
    with pytest.raises(InvalidValue):
        encode(body)


def test_unknown_is_not_for_what_is_known() -> None:
    with pytest.raises(InvalidValue, match="own class"):
        encode(Unknown(unknown_kind="user.message", version=1, data={"content": "of no shape"}))


def test_unknown_data_is_checked_like_any_other() -> None:
    with pytest.raises(NotJson) as caught:
        encode(Unknown(unknown_kind="new.kind", version=1, data=[math.nan]))
    assert caught.value.path == "$[0]"
    assert encode(Unknown(unknown_kind="new.kind", version=1, data="\ud83d")).data == '"\ufffd"'.encode()


def test_an_old_version_is_lifted_and_written_back_as_the_newest() -> None:
    upcasts = Upcasts({("user.interrupt", 1): lambda data: {"reason": data["why"]}})

    body = decode("user.interrupt", 1, b'{"why":"enough"}', upcasts=upcasts)

    assert body == UserInterrupt(reason="enough")
    assert encode(body, upcasts=upcasts) == ("user.interrupt", 2, b'{"reason":"enough"}')
    assert decode(*encode(body, upcasts=upcasts), upcasts=upcasts) == body


def test_ten_thousand_events_are_decoded_in_a_fraction_of_a_second() -> None:
    stored = encode(ended({"id": "C-1", "orders": [1, 2, 3], "note": "x" * 200}))

    begin = perf_counter()
    for _ in range(10_000):
        decode(*stored)

    assert perf_counter() - begin < 0.5  # 0.05 on a quiet machine
