"""Localisation: is the step that a monitor names the first false one?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, mean_defined, ratio
from stats.panel import Bools, Floats, Ints, Reference, Verdicts

PLACES = ("early", "exact", "late", "missed")


@dataclass(frozen=True)
class Localisation:
    """Localisation under one condition, over the traces with an error that a monitor covers.

    A covered trace without a valid verdict is a miss, in points and in intervals. Arrays are (1 + B,
    n_monitors), row 0 the point; the means and pooled shares are (1 + B,). NaN = undefined.
    n_error_traces, no_step, failed (covered, but not valid) and the four counts are (n_monitors,).
    """

    monitors: tuple[str, ...]
    n_error_traces: Ints
    counts: dict[str, Ints]
    no_step: Ints
    failed: Ints
    L0: Floats
    L1: Floats
    L0_in_range: Floats
    L0_chance: Floats
    L1_chance: Floats
    L0_valid_only: Floats
    pooled: dict[str, Floats]

    def skill(self, tolerance: int) -> Floats:
        """(L - chance) / (1 - chance) of each monitor: (1 + B, n_monitors)."""
        found, chance = (self.L0, self.L0_chance) if tolerance == 0 else (self.L1, self.L1_chance)
        return ratio(found - chance, 1 - chance)

    def mean_skill(self, tolerance: int) -> Floats:
        """Skill from the two panel means, not the mean of the skills: (1 + B,)."""
        found, chance = (self.L0, self.L0_chance) if tolerance == 0 else (self.L1, self.L1_chance)
        return ratio(mean_defined(found) - mean_defined(chance), 1 - mean_defined(chance))


def hits(reference: Reference, verdicts: Verdicts, tolerance: int) -> Bools:
    """Where a flag names a step within `tolerance` of the first false one. (n_monitors, n_traces)"""
    near: Bools = np.abs(verdicts.step - reference.step) <= tolerance
    return (verdicts.step > 0) & reference.has_error & near


def chance_weights(reference: Reference, tolerance: int) -> Floats:
    """The chance of a uniformly placed step to hit each trace's error: (n_traces,).

    The window is clipped to 1..n_steps. 0 on traces without an error; NaN where n_steps is unknown.
    """
    step, n = reference.step, reference.n_steps
    width = np.minimum(n, step + tolerance) - np.maximum(1, step - tolerance) + 1
    return np.where(reference.has_error, ratio(width, n), 0.0)


def localise(reference: Reference, verdicts: Verdicts, resample: Resample) -> Localisation:
    """Compute L0 (exact), L1 (within one step), chance, and the split early / exact / late / missed.

    `L0_valid_only` leaves failed verdicts out of the denominator, as the published intervals do.
    `L0_in_range` accepts any step of the standard's defensible range. Returns `Localisation`: shares
    (1 + B, n_monitors), row 0 the point.
    """
    error = reference.has_error
    named = (verdicts.step > 0) & error
    covered = verdicts.covered & error
    exact = hits(reference, verdicts, 0)
    early = named & (verdicts.step < reference.step)
    late = named & (verdicts.step > reference.step)
    in_range = named & (verdicts.step >= reference.step_min) & (verdicts.step <= reference.step_max)
    chance = [np.where(named, chance_weights(reference, t), 0.0) for t in (0, 1)]
    counts = np.stack(
        [
            covered,
            verdicts.valid & error,
            early,
            exact,
            late,
            covered & ~named,
            hits(reference, verdicts, 1),
            in_range,
            *chance,
        ]
    )
    totals = np.moveaxis(resample.totals(reference.by_question(counts)), 1, 0)
    n, n_valid, n_early, n_exact, n_late, n_missed, n_near, n_in_range, chance0, chance1 = totals
    places = dict(zip(PLACES, (n_early, n_exact, n_late, n_missed), strict=True))
    return Localisation(
        monitors=verdicts.monitors,
        n_error_traces=n[0].astype(np.int64),
        counts={place: total[0].astype(np.int64) for place, total in places.items()},
        no_step=(verdicts.flag & error & (verdicts.step == 0)).sum(axis=1),
        failed=(covered & ~verdicts.valid).sum(axis=1),
        L0=ratio(n_exact, n),
        L1=ratio(n_near, n),
        L0_in_range=ratio(n_in_range, n),
        L0_chance=ratio(chance0, n),
        L1_chance=ratio(chance1, n),
        L0_valid_only=ratio(n_exact, n_valid),
        pooled={place: ratio(total.sum(axis=1), n.sum(axis=1)) for place, total in places.items()},
    )
