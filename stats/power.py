"""Power: how many questions like these would resolve a difference of a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stats.bootstrap import product
from stats.panel import Floats

NORMAL_975 = 1.959963984540054
WANTED = 0.8
LARGEST = 20_000
_CELLS_AT_ONCE = 4_000_000

Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Power:
    """sizes: numbers of questions tried (n_sizes,). spread: standard deviation of the statistic over the
    simulated studies of each size (n_sizes, n_statistics), NaN where it was undefined in more than a tenth of
    them. power: chance that the 95% interval of such a study leaves 0 out, if the true difference is each of
    `differences` (n_sizes, n_differences, n_statistics).
    """

    sizes: npt.NDArray[np.int64]
    differences: tuple[float, ...]
    spread: Floats
    power: Floats

    def needed(self, difference: int, statistic: int) -> int | None:
        """The smallest size tried from which on the power stays at least 80%; None if the largest falls short.

        `difference` and `statistic` are positions.
        """
        enough = self.power[:, difference, statistic] >= WANTED
        short = np.flatnonzero(~enough)
        first = 0 if not len(short) else int(short[-1]) + 1
        return int(self.sizes[first]) if first < len(self.sizes) else None


def sizes_about(n_clusters: int) -> npt.NDArray[np.int64]:
    """Sizes to try, from 10 to 20,000, a quarter more each (half for many clusters), the observed one too."""
    grid = 10 * (1.25 if n_clusters < 1000 else 1.5) ** np.arange(35)
    whole = np.unique(np.r_[np.round(grid[grid <= LARGEST]).astype(np.int64), n_clusters])
    result: npt.NDArray[np.int64] = whole[whole > 0]
    return result


def simulate_power(
    sums: Floats,
    statistic: Statistic,
    *,
    differences: Sequence[float],
    sizes: npt.NDArray[np.int64],
    studies: int = 300,
    seed: int = 0,
) -> Power:
    """Draw studies of each size from the observed clusters and see what their intervals would resolve.

    sums: per-cluster sums (n_sums, n_clusters). `statistic` turns totals (n_studies, n_sums) into values
    (n_studies, n_statistics). The simulated values are centred on the observed one and moved by each
    difference; the interval is the estimate plus and minus 1.96 spreads, so that monitors and their errors
    are taken as they are and only the questions are new. Returns `Power`.
    """
    rng = np.random.default_rng(seed)
    observed = statistic(sums.sum(axis=1)[None, :])[0]
    spread = np.full((len(sizes), len(observed)), np.nan)
    power = np.full((len(sizes), len(differences), len(observed)), np.nan)
    for place, size in enumerate(sizes.tolist()):
        values = statistic(_draw(sums, size, studies, rng))
        for s in range(len(observed)):
            defined = values[:, s][~np.isnan(values[:, s])]
            if len(defined) < 0.9 * studies:
                continue
            noise = defined - observed[s]
            spread[place, s] = noise.std(ddof=1)
            for d, difference in enumerate(differences):
                power[place, d, s] = (np.abs(noise + difference) > NORMAL_975 * spread[place, s]).mean()
    return Power(sizes=sizes, differences=tuple(differences), spread=spread, power=np.nan_to_num(power))


def _draw(sums: Floats, size: int, studies: int, rng: np.random.Generator) -> Floats:
    """Total the sums over `size` clusters drawn with replacement: (studies, n_sums)."""
    n_clusters = sums.shape[1]
    out = np.empty((studies, sums.shape[0]))
    at_once = max(1, _CELLS_AT_ONCE // max(size, n_clusters))
    for start in range(0, studies, at_once):
        rows = min(at_once, studies - start)
        if size > 4 * n_clusters:
            counts = rng.multinomial(size, np.full(n_clusters, 1 / n_clusters), size=rows)
        else:
            drawn = rng.integers(0, n_clusters, size=(rows, size)) + np.arange(rows)[:, None] * n_clusters
            counts = np.bincount(drawn.ravel(), minlength=rows * n_clusters).reshape(rows, n_clusters)
        out[start : start + rows] = product(sums, counts.T)
    return out
