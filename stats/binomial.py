"""One share against one half: the exact binomial test and the Clopper-Pearson interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_HALVINGS = 100


@dataclass(frozen=True)
class Share:
    """A share of `n` with its exact 95% interval; `p_half` is the two-sided p against one half.

    NaN where n is 0.
    """

    hits: int
    n: int
    share: float
    low: float
    high: float
    p_half: float


def share_of(hits: int, n: int, *, level: float = 0.95) -> Share:
    """Return the share hits / n with its Clopper-Pearson interval as a `Share`.

    Raises ValueError unless 0 <= hits <= n.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no share")
    if n == 0:
        return Share(0, 0, math.nan, math.nan, math.nan, math.nan)
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _root(lambda p: 1 - cumulative(hits - 1, n, p) - tail)
    high = 1.0 if hits == n else _root(lambda p: tail - cumulative(hits, n, p))
    extreme = min(hits, n - hits)
    p_half = 1.0 if 2 * extreme >= n else min(1.0, 2 * cumulative(extreme, n, 0.5))
    return Share(hits, n, hits / n, low, high, p_half)


def cumulative(k: int, n: int, p: float) -> float:
    """Return P(X <= k) of a binomial with n trials of probability p."""
    if k < 0:
        return 0.0
    if k >= n or p <= 0:
        return 1.0
    if p >= 1:
        return 0.0
    log_p, log_q = math.log(p), math.log1p(-p)
    return math.fsum(
        math.exp(
            math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q
        )
        for i in range(k + 1)
    )


def _root(rising: Callable[[float], float]) -> float:
    """Return where a function that rises from below to above zero on (0, 1) crosses it."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
