from __future__ import annotations

from typing import Any

import pytest

from relevo.events import Body, Unknown
from relevo.log.upcast import UPCASTS, Upcasts


def renamed(data: dict[str, Any]) -> dict[str, Any]:
    data["text"] = data.pop("words")
    return data


def in_blocks(data: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": data["text"]}]}


TWO_LIFTS = Upcasts({("user.message", 2): in_blocks, ("user.message", 1): renamed})


def test_old_data_goes_through_every_version_after_its_own() -> None:
    newest = {"content": [{"type": "text", "text": "hello"}]}

    assert TWO_LIFTS.lift("user.message", 1, {"words": "hello"}) == newest
    assert TWO_LIFTS.lift("user.message", 2, {"text": "hello"}) == newest
    assert TWO_LIFTS.lift("user.message", 3, newest) == newest


def test_the_current_version_is_one_more_than_the_last_that_is_lifted() -> None:
    assert TWO_LIFTS.current("user.message") == 3
    assert TWO_LIFTS.current("user.interrupt") == 1


def test_a_version_that_nobody_can_lift_is_a_mistake_seen_at_once() -> None:
    with pytest.raises(ValueError, match="not from 1"):
        Upcasts({("user.message", 2): in_blocks})


@pytest.mark.parametrize("data", [{}, {"words": 1, "text": 2, "more": 3} | {"words": None}])
def test_data_that_the_old_version_never_wrote_is_refused(data: dict[str, Any]) -> None:
    lifts = Upcasts({("user.message", 1): lambda old: {"content": old["words"] + "!"}})

    with pytest.raises(ValueError, match="not version 1 of"):
        lifts.lift("user.message", 1, data)


def test_our_own_table_lifts_only_kinds_there_are() -> None:
    kinds = {cls.kind for cls in Body.__args__ if cls is not Unknown}

    assert {kind for kind, _ in UPCASTS._lifts} <= kinds
