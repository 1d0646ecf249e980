"""The question-cluster bootstrap in matrix form: one shared resample, totals as products with its counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stats.panel import Bools, Floats, Ints

FEW_CLUSTERS = 10
LEVEL = (2.5, 97.5)
ROUNDING = 1e-12  # changes of rates on n and on m traces differ by nothing, or by 1 / (n m) at least
_CELLS_AT_ONCE = 4_000_000
_COUNTS_KEPT = 400_000_000
_ONE_THREAD = 250_000  # multiplications; OpenBLAS asks for threads above 4 * 65,536
_TOGETHER = (48, 128)  # sums and clusters of one small product


def product(sums: Floats, counts: npt.NDArray[np.generic]) -> Floats:
    """Multiply sums (n_sums, n_clusters) by counts (n_clusters, n_draws): totals (n_draws, n_sums).

    A BLAS hands all but small products to threads, whose waiting for each other costs more than a product of
    middle size, tenfold on a machine that is busy; what is cut into small products stays in one thread, and
    in the cache.
    """
    rows, clusters = sums.shape
    draws = counts.shape[1]
    totals = np.zeros((rows, draws))
    if not totals.size or not clusters:
        return totals.T
    height, depth = min(rows, _TOGETHER[0]), min(clusters, _TOGETHER[1])
    width = _ONE_THREAD // (height * depth)
    for left in range(0, draws, width):
        part = counts[:, left : left + width].astype(np.float64)
        for near in range(0, clusters, depth):
            some = part[near : near + depth]
            for top in range(0, rows, height):
                totals[top : top + height, left : left + width] += (
                    sums[top : top + height, near : near + depth] @ some
                )
    return totals.T


class Resample:
    """B resamples of Q clusters with replacement, drawn by `default_rng(seed)`.

    Drawing is one call of `integers(0, Q, size=(B, Q))`; done in blocks of rows it gives the same stream.
    Every result has 1 + B rows: row 0 is the data as they are (each cluster once), the others the resamples,
    so that a point and its interval come from one formula and contrasts are paired.
    """

    def __init__(self, n_clusters: int, *, resamples: int = 2000, seed: int = 0) -> None:
        if n_clusters < 0 or resamples < 0:
            raise ValueError("clusters and resamples are not negative")
        self.n_clusters = n_clusters
        self.resamples = resamples if n_clusters else 0
        self.seed = seed
        self._block = max(1, min(max(self.resamples, 1), _CELLS_AT_ONCE // max(n_clusters, 1)))
        keep = self.n_clusters * self.resamples <= _COUNTS_KEPT
        self._counts: list[npt.NDArray[np.uint16]] | None = list(self._draw()) if keep else None

    def _draw(self) -> Iterator[npt.NDArray[np.uint16]]:
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.resamples, self._block):
            rows = min(self._block, self.resamples - start)
            drawn = rng.integers(0, self.n_clusters, size=(rows, self.n_clusters))
            drawn += np.arange(rows)[:, None] * self.n_clusters
            counts = np.bincount(drawn.ravel(), minlength=rows * self.n_clusters)
            yield np.ascontiguousarray(counts.reshape(rows, self.n_clusters).T.astype(np.uint16))

    def counts(self) -> Iterator[npt.NDArray[np.uint16]]:
        """Yield how often each cluster was drawn, in blocks (n_clusters, up to some hundred resamples)."""
        return iter(self._counts) if self._counts is not None else self._draw()

    def totals(self, sums: npt.NDArray[np.generic]) -> Floats:
        """Total per-cluster sums (..., n_clusters) over the data and over each resample: (1 + B, ...)."""
        flat = np.asarray(sums, dtype=np.float64).reshape(math.prod(sums.shape[:-1]), self.n_clusters)
        result = np.empty((1 + self.resamples, flat.shape[0]))
        result[0] = flat.sum(axis=1)
        row = 1
        for block in self.counts():
            result[row : row + block.shape[1]] = product(flat, block)
            row += block.shape[1]
        return result.reshape(1 + self.resamples, *sums.shape[:-1])

    def level_totals(self, cluster: Ints, level: Ints, n_levels: int) -> Floats:
        """Count items by level over the data and over each resample: (1 + B, n_levels).

        An item (entry of `cluster` and `level`, both (n_items,)) weighs as often as its cluster is drawn.
        Cost grows with the number of items, not with clusters times levels.
        """
        result = np.zeros((1 + self.resamples, n_levels))
        if not len(cluster):
            return result
        order = np.argsort(level, kind="stable")
        clusters, levels = cluster[order], level[order]
        starts = np.flatnonzero(np.r_[True, levels[1:] != levels[:-1]])
        present = levels[starts]
        result[0, present] = np.diff(np.r_[starts, len(levels)])
        width = max(1, _CELLS_AT_ONCE // len(clusters))
        row = 1
        for block in self.counts():
            for start in range(0, block.shape[1], width):
                part = block[:, start : start + width]
                summed = np.add.reduceat(part[clusters], starts, axis=0, dtype=np.int64)
                result[row : row + part.shape[1], present] = summed.T
                row += part.shape[1]
        return result


@dataclass(frozen=True)
class Interval:
    """Percentile interval from the resamples in which the statistic is defined."""

    low: float
    high: float
    defined: int


def interval(samples: Floats) -> Interval | None:
    """Return the 2.5 and 97.5 percentiles (linear) of samples (B,), NaN left out; None if nothing is left."""
    defined = np.sort(samples)  # NaN goes last
    n = len(defined) - int(np.count_nonzero(np.isnan(defined)))
    if not n:
        return None
    low, high = (_percentile(defined, n, level) for level in LEVEL)
    return Interval(low, high, n)


def _percentile(ordered: Floats, n: int, level: float) -> float:
    """numpy's linear percentile of the first n of ordered values; np.percentile itself costs ten times that."""
    place = level / 100 * (n - 1)
    below = int(place)
    first, second, part = float(ordered[below]), float(ordered[min(below + 1, n - 1)]), place - below
    between = second - first
    return first + between * part if part < 0.5 else second - between * (1 - part)


def ratio(numerator: npt.NDArray[np.generic], denominator: npt.NDArray[np.generic]) -> Floats:
    """Divide elementwise; NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    result: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)
    return result


def signs(values: Floats) -> Ints:
    """Return -1, 0 or 1 for each value; 0 for NaN, and for what differs from 0 by rounding alone."""
    return np.where(np.abs(values) > ROUNDING, np.sign(values), 0).astype(np.int64)


def mean_defined(values: Floats, *, keep: Bools | None = None, axis: int = -1) -> Floats:
    """Average along an axis, NaN left out (and what `keep` says to leave out); NaN where nothing is left."""
    defined = ~np.isnan(values)
    if keep is not None:
        defined = defined & keep
    return ratio(np.where(defined, values, 0.0).sum(axis=axis), defined.sum(axis=axis))
