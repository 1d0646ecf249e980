"""Agreement in a pilot: which fields of the richer instrument several annotators can use alike.

The rules are those of the published pilot: items are those that every annotator judged, all pairs of annotators
are pooled; the presence of an error is whether a step is named; steps are compared where both named one. Beside
percent agreement stand Krippendorff's alpha and Gwet's AC1 with the number they rest on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stats.agreement import (
    NOTHING_PAIRABLE,
    Coefficient,
    Ratings,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from stats.annotators import presence_of, step_agreement

NO_ITEM = "no item was judged by every annotator"
NOTHING_SAID = "nobody said anything in this field"
ONE_ANNOTATOR = "agreement needs two annotators"


@dataclass(frozen=True)
class Modal:
    """How far judgements of one field fall together on one value: its share of the n that are not missing."""

    code: int | None
    share: Coefficient
    counts: dict[int, int]

    @property
    def two_largest(self) -> float:
        """The share of the two most frequent values together; NaN where nothing was said."""
        if not self.share.n:
            return math.nan
        return sum(sorted(self.counts.values(), reverse=True)[:2]) / self.share.n


@dataclass(frozen=True)
class FieldAgreement:
    """Agreement on one field: `percent` pooled over `pairs` pairs of judgements; alpha and AC1 beside it."""

    percent: Coefficient
    pairs: int
    alpha: Coefficient
    ac1: Coefficient
    modal: Modal


@dataclass(frozen=True)
class PilotAgreement:
    """Agreement of a pilot's annotators over the items that all of them judged.

    `exact_step` and `step_within_one` are shares of the pairs of judgements that both named a step; their n is
    the number of such pairs. `unanimous`: the share of items on which everybody judged the final answer alike.
    """

    annotators: int
    items: int
    final_correct: FieldAgreement
    error_presence: FieldAgreement
    exact_step: Coefficient
    step_within_one: Coefficient
    step_alpha: Coefficient
    unanimous: Coefficient
    others: dict[str, FieldAgreement]


def pilot_agreement(
    final_correct: Ratings, first_error_step: Ratings, others: Mapping[str, Ratings]
) -> PilotAgreement:
    """Compare a pilot's annotators.

    final_correct: (n_items, n_annotators), 0 or 1, NaN where missing. first_error_step: the same shape, 0 for
    no error, NaN where missing. others: further fields by name, codes 0, 1, ..., NaN where missing. Items that
    somebody did not judge are left out of everything. Returns `PilotAgreement`.
    """
    common = ~np.isnan(final_correct).any(axis=1)
    correct, step = final_correct[common], first_error_step[common]
    exact, near = step_agreement(step)
    named = np.where(step > 0, step, np.nan)
    return PilotAgreement(
        annotators=final_correct.shape[1],
        items=int(common.sum()),
        final_correct=field_agreement(correct),
        error_presence=field_agreement(presence_of(step)),
        exact_step=exact,
        step_within_one=near,
        step_alpha=krippendorff_alpha(named, metric="interval"),
        unanimous=unanimity(correct),
        others={name: field_agreement(ratings[common]) for name, ratings in others.items()},
    )


def field_agreement(ratings: Ratings) -> FieldAgreement:
    """Compare annotators on one field. ratings: (n_items, n_annotators), codes, NaN where missing."""
    if ratings.shape[1] < 2:
        nothing = Coefficient(np.nan, 0, ONE_ANNOTATOR)
        return FieldAgreement(nothing, 0, nothing, nothing, modal(ratings))
    said = (~np.isnan(ratings)).sum(axis=1)
    return FieldAgreement(
        percent=percent_agreement(ratings),
        pairs=int((said * (said - 1) // 2).sum()),
        alpha=krippendorff_alpha(ratings),
        ac1=gwet_ac1(ratings),
        modal=modal(ratings),
    )


def unanimity(final_correct: Ratings) -> Coefficient:
    """Return the share of items with one distinct value among those that are not missing.

    final_correct: (n_items, n_annotators), NaN where missing. Items that nobody judged do not count.
    """
    values = [row[~np.isnan(row)] for row in final_correct]
    judged = [row for row in values if len(row)]
    if not judged:
        return Coefficient(np.nan, 0, NO_ITEM)
    return Coefficient(sum(len(np.unique(row)) == 1 for row in judged) / len(judged), len(judged))


def modal(ratings: npt.NDArray[np.floating]) -> Modal:
    """Return the most frequent value among the judgements that are not missing, the smallest code of equals."""
    said = ratings[~np.isnan(ratings)]
    if not len(said):
        return Modal(None, Coefficient(np.nan, 0, NOTHING_SAID), {})
    codes, counts = np.unique(said, return_counts=True)
    best = int(np.argmax(counts))
    return Modal(
        int(codes[best]),
        Coefficient(float(counts[best]) / len(said), len(said)),
        {int(code): int(count) for code, count in zip(codes, counts, strict=True)},
    )


@dataclass(frozen=True)
class Usable:
    """Whether a field reached usable agreement, and why not; without reasons it did."""

    field: str
    reasons: tuple[str, ...]

    @property
    def usable(self) -> bool:
        return not self.reasons


def judge_field(
    name: str,
    percent: Coefficient,
    share: Coefficient | None,
    *,
    least_agreement: float,
    largest_share: float,
) -> Usable:
    """Say whether a field can be used: pairs agree often enough, and not because all say the same.

    `percent`: pairwise agreement; `share`: that of the modal value, None for a field without one.
    """
    reasons = []
    if math.isnan(percent.value):
        reasons.append(f"agreement is undefined: {percent.reason or NOTHING_PAIRABLE}")
    elif percent.value < least_agreement:
        reasons.append(f"pairs agree in {100 * percent.value:.1f}%, less than {100 * least_agreement:g}%")
    if share is not None and not math.isnan(share.value) and share.value >= largest_share:
        reasons.append(
            f"one value takes {100 * share.value:.1f}% of {share.n} judgements, so the field tells almost nothing"
        )
    return Usable(name, tuple(reasons))


def usable_fields(found: PilotAgreement, *, least_agreement: float, largest_share: float) -> Sequence[Usable]:
    """Judge every field of the instrument by the same two rules; the step by its exact and its near match."""

    def judged(name: str, percent: Coefficient, share: Coefficient | None) -> Usable:
        return judge_field(name, percent, share, least_agreement=least_agreement, largest_share=largest_share)

    return [
        judged("final_correct", found.final_correct.percent, found.final_correct.modal.share),
        judged("error_presence", found.error_presence.percent, found.error_presence.modal.share),
        judged("first_error_step exact", found.exact_step, None),
        judged("first_error_step within one", found.step_within_one, None),
        *(judged(name, field.percent, field.modal.share) for name, field in found.others.items()),
    ]
