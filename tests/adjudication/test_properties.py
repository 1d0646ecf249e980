"""Properties of the masked order and of freezing: unbiased, independent of arrival, the same on any database."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.judgements import Judgement
from adjudication.masking import proposals
from adjudication.models import Dispute, ReferenceStandard
from adjudication.services.disputes import recompute_disputes
from adjudication.services.standards import content_sha256, freeze_standard
from annotation.models import Label, Study
from core.models import User
from stats.binomial import cumulative
from tests.adjudication.build import settle
from tests.build import make_label, make_question, make_study, make_trace

DISPUTES = 2_000
# The content below, frozen. It depends on nothing but the content: run on SQLite and on PostgreSQL.
FROZEN_SHA256 = "7d0ec4bbde3c718a7b7333fef66b3b0ee12f80e407191c2a767910b459e8d334"

Point = tuple[bool, int | None]
points = st.tuples(st.booleans(), st.none() | st.integers(1, 60))


def _bound(n: int, *, tail: float) -> int:
    """Return the largest k with P(X <= k) < tail for n tosses of a fair coin."""
    return max(k for k in range(n) if cumulative(k, n, 0.5) < tail)


def test_a_is_the_human_in_half_of_the_disputes() -> None:
    """Over 2,000 random disputes of one study, within the two-sided 99.9% bound of a fair coin."""
    rng = random.Random(20260904)
    key, low = rng.randbytes(32).hex(), _bound(DISPUTES, tail=0.0005)
    first = 0
    for _ in range(DISPUTES):
        human, debate = rng.sample([(right, step) for right in (True, False) for step in (None, 1, 2, 7)], 2)
        shown = proposals(
            [Judgement(final_correct=right, first_error_step=step) for right, step in (human, debate)],
            masking_key=key,
            token=rng.randbytes(10).hex(),
        )
        first += shown[0].point == human
    assert low < first < DISPUTES - low


def test_the_order_is_unbiased_for_one_and_the_same_pair_of_values() -> None:
    """A rule like "the earlier step first" would pass the test above if arms were even; it fails here."""
    rng = random.Random(4)
    key, low = rng.randbytes(32).hex(), _bound(DISPUTES, tail=0.0005)
    pair = [Judgement(final_correct=True, first_error_step=step) for step in (2, 4)]
    first = sum(
        proposals(pair, masking_key=key, token=rng.randbytes(10).hex())[0].first_error_step == 2
        for _ in range(DISPUTES)
    )
    assert low < first < DISPUTES - low


@given(st.lists(points, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_is_independent_of_arrival(said: list[Point], rng: random.Random) -> None:
    judgements = [Judgement(final_correct=right, first_error_step=step) for right, step in said]
    shuffled = rng.sample(judgements, len(judgements))
    one = proposals(judgements, masking_key="k", token="t")
    assert one == proposals(shuffled, masking_key="k", token="t")
    assert [proposal.mark for proposal in one] == list("ABCDEF"[: len(one)])
    assert {proposal.point for proposal in one} == set(said)


def _content(study: Study, lead: User, *, order: int) -> None:
    """Fill a study with the same content, its rows made in an order of its own."""
    rng = random.Random(order)
    said: dict[str, list[tuple[str, str, Point]]] = {
        "q1": [("human", "ana", (True, None)), ("debate", "debate", (True, None))],
        "q2": [("human", "ana", (True, 2)), ("human", "ben", (True, 3)), ("debate", "debate", (False, 3))],
        "q3": [("human", "ana", (False, 4))],
        "q4": [("human", "ana", (True, 1)), ("debate", "debate", (True, 5))],
        "q5": [],
        "qé": [("debate", "debate", (False, None))],
    }
    names = list(said)
    rng.shuffle(names)
    for name in names:
        answer = f"answer of {name}, $\\sqrt{{2}}$ — „è“"
        trace = make_trace(
            make_question(study, external_id=name, answer=answer), response_label="Response A", n_steps=6
        )
        labels = said[name]
        rng.shuffle(labels)
        for arm, labeller, (right, step) in labels:
            make_label(trace, arm=arm, labeller=labeller, final_correct=right, first_error_step=step)
    recompute_disputes(study=study)
    disputes = {one.trace.question.external_id: one for one in Dispute.objects.filter(study=study)}
    settle(
        disputes["q2"],
        lead,
        choice="both",
        mark="",
        final_correct=True,
        first_error_step=3,
        first_error_step_min=2,
        first_error_step_max=3,
    )


@pytest.mark.django_db
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_same_content_has_the_same_hash_on_either_database(adam: User, order: int) -> None:
    study = make_study()
    _content(study, adam, order=order)
    frozen = freeze_standard(study=study, allow_open=True).standard
    assert frozen.sha256 == FROZEN_SHA256
    assert content_sha256(ReferenceStandard.objects.get(pk=frozen.pk)) == FROZEN_SHA256


@pytest.mark.django_db
def test_other_content_has_another_hash(adam: User) -> None:
    study = make_study()
    _content(study, adam, order=0)
    trace = Label.objects.get(trace__study=study, trace__question__external_id="q3").trace
    make_label(trace, arm="debate", labeller="debate", final_correct=False, first_error_step=4)
    assert freeze_standard(study=study, allow_open=True).standard.sha256 != FROZEN_SHA256
