"""Agreement of two or more sources of labels: percent, Cohen's kappa, Krippendorff's alpha, Gwet's AC1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stats.bootstrap import Resample, ratio
from stats.panel import Floats, Reference

NOTHING_PAIRABLE = "no trace was judged by both"
ONE_CLASS = "every judgement is the same, so chance-corrected agreement is undefined"
TOO_FEW = "fewer than 2 traces were judged by both"


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with the number of units it rests on; NaN with the reason where undefined."""

    value: float
    n: int
    reason: str = ""


def _two_by_two(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> Floats:
    """Indicators (4, n) of yes-yes, yes-no, no-yes, no-no."""
    a, b = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    return np.stack([a & b, a & ~b, ~a & b, ~a & ~b]).astype(np.float64)


def binary_percent(table: Floats) -> Floats:
    """Percent agreement from tables (..., 4): shares of yes-yes, yes-no, no-yes, no-no counts."""
    return ratio(table[..., 0] + table[..., 3], table.sum(axis=-1))


def binary_kappa(table: Floats) -> Floats:
    """Cohen's kappa from tables (..., 4); NaN where both sources know one class only."""
    n = table.sum(axis=-1)
    first = ratio(table[..., 0] + table[..., 1], n)
    second = ratio(table[..., 0] + table[..., 2], n)
    expected = first * second + (1 - first) * (1 - second)
    mixed = (first + second > 0) & (first + second < 2)
    return np.where(mixed, ratio(binary_percent(table) - expected, 1 - expected), np.nan)


def binary_alpha(table: Floats) -> Floats:
    """Krippendorff's nominal alpha from tables (..., 4) of two sources; NaN with one class or one unit."""
    values = 2 * table.sum(axis=-1)
    yes = 2 * table[..., 0] + table[..., 1] + table[..., 2]
    expected = ratio(2 * yes * (values - yes), values * (values - 1))
    observed = ratio(table[..., 1] + table[..., 2], table.sum(axis=-1))
    return np.where(table.sum(axis=-1) >= 2, 1 - ratio(observed, expected), np.nan)


def binary_ac1(table: Floats) -> Floats:
    """Gwet's AC1 from tables (..., 4); NaN where there is one class only."""
    n = table.sum(axis=-1)
    share = ratio(2 * table[..., 0] + table[..., 1] + table[..., 2], 2 * n)
    expected = 2 * share * (1 - share)
    mixed = (share > 0) & (share < 1)
    return np.where(mixed, ratio(binary_percent(table) - expected, 1 - expected), np.nan)


def _why_undefined(table: Floats) -> str:
    n = table.sum()
    if n == 0:
        return NOTHING_PAIRABLE
    return TOO_FEW if n < 2 else ONE_CLASS


@dataclass(frozen=True)
class BinaryAgreement:
    """Agreement on a yes or no. Arrays are (1 + B,), row 0 the point; `reason` says why a point is NaN."""

    n: int
    percent: Floats
    kappa: Floats
    alpha: Floats
    ac1: Floats
    reason: str


def _binary(
    reference: Reference,
    first: npt.NDArray[np.generic],
    second: npt.NDArray[np.generic],
    within: npt.NDArray[np.bool_],
    resample: Resample,
) -> BinaryAgreement:
    indicators = _two_by_two(first, second) * within
    table = resample.totals(reference.by_question(indicators))
    enough = table[0].sum() >= 2
    hidden = np.full(len(table), np.nan)
    return BinaryAgreement(
        n=int(table[0].sum()),
        percent=binary_percent(table),
        kappa=binary_kappa(table) if enough else hidden,
        alpha=binary_alpha(table) if enough else hidden,
        ac1=binary_ac1(table) if enough else hidden,
        reason=_why_undefined(table[0]),
    )


@dataclass(frozen=True)
class ArmAgreement:
    """How far the two arms agree; nothing in it changes when the arms are exchanged.

    Presence of an error and the step named are two questions. The step numbers are over the traces on which
    both arms named one. Arrays are (1 + B,).
    """

    joint: int
    one_arm_only: int
    both_named_step: int
    final_correct: BinaryAgreement
    error_presence: BinaryAgreement
    exact_step: Floats
    step_within_one: Floats
    chance_step: Floats
    step_distance: Floats
    step_skill: Floats
    step_alpha: Coefficient


def arm_agreement(reference: Reference, resample: Resample) -> ArmAgreement:
    """Compare the human and the debate arm on the ready traces that both judged.

    Chance of equal steps is the mean of 1 / n_steps over the traces on which both named a step. Returns
    `ArmAgreement`: shares and coefficients (1 + B,), row 0 the point.
    """
    human, debate = reference.human, reference.debate
    joint = human.spoke & debate.spoke
    both = joint & (human.step > 0) & (debate.step > 0)
    distance = np.abs(human.step - debate.step)
    uniform = ratio(np.ones(reference.n_traces), reference.n_steps)
    sums = np.stack(
        [
            both.astype(np.float64),
            (both & (distance == 0)).astype(np.float64),
            (both & (distance <= 1)).astype(np.float64),
            np.where(both, distance, 0.0),
            np.where(both, uniform, 0.0),
        ]
    )
    n_both, equal, near, apart, chance = resample.totals(reference.by_question(sums)).T
    exact, by_chance = ratio(equal, n_both), ratio(chance, n_both)
    steps = np.stack([human.step[both], debate.step[both]], axis=1).astype(np.float64)
    return ArmAgreement(
        joint=int(joint.sum()),
        one_arm_only=int((human.spoke ^ debate.spoke).sum()),
        both_named_step=int(both.sum()),
        final_correct=_binary(reference, human.final_correct > 0, debate.final_correct > 0, joint, resample),
        error_presence=_binary(reference, human.step > 0, debate.step > 0, joint, resample),
        exact_step=exact,
        step_within_one=ratio(near, n_both),
        chance_step=by_chance,
        step_distance=ratio(apart, n_both),
        step_skill=ratio(exact - by_chance, 1 - by_chance),
        step_alpha=krippendorff_alpha(steps, metric="interval"),
    )


Ratings = npt.NDArray[np.floating]


def percent_agreement(ratings: Ratings) -> Coefficient:
    """Share of equal pairs of ratings within a unit, pooled over units.

    ratings: (n_units, n_raters), NaN where a rater is silent. A unit counts if two rated it. Returns a
    `Coefficient`, undefined with the reason where none counts.
    """
    n, equal, pairs = 0, 0.0, 0.0
    for unit in ratings:
        values = unit[~np.isnan(unit)]
        if len(values) < 2:
            continue
        _, counts = np.unique(values, return_counts=True)
        n += 1
        equal += float((counts * (counts - 1)).sum())
        pairs += len(values) * (len(values) - 1)
    return Coefficient(equal / pairs, n) if n else Coefficient(np.nan, 0, NOTHING_PAIRABLE)


def cohen_kappa(first: Ratings, second: Ratings) -> Coefficient:
    """Cohen's kappa of two raters, arrays (n_units,), NaN where silent.

    Returns a `Coefficient`, undefined with the reason for fewer than 2 units rated by both, or one class.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    a, b = first[both], second[both]
    n = len(a)
    if n < 2:
        return Coefficient(np.nan, n, TOO_FEW if n else NOTHING_PAIRABLE)
    classes = np.union1d(a, b)
    if len(classes) < 2:
        return Coefficient(np.nan, n, ONE_CLASS)
    expected = sum(float((a == c).mean() * (b == c).mean()) for c in classes)
    return Coefficient((float((a == b).mean()) - expected) / (1 - expected), n)


def gwet_ac1(ratings: Ratings) -> Coefficient:
    """Gwet's AC1 for any number of raters. ratings: (n_units, n_raters), NaN where silent.

    Returns a `Coefficient`, undefined with the reason for fewer than 2 units rated twice, or one class.
    """
    pairable = [unit[~np.isnan(unit)] for unit in ratings]
    pairable = [unit for unit in pairable if len(unit) >= 2]
    n = len(pairable)
    if n < 2:
        return Coefficient(np.nan, n, TOO_FEW if n else NOTHING_PAIRABLE)
    classes = np.unique(np.concatenate(pairable))
    if len(classes) < 2:
        return Coefficient(np.nan, n, ONE_CLASS)
    shares = np.array([[float((unit == c).mean()) for c in classes] for unit in pairable])
    sizes = np.array([len(unit) for unit in pairable])[:, None]
    agreed = (shares * (shares * sizes - 1) / (sizes - 1)).sum(axis=1).mean()
    overall = shares.mean(axis=0)
    expected = float((overall * (1 - overall)).sum()) / (len(classes) - 1)
    return Coefficient((float(agreed) - expected) / (1 - expected), n)


def _nominal(values: Floats) -> float:
    _, counts = np.unique(values, return_counts=True)
    return float(len(values) ** 2 - (counts**2).sum())


def _interval(values: Floats) -> float:
    centred = values - values.mean()
    return float(2 * len(values) * (centred**2).sum())


# Summed disagreement over all ordered pairs of values, without forming the pairs.
METRICS: dict[str, Callable[[Floats], float]] = {"nominal": _nominal, "interval": _interval}


def krippendorff_alpha(ratings: Ratings, *, metric: str = "nominal") -> Coefficient:
    """Krippendorff's alpha for any number of raters and holes.

    ratings: (n_units, n_raters), NaN where silent. metric: `nominal` (equal or not) or `interval` (squared
    distance). Returns a `Coefficient`, undefined with the reason for fewer than 2 pairable units or one value.
    """
    disagreement = METRICS[metric]
    pairable = [unit[~np.isnan(unit)] for unit in np.asarray(ratings, dtype=np.float64)]
    pairable = [unit for unit in pairable if len(unit) >= 2]
    n = len(pairable)
    if n < 2:
        return Coefficient(np.nan, n, TOO_FEW if n else NOTHING_PAIRABLE)
    pooled = np.concatenate(pairable)
    if len(np.unique(pooled)) < 2:
        return Coefficient(np.nan, n, ONE_CLASS)
    expected = disagreement(pooled) / (len(pooled) * (len(pooled) - 1))
    observed = sum(disagreement(unit) / (len(unit) - 1) for unit in pairable) / len(pooled)
    return Coefficient(1 - observed / expected, n)
