"""Calibration: does an error happen as often as a monitor's confidence in one says?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.panel import Bools, Floats, Ints, Reference, Verdicts

BINS = 10


@dataclass(frozen=True)
class Calibration:
    """Calibration under one condition, over the valid verdicts that give a confidence.

    n: (n_monitors,). brier and brier_of_base_rate (what always saying the share of errors would score) are
    (1 + B, n_monitors). Of each tenth of the scale: in_bin, mean_confidence (0 to 1) and error_share are
    (n_monitors, 10), NaN where the bin is empty. gap: mean distance of the two, weighted by n (n_monitors,).
    """

    monitors: tuple[str, ...]
    n: Ints
    brier: Floats
    brier_of_base_rate: Floats
    in_bin: Ints
    mean_confidence: Floats
    error_share: Floats
    gap: Floats


def given(verdicts: Verdicts) -> Bools:
    """Which verdicts are valid and give a confidence: (n_monitors, n_traces)."""
    result: Bools = verdicts.valid & ~np.isnan(verdicts.confidence)
    return result


def calibrate(reference: Reference, verdicts: Verdicts, resample: Resample) -> Calibration:
    """Hold the confidences (0 to 100, probability of an error) against the standard.

    Returns `Calibration`: Brier scores (1 + B, n_monitors), and counts and shares by tenth (n_monitors, 10).
    """
    asked = given(verdicts)
    chance = np.where(asked, verdicts.confidence, 0.0) / 100
    error = reference.has_error
    sums = np.stack([asked.astype(np.float64), np.where(asked, (chance - error) ** 2, 0.0), asked & error])
    n, squares, errors = np.moveaxis(resample.totals(reference.by_question(sums)), 1, 0)
    base = ratio(errors, n)
    level = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    shape = (len(verdicts.monitors), BINS)
    in_bin, total, wrong = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for m in range(shape[0]):
        here = asked[m]
        for out, weights in ((in_bin, None), (total, chance[m][here]), (wrong, error[here])):
            out[m] = np.bincount(level[m][here], weights=weights, minlength=BINS)
    confidence, share = ratio(total, in_bin), ratio(wrong, in_bin)
    distance = np.where(in_bin > 0, np.abs(np.nan_to_num(confidence) - np.nan_to_num(share)), 0.0)
    return Calibration(
        monitors=verdicts.monitors,
        n=n[0].astype(np.int64),
        brier=ratio(squares, n),
        brier_of_base_rate=base * (1 - base),
        in_bin=in_bin.astype(np.int64),
        mean_confidence=confidence,
        error_share=share,
        gap=ratio((distance * in_bin).sum(axis=1), in_bin.sum(axis=1)),
    )


def median_when_passing(verdicts: Verdicts) -> Floats:
    """Median confidence of the verdicts that pass: (n_monitors,), NaN without one. Above 50 it is suspicious."""
    passing = given(verdicts) & ~verdicts.flag
    medians = [
        float(np.median(row[here])) if here.any() else np.nan
        for row, here in zip(verdicts.confidence, passing, strict=True)
    ]
    return np.array(medians, dtype=np.float64)
