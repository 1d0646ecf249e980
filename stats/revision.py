"""Revision: how many flags a second look withdraws and adds, with the answer shown and without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, ratio
from stats.panel import CELLS, Bools, Floats, Ints, Reference, Verdicts


@dataclass(frozen=True)
class Transitions:
    """Transitions of one cell. Rates are (1 + B, n_monitors), the counts (n_monitors,); NaN = undefined.

    withdraw: share of earlier flags that are gone; a step that moved is no withdrawal. add: share of earlier
    passes that became flags.
    """

    prior_flags: Ints
    prior_passes: Ints
    withdraw: Floats
    add: Floats


@dataclass(frozen=True)
class TransitionBounds:
    """The least and the most that rates of one cell could be, whatever the failed verdicts had said.

    Over all covered traces; each (2, n_monitors), NaN = undefined.
    """

    withdraw: Floats
    add: Floats


def transition_bounds(reference: Reference, verdicts: Verdicts) -> dict[str, TransitionBounds]:
    """Bound the rates of `transitions` by cell: a failed verdict could have kept the flag or not."""
    failed = verdicts.covered & ~verdicts.valid
    flagged_before, passed_before = (
        verdicts.prior_flag & verdicts.covered,
        verdicts.covered & ~verdicts.prior_flag,
    )
    withdrawn, added = flagged_before & verdicts.valid & ~verdicts.flag, passed_before & verdicts.flag
    out = {}
    for cell in CELLS:
        mask = reference.cell(cell)

        def least_and_most(sure: Bools, before: Bools, mask: Bools = mask) -> Floats:
            counts = [(found & before & mask).sum(axis=1) for found in (sure, sure | failed)]
            return ratio(np.stack(counts), (before & mask).sum(axis=1))

        out[cell] = TransitionBounds(
            withdraw=least_and_most(withdrawn, flagged_before), add=least_and_most(added, passed_before)
        )
    return out


def transitions(reference: Reference, verdicts: Verdicts, resample: Resample) -> dict[str, Transitions]:
    """Compare each valid verdict with the one before it, by cell. Without an earlier flag it was a pass.

    Returns `Transitions` by cell: shares withdrawn and added (1 + B, n_monitors), row 0 the point.
    """
    masks = np.stack([reference.cell(cell) for cell in CELLS])[:, None, :]
    flagged_before = verdicts.valid & verdicts.prior_flag
    passed_before = verdicts.valid & ~verdicts.prior_flag
    counts = np.stack(
        [
            flagged_before & masks,
            flagged_before & ~verdicts.flag & masks,
            passed_before & masks,
            passed_before & verdicts.flag & masks,
        ]
    )
    flags, withdrawn, passes, added = np.moveaxis(resample.totals(reference.by_question(counts)), 1, 0)
    return {
        cell: Transitions(
            prior_flags=flags[0, c].astype(np.int64),
            prior_passes=passes[0, c].astype(np.int64),
            withdraw=ratio(withdrawn[:, c], flags[:, c]),
            add=ratio(added[:, c], passes[:, c]),
        )
        for c, cell in enumerate(CELLS)
    }
