"""Agreement between annotators, pair by pair: on the final answer, on the presence of an error, on its step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stats.agreement import NOTHING_PAIRABLE, Coefficient, Ratings, cohen_kappa, gwet_ac1, percent_agreement

NO_STEP_BY_BOTH = "on no trace did both name a step"


@dataclass(frozen=True)
class Yes:
    """Agreement on a yes or no, three ways over the same n traces."""

    percent: Coefficient
    kappa: Coefficient
    ac1: Coefficient


@dataclass(frozen=True)
class Pair:
    """How two annotators agree; `first` and `second` are columns. Steps: over traces on which both named one."""

    first: int
    second: int
    shared: int
    final_correct: Yes
    error_presence: Yes
    exact_step: Coefficient
    step_within_one: Coefficient


def annotator_pairs(final_correct: Ratings, first_error_step: Ratings) -> list[Pair]:
    """Compare every two annotators who share a trace.

    final_correct: (n_traces, n_annotators), 0 or 1, NaN where the annotator is silent. first_error_step: the
    same shape, the step, 0 for no error, NaN where silent. Returns a `Pair` for every two columns with a trace
    in common.
    """
    pairs = []
    for first, second in combinations(range(final_correct.shape[1]), 2):
        both = ~np.isnan(final_correct[:, first]) & ~np.isnan(final_correct[:, second])
        if not both.any():
            continue
        correct, step = final_correct[both][:, [first, second]], first_error_step[both][:, [first, second]]
        exact, near = step_agreement(step)
        pairs.append(
            Pair(first, second, int(both.sum()), _yes(correct), _yes(presence_of(step)), exact, near)
        )
    return pairs


def presence_of(step: Ratings) -> Ratings:
    """Return 1 where a step is named, 0 where none is, NaN where the annotator is silent."""
    return np.where(np.isnan(step), np.nan, (step > 0).astype(np.float64))


def step_agreement(step: Ratings) -> tuple[Coefficient, Coefficient]:
    """Return the shares of equal and of nearly equal steps (apart by at most one), pooled over pairs.

    step: (n_traces, n_annotators), 0 for no error, NaN where silent. A pair counts where both named a step;
    n is the number of such pairs.
    """
    n = equal = near = 0
    for first, second in combinations(range(step.shape[1]), 2):
        a, b = step[:, first], step[:, second]
        both = (a > 0) & (b > 0)  # false where either is NaN
        apart = np.abs(a[both] - b[both])
        n += int(both.sum())
        equal += int((apart == 0).sum())
        near += int((apart <= 1).sum())
    if n == 0:
        return Coefficient(np.nan, 0, NO_STEP_BY_BOTH), Coefficient(np.nan, 0, NO_STEP_BY_BOTH)
    return Coefficient(equal / n, n), Coefficient(near / n, n)


def _yes(ratings: Ratings) -> Yes:
    percent = percent_agreement(ratings)
    if percent.n == 0:
        nothing = Coefficient(np.nan, 0, NOTHING_PAIRABLE)
        return Yes(nothing, nothing, nothing)
    return Yes(percent, cohen_kappa(ratings[:, 0], ratings[:, 1]), gwet_ac1(ratings))
