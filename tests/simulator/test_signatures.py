from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relevo.simulator.signatures import Signer, Verdict

SIGNER = Signer(7)
PREFIX = b"everything before"


@given(st.text(alphabet=st.characters()))
def test_what_was_signed_is_good(thinking: str) -> None:
    signature = SIGNER.sign(thinking, model="m", prefix=PREFIX)

    assert SIGNER.check(thinking, signature, model="m", prefix=PREFIX) is Verdict.GOOD


@given(st.text(), st.text())
def test_other_thinking_is_altered(thinking: str, other: str) -> None:
    signature = SIGNER.sign(thinking, model="m", prefix=PREFIX)

    expected = Verdict.GOOD if thinking == other else Verdict.ALTERED
    assert SIGNER.check(other, signature, model="m", prefix=PREFIX) is expected


def test_another_prefix_and_another_model_are_told_apart() -> None:
    signature = SIGNER.sign("hm", model="m", prefix=PREFIX)

    assert SIGNER.check("hm", signature, model="m", prefix=b"other") is Verdict.OTHER_PREFIX
    assert SIGNER.check("hm", signature, model="n", prefix=PREFIX) is Verdict.OTHER_MODEL


@given(st.text())
def test_any_other_text_is_foreign(signature: str) -> None:
    assert SIGNER.check("hm", signature, model="m", prefix=PREFIX) is Verdict.FOREIGN


def test_another_seed_is_not_believed() -> None:
    signature = Signer(8).sign("hm", model="m", prefix=PREFIX)

    assert SIGNER.check("hm", signature, model="m", prefix=PREFIX) is Verdict.ALTERED
