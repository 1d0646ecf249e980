"""Two monitors beside each other on the traces that both judged, and a panel without one of its monitors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.localisation import hits
from stats.panel import Floats, Ints, Reference, Verdicts

_CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class Pairwise:
    """First monitor minus second, for each pair in the order of `pairs`. Changes are (1 + B, n_pairs).

    n: traces valid for both (n_pairs,). Balanced accuracy is over those; L0 over the traces with an error
    that both cover, a failed verdict being a miss. NaN = undefined.
    """

    pairs: tuple[tuple[str, str], ...]
    n: Ints
    balanced_accuracy: Floats
    L0: Floats


def pairwise(reference: Reference, verdicts: Verdicts, resample: Resample) -> Pairwise:
    """Compare every two monitors of one condition, paired within traces and within resamples.

    Returns `Pairwise`: first minus second (1 + B, n_pairs).
    """
    places = list(combinations(range(len(verdicts.monitors)), 2))
    accuracy = np.empty((1 + resample.resamples, len(places)))
    exact = np.empty_like(accuracy)
    n = np.empty(len(places), dtype=np.int64)
    together = max(1, _CELLS_AT_ONCE // max(10 * reference.n_traces, 1))
    for start in range(0, len(places), together):
        some = slice(start, start + together)
        n[some], accuracy[:, some], exact[:, some] = _differences(reference, verdicts, places[some], resample)
    names = tuple((verdicts.monitors[a], verdicts.monitors[b]) for a, b in places)
    return Pairwise(pairs=names, n=n, balanced_accuracy=accuracy, L0=exact)


def _differences(
    reference: Reference, verdicts: Verdicts, places: list[tuple[int, int]], resample: Resample
) -> tuple[Ints, Floats, Floats]:
    first, second = (np.array(column) for column in zip(*places, strict=True))
    error = reference.has_error
    valid = verdicts.valid[first] & verdicts.valid[second]
    covered = verdicts.covered[first] & verdicts.covered[second] & error
    found = hits(reference, verdicts, 0)
    counts = [valid & error, valid & ~error, covered]
    for rows in (first, second):
        flag = verdicts.flag[rows] & valid
        counts += [flag & error, valid & ~flag & ~error, found[rows] & covered]
    totals = resample.totals(reference.by_question(np.stack(counts)))
    errors, others, places_asked, *scores = np.moveaxis(totals, 1, 0)
    accuracy = [(ratio(scores[k], errors) + ratio(scores[k + 1], others)) / 2 for k in (0, 3)]
    exact = [ratio(scores[k], places_asked) for k in (2, 5)]
    return valid.sum(axis=1), accuracy[0] - accuracy[1], exact[0] - exact[1]


def without_each(samples: Floats) -> Floats:
    """Panel means that leave one monitor out: (1 + B, n_monitors) of each column's absence.

    Undefined values are left out as in the mean over all; NaN where nothing is left.
    """
    defined = ~np.isnan(samples)
    values = np.where(defined, samples, 0.0)
    return ratio(values.sum(axis=1, keepdims=True) - values, defined.sum(axis=1, keepdims=True) - defined)
