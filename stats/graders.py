"""Monitors as graders: what they let pass and what they refuse, and how much data a clustered study is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.panel import Floats, Ints, Reference, Verdicts


@dataclass(frozen=True)
class GraderRates:
    """Error rates of monitors that accept what they do not flag. Each (1 + B, n_monitors), row 0 the point.

    alpha: share of traces with an error that pass, in all and by cell; beta: share of clean traces flagged;
    accepted: share that passes; theta: share that is clean; all among the monitor's valid verdicts.
    """

    monitors: tuple[str, ...]
    n: Ints
    alpha: Floats
    alpha_wrong: Floats
    alpha_critical: Floats
    beta: Floats
    accepted: Floats
    theta: Floats


def grader_rates(reference: Reference, verdicts: Verdicts, resample: Resample) -> GraderRates:
    """Compute the rates of each monitor of one condition on its own valid verdicts; NaN where undefined.

    Returns `GraderRates`: shares (1 + B, n_monitors), row 0 the point.
    """
    valid, passed = verdicts.valid, verdicts.valid & ~verdicts.flag
    masks = [reference.has_error, reference.wrong, reference.critical, reference.clean]
    counts = np.stack([valid, passed, *(part & mask for mask in masks for part in (valid, passed))])
    totals = np.moveaxis(resample.totals(reference.by_question(counts)), 1, 0)
    n, accepted, errors, let_pass, wrong, wrong_pass, critical, critical_pass, clean, clean_pass = totals
    return GraderRates(
        monitors=verdicts.monitors,
        n=n[0].astype(np.int64),
        alpha=ratio(let_pass, errors),
        alpha_wrong=ratio(wrong_pass, wrong),
        alpha_critical=ratio(critical_pass, critical),
        beta=ratio(clean - clean_pass, clean),
        accepted=ratio(accepted, n),
        theta=ratio(clean, n),
    )


def crossed_correction(reference: Reference, verdicts: Verdicts, resample: Resample) -> Floats:
    """Return the share of valid work by noise correction (1 + B, n_monitors), rates and score from other questions.

    Questions fall into two halves by turns; what passes in one, V, is corrected by the rates of the other,
    (V - alpha) / (1 - alpha - beta), and the halves are weighted by their valid verdicts. On one's own traces the
    correction would give back the share of clean ones whatever the monitor said. NaN where a half has no verdict
    on a clean or on an erroneous trace, or alpha + beta is not less than 1.
    """
    valid, passed = verdicts.valid, verdicts.valid & ~verdicts.flag
    error, clean = reference.has_error, reference.clean
    counts = np.stack([valid, passed, valid & error, passed & error, valid & clean, passed & clean])
    sums = reference.by_question(counts)
    half = np.arange(reference.n_questions) % 2 == 0
    totals = resample.totals(np.stack([sums * half, sums * ~half]))
    n, accepted, errors, let_pass, cleans, clean_pass = np.moveaxis(totals, 2, 0)
    alpha = ratio(let_pass, errors)[:, ::-1]
    beta = ratio(cleans - clean_pass, cleans)[:, ::-1]
    told = 1 - alpha - beta
    parts = ratio(ratio(accepted, n) - alpha, np.where(told > 0, told, np.nan))
    found: Floats = ratio((parts * n).sum(axis=1), n.sum(axis=1))
    return found


def intraclass_correlation(values: Floats, cluster: Ints) -> float:
    """Return the correlation of two values (n,) of one cluster, by analysis of variance, sizes unequal or not.

    (MSB - MSW) / (MSB + (m - 1) MSW) with m = (n - sum k^2 / n) / (clusters - 1); it can be negative, and below
    -1 where many clusters have one value. NaN with fewer than two clusters, no cluster of two, or values that
    are all equal.
    """
    n = len(values)
    if n == 0:
        return float("nan")
    _, place = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(place).astype(np.float64)
    clusters = len(sizes)
    if clusters < 2 or n <= clusters:
        return float("nan")
    means = np.bincount(place, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (clusters - 1)
    within = float(((values - means[place]) ** 2).sum()) / (n - clusters)
    size = (n - float((sizes**2).sum()) / n) / (clusters - 1)
    spread = between + (size - 1) * within
    return (between - within) / spread if spread > 0 else float("nan")


def effective_size(cluster: Ints, rho: float) -> float:
    """Return n / (1 + (k - 1) rho), k the size of the cluster of an average item: F K / (1 + (K - 1) rho) for
    F clusters of K. A negative correlation counts as 0. NaN for an undefined one or without items.
    """
    if np.isnan(rho) or not len(cluster):
        return float("nan")
    sizes = np.unique(cluster, return_counts=True)[1].astype(np.float64)
    size = float((sizes**2).sum() / sizes.sum())
    return len(cluster) / (1 + (size - 1) * max(0.0, rho))
