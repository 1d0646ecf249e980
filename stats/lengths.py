"""Lengths of traces by cell, and the rank test that compares them."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class RankTest:
    """Mann-Whitney: U of the first sample, its normal score, two-sided p. NaN with an empty sample."""

    u: float
    z: float
    p: float


def average_ranks(values: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """Ranks from 1 of values (n,), ties sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (last - (counts - 1) / 2)[inverse]
    return ranks


def mann_whitney(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> RankTest:
    """Compare two samples (n,) and (m,) by the normal approximation, without tie or continuity correction.

    As published. Returns a `RankTest`: U of the first sample, z, two-sided p; NaN with an empty sample.
    """
    n, m = len(first), len(second)
    if not n or not m:
        return RankTest(np.nan, np.nan, np.nan)
    ranks = average_ranks(np.concatenate([first, second]))
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    z = (u - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)
    return RankTest(u, z, erfc(abs(z) / sqrt(2)))
