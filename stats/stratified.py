"""The stratified cluster bootstrap: clusters are drawn anew within each stratum, strata keep their sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stats.panel import Floats, Ints

_CELLS_AT_ONCE = 4_000_000


class EmptyStratum(ValueError):
    """A stratum without clusters: nothing can be drawn from it."""


class StratifiedResample:
    """B resamples of clusters within S strata, drawn by one `default_rng(seed)`, stratum after stratum.

    `stratum` (n_clusters,) holds each cluster's stratum, 0..S-1; `names` (S,) is used in errors. Row 0 of every
    result is the data as they are, rows 1..B the resamples, so that contrasts of totals are paired.
    """

    def __init__(
        self, stratum: Ints, names: Sequence[str], *, resamples: int = 10_000, seed: int = 0
    ) -> None:
        self.members = [np.flatnonzero(np.asarray(stratum) == place) for place in range(len(names))]
        for name, members in zip(names, self.members, strict=True):
            if not len(members):
                raise EmptyStratum(f'the stratum "{name}" has no clusters')
        self.n_clusters = len(stratum)
        self.resamples = resamples
        self.seed = seed

    def totals(self, sums: npt.NDArray[np.generic]) -> Floats:
        """Total per-cluster sums (K, n_clusters) by stratum: (1 + B, K, S)."""
        table = np.asarray(sums, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.n_clusters:
            raise ValueError(f"sums must have the shape (K, {self.n_clusters}), not {table.shape}")
        result = np.empty((1 + self.resamples, table.shape[0], len(self.members)))
        rng = np.random.default_rng(self.seed)
        for place, members in enumerate(self.members):
            part = table[:, members]
            result[0, :, place] = part.sum(axis=1)
            block = max(1, _CELLS_AT_ONCE // len(members))
            for start in range(0, self.resamples, block):
                rows = min(block, self.resamples - start)
                drawn = rng.integers(0, len(members), size=(rows, len(members)))
                drawn += np.arange(rows)[:, None] * len(members)
                counts = np.bincount(drawn.ravel(), minlength=rows * len(members))
                weights = counts.reshape(rows, len(members)).astype(np.float64)
                result[1 + start : 1 + start + rows, :, place] = weights @ part.T
        return result


def adjusted(accuracy: npt.NDArray[np.generic] | float, baseline: npt.NDArray[np.generic] | float) -> Floats:
    """Return (accuracy - baseline) / (1 - baseline): 0 at the baseline, 1 if all is right; NaN at baseline 1."""
    top = np.asarray(accuracy, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    bottom = np.broadcast_to(1 - np.asarray(baseline, dtype=np.float64), top.shape)
    result: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)
    return result
