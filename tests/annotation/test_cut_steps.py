"""Cutting traces into steps (SPEC: section 18.2's rule)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Trace
from annotation.steps import LISTED, NUMBERED, UNSEGMENTED, Cut, cut, fingerprint, listed

texts = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(["(1)", "(2)", "(3)", "(03)", "(4)", "(12)", " ", "\n", "x", "(", ")", "é", "(a)"])
    ).map("".join),
)


def test_it_cuts_at_each_next_number_and_keeps_the_preamble_apart() -> None:
    assert cut("So:\n(1) Let x = 1.\n(2) Then x + 1 = 2.\n") == Cut(
        "So:\n", ("(1) Let x = 1.\n", "(2) Then x + 1 = 2.\n"), NUMBERED
    )


def test_a_number_that_is_not_due_is_no_marker() -> None:
    pieces = cut("(1) By (7) and (1), f(3) = 9. (2) From (1): done. (4) not due")
    assert pieces.steps == ("(1) By (7) and (1), f(3) = 9. ", "(2) From (1): done. (4) not due")


def test_a_reference_to_the_next_number_is_taken_for_its_marker() -> None:
    assert cut("(1) as (2) shows (2) indeed").steps == ("(1) as ", "(2) shows (2) indeed")


@pytest.mark.parametrize("text", ["", "no markers", "(1) only one", "(2) before (1)", "(1) (3) (4)"])
def test_fewer_than_two_markers_make_one_step(text: str) -> None:
    assert cut(text) == Cut("", (text,), UNSEGMENTED)


def test_leading_zeros_and_enormous_numbers_do_not_matter() -> None:
    assert cut(f"(01) a ({'9' * 10_000}) b (002) c").n_steps == 2


@given(texts)
def test_the_pieces_make_the_text_again(text: str) -> None:
    pieces = cut(text)
    assert pieces.preamble + "".join(pieces.steps) == text
    assert pieces.n_steps >= 1
    assert (pieces.kind == UNSEGMENTED) == (pieces.n_steps == 1)


@given(texts)
def test_each_step_begins_with_its_own_number(text: str) -> None:
    pieces = cut(text)
    if pieces.kind == NUMBERED:
        for number, step in enumerate(pieces.steps, start=1):
            assert int(step[1 : step.index(")")]) == number


@given(texts)
def test_zeros_before_every_number_change_no_place(text: str) -> None:
    pieces, padded = cut(text), cut(text.replace("(", "(0"))
    assert padded.kind == pieces.kind
    assert [part.replace("(0", "(") for part in padded.steps] == list(pieces.steps)


def test_the_kinds_are_those_of_the_model() -> None:
    assert {NUMBERED, LISTED, UNSEGMENTED, "text_free"} == set(Trace.Cut.values)


def test_the_fingerprint_of_a_text_is_its_sha256() -> None:
    text = "So: (1) é (2) b"
    assert fingerprint(cut(text)) == hashlib.sha256(text.encode()).hexdigest()


def test_the_fingerprint_of_listed_steps_knows_where_they_were_cut() -> None:
    assert fingerprint(listed(["a\nb", "c"])) != fingerprint(listed(["a", "b\nc"]))
