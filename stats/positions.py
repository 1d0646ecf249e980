"""Where in a trace the named steps lie: in which tenth, and how often on the last step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.panel import CELLS, Floats, Ints, Reference, Verdicts

TENTHS = 10
_ITEMS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Positions:
    """Positions of the steps named by flags, pooled over monitors, by cell (clean, wrong, critical).

    n (3,) counts pairs of monitor and trace of known length; in_tenth (3, 10) shares each out over the tenths
    of the trace that its step lies in; last: the share that names the last step (1 + B, 3). no_step: flags
    without a step (3,). NaN = undefined.
    """

    n: Ints
    in_tenth: Floats
    no_step: Ints
    last: Floats


def tenths_of(step: Ints, n_steps: Ints) -> Floats:
    """How much of each tenth of a trace the steps fill, summed: (10,), one in all for each step.

    A step k of n lies from (k - 1)/n to k/n; so the steps of short traces do not pile up in some tenths.
    Steps (n_items,) are from 1 to n_steps (n_items,).
    """
    edges = np.arange(TENTHS + 1) / TENTHS
    total = np.zeros(TENTHS)
    for start in range(0, len(step), _ITEMS_AT_ONCE):
        part = slice(start, start + _ITEMS_AT_ONCE)
        passed = np.clip(edges * n_steps[part, None] - (step[part, None] - 1), 0.0, 1.0)
        total += np.diff(passed, axis=1).sum(axis=0)
    return total


def positions(reference: Reference, verdicts: Verdicts, resample: Resample) -> Positions:
    """Count where the named steps of one condition lie: `Positions`, by cell (3,) and tenth of the trace (3, 10)."""
    known = reference.n_steps > 0
    named = (verdicts.step > 0) & known
    last = named & (verdicts.step >= reference.n_steps)
    masks = [reference.cell(cell) for cell in CELLS]
    pooled = np.stack([(flags & mask).sum(axis=0) for mask in masks for flags in (named, last)])
    totals = resample.totals(reference.by_question(pooled))
    in_tenth = np.zeros((len(CELLS), TENTHS))
    for c, mask in enumerate(masks):
        monitor, trace = np.nonzero(named & mask)
        step, n_steps = verdicts.step[monitor, trace], reference.n_steps[trace]
        in_tenth[c] = tenths_of(np.minimum(step, n_steps), n_steps)
    return Positions(
        n=totals[0, ::2].astype(np.int64),
        in_tenth=in_tenth,
        no_step=np.array([(verdicts.flag & (verdicts.step == 0) & mask).sum() for mask in masks]),
        last=ratio(totals[:, 1::2], totals[:, ::2]),
    )


def positions_of_errors(reference: Reference) -> Floats:
    """Sum the standard's own first false steps by tenth of their trace: (10,)."""
    known = reference.has_error & (reference.n_steps > 0)
    return tenths_of(reference.step[known], reference.n_steps[known])
