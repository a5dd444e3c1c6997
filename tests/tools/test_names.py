from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import relevo.tools
from relevo.errors import InvalidTool
from relevo.tools.names import checked_name, clean_name


@pytest.mark.parametrize("name", ["a", "get_customer", "A-1", "x" * 64])
def test_a_name_the_api_takes_is_taken(name: Any) -> None:
    assert checked_name(name) == name
    assert clean_name(name) == name


@pytest.mark.parametrize("name", ["", "a.b", "größe", "a b", "x" * 65, "a\n", None, 7])
def test_a_name_the_api_refuses_is_refused_when_declared(name: Any) -> None:
    with pytest.raises(InvalidTool, match="give another with name="):
        checked_name(name)


@given(st.text())
@example("a.b/c")
@example("größe")
@example("x" * 200)
@example("")
@example("\ud83d")
def test_b134_any_name_becomes_a_valid_one(name: Any) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", clean_name(name))


@given(st.text(), st.text())
@example("a.b", "a/b")
@example("x" * 200, "x" * 201)
def test_b134_different_names_stay_different(one: Any, other: Any) -> None:
    assert (clean_name(one) == clean_name(other)) == (one == other)


@given(st.text())
@example("a.b")
def test_b134_a_cleaned_name_never_meets_a_tool_that_is_really_called_so(name: Any) -> None:
    cleaned = clean_name(name)

    assert cleaned == name or clean_name(cleaned) != cleaned


def test_a_name_of_megabytes_is_cleaned_at_once_and_keeps_its_difference() -> None:
    long = "n é" * 1_500_000
    began = time.perf_counter()
    cleaned = clean_name(long)

    assert time.perf_counter() - began < 0.5
    assert cleaned.startswith("n_n_n_")
    assert cleaned != clean_name(long + "x")


def test_b134_cleaning_gives_the_same_name_in_every_process() -> None:
    script = "from relevo.tools.names import clean_name; print(clean_name('a.b/größe'))"
    source = str(Path(relevo.tools.__file__).parents[2])
    seen = {
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": source},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert seen == {clean_name("a.b/größe")}
