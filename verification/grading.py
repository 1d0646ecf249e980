"""Grading error: what imperfect graders do to scores, and how much data and checking are worth.

Rates: alpha is the share of invalid work that is accepted, beta the share of valid work that is rejected.
Each function states its domain and raises OutsideDomain beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from core.errors import UserError


class OutsideDomain(UserError):
    """A formula asked for values where it says nothing; the text names the quantity and its domain."""


def _number(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise OutsideDomain(f"{name} must be a finite number, not {value}")
    return value


def _share(name: str, value: float) -> float:
    if not 0 <= _number(name, value) <= 1:
        raise OutsideDomain(f"{name} must lie between 0 and 1, not {value}")
    return value


def _informative(alpha: float, beta: float) -> float:
    """Return 1 - alpha - beta; OutsideDomain unless it is positive."""
    _share("alpha", alpha)
    _share("beta", beta)
    if alpha + beta >= 1:
        raise OutsideDomain(
            f"alpha + beta must be less than 1, not {alpha + beta:g}: the grader tells nothing apart"
        )
    return 1 - alpha - beta


def observed_score(theta: float, alpha: float, beta: float) -> float:
    """Return the observed share of accepted work (1 - beta) theta + alpha (1 - theta); all in [0, 1]."""
    _share("theta", theta)
    return (1 - _share("beta", beta)) * theta + _share("alpha", alpha) * (1 - theta)


def is_reversed(first: tuple[float, float, float], second: tuple[float, float, float]) -> bool:
    """Tell whether two systems (theta, alpha, beta) are ranked by the grader against their true validity."""
    true = first[0] - second[0]
    seen = observed_score(*first) - observed_score(*second)
    return true * seen < 0


def gradient_shift(p: float, alpha: float, beta: float) -> float:
    """Return p~ - p = alpha (1 - p) - beta p: the direction in which noisy rewards push; all in [0, 1]."""
    _share("p", p)
    return _share("alpha", alpha) * (1 - p) - _share("beta", beta) * p


def corrected_score(observed: float, alpha: float, beta: float) -> float:
    """Return (V - alpha) / (1 - alpha - beta), unbiased for known constants; alpha + beta < 1.

    `observed` may be one verdict (0 or 1) or a mean; the result may leave [0, 1] by chance and is
    not clipped.
    """
    _share("observed", observed)
    return (observed - alpha) / _informative(alpha, beta)


def variance_factor(alpha: float, beta: float) -> float:
    """Return the factor 1 / (1 - alpha - beta)^2 by which the correction multiplies the variance."""
    return 1 / _informative(alpha, beta) ** 2


def effective_sample_size(families: int, per_family: int, rho: float) -> float:
    """Return F K / (1 + (K - 1) rho): F, K at least 1, rho in [0, 1] the correlation within a family."""
    if families < 1 or per_family < 1:
        raise OutsideDomain(
            f"families and items per family must be at least 1, not {families} and {per_family}"
        )
    _share("rho", rho)
    return families * per_family / (1 + (per_family - 1) * rho)


def break_even(fixed: float, unresolved: float, expert: float, check: float) -> float:
    """Return N* = C0 / ((1 - u) c_e - c_v), the number of items from which certificate checking pays.

    fixed: cost C0 >= 0 of setting it up; unresolved: share u in [0, 1] that still goes to an expert; expert
    and check: costs c_e, c_v >= 0 per item. OutsideDomain when checking never pays.
    """
    _share("unresolved", unresolved)
    for name, value in (("fixed", fixed), ("expert", expert), ("check", check)):
        if _number(name, value) < 0:
            raise OutsideDomain(f"{name} must not be negative, but is {value}")
    saved = (1 - unresolved) * expert - check
    if saved <= 0:
        raise OutsideDomain(f"checking never pays: it saves (1 - u) c_e - c_v = {saved:g} per item")
    return fixed / saved


def check_split(train: Iterable[str], test: Iterable[str]) -> None:
    """Raise OutsideDomain unless no family is on both sides of a split and neither side is empty."""
    left, right = set(train), set(test)
    if not left or not right:
        raise OutsideDomain("one side of the split is empty")
    both = sorted(left & right)
    if both:
        raise OutsideDomain(f"{len(both)} families are on both sides: {', '.join(both[:10])}")
