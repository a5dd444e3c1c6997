from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from relevo.tools.effects import EFFECTS, RECOVERY, Recovery, after_crash, idempotency_key

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)
words = st.text(st.characters(codec="utf-8"), max_size=20)


def test_the_recovery_matrix_knows_every_effect_with_and_without_a_hook() -> None:
    assert set(RECOVERY) == {(effect, hook) for effect in EFFECTS for hook in (False, True)}


def test_reads_and_transactions_run_again_whatever_hooks_they_have() -> None:
    assert {
        after_crash(effect, has_reconcile=hook) for effect in ("read", "transactional") for hook in (False, True)
    } == {Recovery.RERUN}


def test_an_irreversible_call_is_never_repeated_unasked() -> None:
    assert after_crash("irreversible", has_reconcile=False) is Recovery.NEVER
    assert after_crash("irreversible", has_reconcile=True) is Recovery.ASK


def test_what_honours_a_key_runs_again_and_what_can_be_asked_is_asked() -> None:
    assert after_crash("idempotent", has_reconcile=False) is Recovery.RERUN
    assert after_crash("idempotent", has_reconcile=True) is Recovery.ASK
    assert after_crash("compensable", has_reconcile=False) is Recovery.ASK


def test_a_key_never_changes_between_releases() -> None:
    # A call begun by an old release may be finished by a new one: the key is a promise to the world outside.
    assert idempotency_key("sesn_1", "sevt_1_2.0", "refund", {"b": 1, "a": 2}) == idempotency_key(
        "sesn_1", "sevt_1_2.0", "refund", {"a": 2, "b": 1}
    )
    assert idempotency_key("sesn_1", "sevt_1_2.0", "refund", {}) == PINNED


PINNED = "relevo_e1cc1b17c7c14f55a39fdd934d5217e88953934af7826a20"


@given(words, words, words, json_values, words)
def test_a_key_is_short_and_differs_by_session_call_and_tool(
    session: Any, call: Any, name: Any, given_input: Any, other: Any
) -> None:
    key = idempotency_key(session, call, name, given_input)

    assert len(key) <= 64
    assert key.isascii()
    assert (key == idempotency_key(other, call, name, given_input)) == (session == other)
    assert (key == idempotency_key(session, other, name, given_input)) == (call == other)
    assert (key == idempotency_key(session, call, other, given_input)) == (name == other)
