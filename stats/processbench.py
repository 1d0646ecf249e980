"""ProcessBench's numbers: exact on traces with an error, silent on the others, and their harmonic mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.localisation import hits
from stats.panel import Floats, Reference, Verdicts


@dataclass(frozen=True)
class ProcessBench:
    """Arrays are (1 + B, n_monitors); a covered trace without a valid verdict counts as answered wrongly.

    error_accuracy: the step named is the first false one, over the traces with an error. correct_accuracy: no
    error is reported, over those without. harmonic_mean: of the two; 0 where both are 0. NaN = undefined.
    """

    monitors: tuple[str, ...]
    error_accuracy: Floats
    correct_accuracy: Floats
    harmonic_mean: Floats


def processbench(reference: Reference, verdicts: Verdicts, resample: Resample) -> ProcessBench:
    """Score monitors as ProcessBench (Zheng et al. 2024) does, failures included.

    Returns `ProcessBench`: shares (1 + B, n_monitors), row 0 the point.
    """
    error = reference.has_error
    counts = np.stack(
        [
            hits(reference, verdicts, 0),
            verdicts.covered & error,
            verdicts.valid & ~verdicts.flag & ~error,
            verdicts.covered & ~error,
        ]
    )
    exact, errors, passed, others = np.moveaxis(resample.totals(reference.by_question(counts)), 1, 0)
    on_errors, on_others = ratio(exact, errors), ratio(passed, others)
    both = on_errors + on_others
    return ProcessBench(
        monitors=verdicts.monitors,
        error_accuracy=on_errors,
        correct_accuracy=on_others,
        harmonic_mean=np.where(both == 0, 0.0, ratio(2 * on_errors * on_others, both)),
    )
