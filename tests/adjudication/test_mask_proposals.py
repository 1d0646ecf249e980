"""The masked order of proposals tells nothing of arms, people or arrival."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from adjudication.judgements import Judgement, kinds_of
from adjudication.masking import fingerprint, proposals

judgements = st.builds(
    Judgement, final_correct=st.booleans(), first_error_step=st.none() | st.integers(1, 30)
)


@given(st.lists(judgements, min_size=1, max_size=6), st.randoms())
def test_the_order_is_independent_of_arrival(said: list[Judgement], chance: random.Random) -> None:
    shuffled = said[:]
    chance.shuffle(shuffled)
    shown = proposals(said, masking_key="k", token="t")
    assert shown == proposals(shuffled, masking_key="k", token="t")
    assert fingerprint(shown) == fingerprint(proposals(shuffled, masking_key="k", token="t"))


@given(st.lists(judgements, min_size=1, max_size=6))
def test_a_value_said_twice_is_shown_once(said: list[Judgement]) -> None:
    shown = proposals(said + said[:2], masking_key="k", token="t")
    assert [proposal.mark for proposal in shown] == list("ABCDEF")[: len(shown)]
    assert {proposal.point for proposal in shown} == {one.point for one in said}
    assert len({proposal.point for proposal in shown}) == len(shown)


@given(st.lists(judgements, min_size=2, max_size=2, unique_by=lambda one: one.point))
def test_what_differs_has_a_kind(said: list[Judgement]) -> None:
    assert kinds_of(said)


def test_a_is_the_human_in_half_of_the_disputes() -> None:
    """2,000 disputes with random tokens: within the two-sided 99.9% bound of a fair coin."""
    total, chance = 2000, random.Random(7)
    key = chance.randbytes(32).hex()
    first = 0
    for _ in range(total):
        low, high = sorted(chance.sample(range(1, 40), 2))
        # The human names the earlier step always: an order by value would show at once.
        human = Judgement(final_correct=True, first_error_step=low)
        debate = Judgement(final_correct=True, first_error_step=high)
        shown = proposals([human, debate], masking_key=key, token=chance.randbytes(10).hex())
        first += shown[0].point == human.point
    assert abs(first - total / 2) <= 3.291 * math.sqrt(total) / 2


def test_the_order_hangs_on_the_studys_key() -> None:
    said = [Judgement(final_correct=True, first_error_step=step) for step in (1, 2)]
    orders = {
        tuple(one.first_error_step for one in proposals(said, masking_key=str(key), token="t"))
        for key in range(64)
    }
    assert orders == {(1, 2), (2, 1)}


def test_ranges_of_one_value_are_joined() -> None:
    said = [
        Judgement(final_correct=True, first_error_step=4, first_error_step_min=low, first_error_step_max=high)
        for low, high in ((3, 4), (4, 6), (None, None))
    ]
    (shown,) = proposals(said, masking_key="k", token="t")
    assert shown.range == (3, 6)
