"""Detection: does a monitor flag the traces that have an error, and leave the others alone?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.panel import Bools, Floats, Ints, Reference, Verdicts

LEAST_SPREAD = 3.0


@dataclass(frozen=True)
class Detection:
    """Detection under one condition. Rates are (1 + B, n_monitors), row 0 the point; NaN = undefined.

    n: valid verdicts (n_monitors,). failures: verdicts that do not say (n_monitors,).
    degenerate: the scores are too few or too close for an AUC (n_monitors,).
    """

    monitors: tuple[str, ...]
    n: Ints
    failures: Ints
    degenerate: Bools
    parse_rate: Floats
    flag_rate: Floats
    sensitivity: Floats
    specificity: Floats
    balanced_accuracy: Floats
    auc: Floats


def detect(
    reference: Reference, verdicts: Verdicts, resample: Resample, *, with_auc: bool = True
) -> Detection:
    """Compute the detection metrics of each monitor on its own valid verdicts.

    Flags count as the data say, with or without a step. AUC scores a trace by the monitor's confidence that
    there is an error, and by 100 or 0 (flagged or not) where it gave none; it is NaN where degenerate. It
    costs the most; without it the column is NaN. Returns `Detection`: shares (1 + B, n_monitors), row 0 the point.
    """
    error = reference.has_error
    valid, flag = verdicts.valid, verdicts.flag
    counts = np.stack(
        [verdicts.covered, valid, flag, valid & error, flag & error, valid & ~error, flag & ~error]
    )
    covered, n, flags, positives, hits, negatives, alarms = np.moveaxis(
        resample.totals(reference.by_question(counts)), 1, 0
    )
    sensitivity = ratio(hits, positives)
    specificity = ratio(negatives - alarms, negatives)
    scores = error_scores(verdicts)
    degenerate = np.array(
        [degenerate_scores(scores[m][valid[m]]) for m in range(len(verdicts.monitors))], dtype=np.bool_
    )
    auc = np.full(sensitivity.shape, np.nan)
    for m in np.flatnonzero(~degenerate) if with_auc else ():
        auc[:, m] = auc_samples(reference, scores[m], valid[m], resample)
    return Detection(
        monitors=verdicts.monitors,
        n=n[0].astype(np.int64),
        failures=(covered[0] - n[0]).astype(np.int64),
        degenerate=degenerate,
        parse_rate=ratio(n, covered),
        flag_rate=ratio(flags, n),
        sensitivity=sensitivity,
        specificity=specificity,
        balanced_accuracy=(sensitivity + specificity) / 2,
        auc=auc,
    )


def error_scores(verdicts: Verdicts) -> Floats:
    """The score of each trace: the confidence given, else 100 where flagged and 0 where not."""
    scores: Floats = np.where(
        np.isnan(verdicts.confidence), np.where(verdicts.flag, 100.0, 0.0), verdicts.confidence
    )
    return scores


def degenerate_scores(scores: Floats) -> bool:
    """Whether scores (n,) on 0 to 100 take at most 2 values or have a population spread below 3."""
    return len(np.unique(scores)) <= 2 or float(scores.std()) < LEAST_SPREAD


def auc_samples(reference: Reference, scores: Floats, valid: Bools, resample: Resample) -> Floats:
    """AUC of scores (n_traces,) on the valid traces: (1 + B,).

    The chance that a trace with an error scores above one without, ties counting one half. Over resamples it
    is a ratio of forms bilinear in the counts, summed by distinct score.
    """
    values, level = np.unique(scores[valid], return_inverse=True)
    cluster, error = reference.question[valid], reference.has_error[valid]
    positive = resample.level_totals(cluster[error], level[error], len(values))
    negative = resample.level_totals(cluster[~error], level[~error], len(values))
    below = np.cumsum(negative, axis=1) - negative
    wins = (positive * (below + negative / 2)).sum(axis=1)
    return ratio(wins, positive.sum(axis=1) * negative.sum(axis=1))


@dataclass(frozen=True)
class Bounds:
    """Point values (n_monitors,) if every failed verdict had said one thing.

    For AUC it had said so at confidence 100 or 0; NaN where no verdict of the panel failed, or where degenerate.
    """

    flag_rate: Floats
    sensitivity: Floats
    specificity: Floats
    balanced_accuracy: Floats
    auc: Floats


def bounds(reference: Reference, verdicts: Verdicts, *, failures_flag: bool) -> Bounds:
    """Detection if all covered verdicts that do not say had flagged, or else had passed.

    Returns `Bounds`: points (n_monitors,), shares from 0 to 1, NaN where undefined.
    """
    error = reference.has_error
    flag = verdicts.flag | (verdicts.covered & ~verdicts.valid) if failures_flag else verdicts.flag
    covered = verdicts.covered
    sensitivity = ratio((flag & error).sum(axis=1), (covered & error).sum(axis=1))
    specificity = ratio((covered & ~flag & ~error).sum(axis=1), (covered & ~error).sum(axis=1))
    failed = covered & ~verdicts.valid
    scores = np.where(failed, 100.0 if failures_flag else 0.0, error_scores(verdicts))
    point = Resample(reference.n_questions, resamples=0)
    auc = np.full(len(verdicts.monitors), np.nan)
    for m, row in (
        enumerate(scores) if failed.any() else ()
    ):  # it costs the most, and there is nothing to bound
        if not degenerate_scores(row[verdicts.valid[m]]):
            auc[m] = auc_samples(reference, row, covered[m], point)[0]
    return Bounds(
        flag_rate=ratio(flag.sum(axis=1), covered.sum(axis=1)),
        sensitivity=sensitivity,
        specificity=specificity,
        balanced_accuracy=(sensitivity + specificity) / 2,
        auc=auc,
    )


@dataclass(frozen=True)
class Oracle:
    """The baseline that flags exactly the traces with a wrong final answer. Arrays are (1 + B,)."""

    sensitivity: Floats
    specificity: Floats
    balanced_accuracy: Floats
    critical_recall: Floats


def oracle(reference: Reference, resample: Resample) -> Oracle:
    """Score flagging by the final answer alone. It names no step, so it localises nothing.

    A trace without an error whose answer is wrong is a false alarm; the published standard has none. Returns
    `Oracle`: shares (1 + B,), row 0 the point.
    """
    clean = reference.clean
    masks = np.stack(
        [reference.has_error, reference.wrong, clean, clean & reference.final_correct, reference.critical]
    )
    errors, wrong, negatives, passed, critical = resample.totals(reference.by_question(masks)).T
    sensitivity = ratio(wrong, errors)
    specificity = ratio(passed, negatives)
    return Oracle(
        sensitivity=sensitivity,
        specificity=specificity,
        balanced_accuracy=(sensitivity + specificity) / 2,
        critical_recall=ratio(0 * critical, critical),
    )
