"""Where in a trace the named steps lie: in which tenth, and how often on the last step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.panel import CELLS, Floats, Ints, Reference, Verdicts

TENTHS = 10


@dataclass(frozen=True)
class Positions:
    """Positions of the steps named by flags, pooled over monitors, by cell (clean, wrong, critical).

    n and in_tenth ((3,) and (3, 10)) count pairs of monitor and trace of known length; last: the share that
    names the last step (1 + B, 3). no_step: flags without a step (3,). NaN = undefined.
    """

    n: Ints
    in_tenth: Ints
    no_step: Ints
    last: Floats


def tenth_of(step: Ints, n_steps: Ints) -> Ints:
    """The tenth of a trace, 0 to 9, in which the middle of a step lies. Steps and lengths are at least 1."""
    tenth: Ints = np.minimum(((2 * step - 1) * TENTHS) // (2 * n_steps), TENTHS - 1)
    return tenth


def positions(reference: Reference, verdicts: Verdicts, resample: Resample) -> Positions:
    """Count where the named steps of one condition lie."""
    known = reference.n_steps > 0
    named = (verdicts.step > 0) & known
    last = named & (verdicts.step >= reference.n_steps)
    masks = [reference.cell(cell) for cell in CELLS]
    pooled = np.stack([(flags & mask).sum(axis=0) for mask in masks for flags in (named, last)])
    totals = resample.totals(reference.by_question(pooled))
    in_tenth = np.zeros((len(CELLS), TENTHS), dtype=np.int64)
    for c, mask in enumerate(masks):
        monitor, trace = np.nonzero(named & mask)
        tenths = tenth_of(verdicts.step[monitor, trace], reference.n_steps[trace])
        in_tenth[c] = np.bincount(tenths, minlength=TENTHS)
    return Positions(
        n=totals[0, ::2].astype(np.int64),
        in_tenth=in_tenth,
        no_step=np.array([(verdicts.flag & (verdicts.step == 0) & mask).sum() for mask in masks]),
        last=ratio(totals[:, 1::2], totals[:, ::2]),
    )


def positions_of_errors(reference: Reference) -> Ints:
    """Count the standard's own first false steps by tenth of their trace: (10,)."""
    known = reference.has_error & (reference.n_steps > 0)
    tenths = tenth_of(reference.step[known], reference.n_steps[known])
    return np.bincount(tenths, minlength=TENTHS).astype(np.int64)
