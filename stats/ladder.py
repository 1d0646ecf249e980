"""The information ladder: recall by cell on the traces a monitor judged under every rung, and its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from stats.bootstrap import Resample, mean_defined, ratio
from stats.localisation import hits
from stats.panel import CELLS, LADDER, Bools, Floats, Panel, Verdicts


def ladder_monitors(panel: Panel) -> tuple[str, ...]:
    """Monitors that ran some condition of the ladder, sorted."""
    names = {name for condition in panel.conditions(LADDER) for name in panel.verdicts[condition].monitors}
    return tuple(sorted(names))


def common_subset(panel: Panel, monitors: Sequence[str]) -> Bools:
    """Traces with a valid verdict under every ladder condition that the monitor ran: (n_monitors, n_traces).

    Fixing the denominator so keeps a change of recall from being a change of traces. STEP, RCTRL and the
    false certificates do not restrict it.
    """
    common = np.ones((len(monitors), panel.reference.n_traces), dtype=np.bool_)
    ran_any = np.zeros(len(monitors), dtype=np.bool_)
    for condition in panel.conditions(LADDER):
        verdicts = panel.verdicts[condition].of(monitors)
        common &= verdicts.valid | ~verdicts.ran[:, None]
        ran_any |= verdicts.ran
    return common & ran_any[:, None]


def flag_rates(panel: Panel, verdicts: Verdicts, within: Bools, resample: Resample) -> dict[str, Floats]:
    """Flag rate by cell over the valid verdicts inside a mask (n_monitors, n_traces).

    Each rate is (1 + B, n_monitors): recall on wrong and critical traces, false alarms on clean ones.
    """
    reference = panel.reference
    masks = np.stack([reference.cell(cell) for cell in CELLS])[:, None, :]
    asked = verdicts.valid & within
    counts = np.stack([verdicts.flag & within & masks, asked & masks])
    flagged, n = np.moveaxis(resample.totals(reference.by_question(counts)), 1, 0)
    rates = ratio(flagged, n)
    return {cell: rates[:, position] for position, cell in enumerate(CELLS)}


def answer_correct_accuracy(rates: dict[str, Floats]) -> Floats:
    """Balanced accuracy among traces with a right answer: critical against clean. (1 + B, n_monitors)"""
    return (rates["critical"] + 1 - rates["clean"]) / 2


def rate_bounds(panel: Panel, condition: str, monitors: Sequence[str], within: Bools) -> dict[str, Floats]:
    """Flag rates by cell if every failed verdict had passed, and if it had flagged: each (2, n_monitors).

    Over the covered traces of a mask (n_monitors, n_traces), valid or not. NaN where there is none.
    """
    verdicts = panel.verdicts[condition].of(monitors)
    covered = verdicts.covered & within
    flagged = np.stack([verdicts.flag & covered, covered & (verdicts.flag | ~verdicts.valid)])
    out = {}
    for cell in CELLS:
        inside = panel.reference.cell(cell)
        out[cell] = ratio((flagged & inside).sum(axis=2), (covered & inside).sum(axis=1))
    return out


def covered_subset(panel: Panel, monitors: Sequence[str], conditions: Sequence[str]) -> Bools:
    """Traces that a monitor was given under each of the conditions that it ran: (n_monitors, n_traces)."""
    inside = np.ones((len(monitors), panel.reference.n_traces), dtype=np.bool_)
    for condition in conditions:
        verdicts = panel.verdicts[condition].of(monitors)
        inside &= verdicts.covered | ~verdicts.ran[:, None]
    return inside


def failures_within(panel: Panel, monitors: Sequence[str], conditions: Sequence[str]) -> bool:
    """Whether any of these monitors has a failed verdict under any of these conditions."""
    found = [panel.verdicts[condition].of(monitors) for condition in conditions]
    return any(bool((verdicts.covered & ~verdicts.valid).any()) for verdicts in found)


@dataclass(frozen=True)
class Ladder:
    """Flag rates on the common subset: what recall, contrasts and headroom are made of.

    common: (n_monitors, n_traces). rates: by condition and cell (1 + B, n_monitors), NaN where a monitor did
    not run the condition. Conditions off the ladder are taken within the subset, where they are valid.
    """

    monitors: tuple[str, ...]
    common: Bools
    rates: dict[str, dict[str, Floats]]

    def of(self, monitors: Sequence[str]) -> list[int]:
        """The positions of these monitors."""
        return [self.monitors.index(name) for name in monitors]


def climb(panel: Panel, resample: Resample) -> Ladder:
    """Compute the flag rates of all conditions on each monitor's common subset.

    Returns `Ladder`: rates by condition and cell (1 + B, n_monitors), row 0 the point.
    """
    monitors = ladder_monitors(panel)
    common = common_subset(panel, monitors)
    rates = {
        condition: flag_rates(panel, panel.verdicts[condition].of(monitors), common, resample)
        for condition in panel.conditions()
    }
    return Ladder(monitors, common, rates)


@dataclass(frozen=True)
class Contrast:
    """A change of flag rate between two conditions, paired within trace and resample.

    `change` by cell and `difference` (wrong minus critical) are (1 + B, n_monitors); `headroom` is the change
    on the wrong cell over what was left to gain, NaN where nothing was.
    """

    monitors: tuple[str, ...]
    change: dict[str, Floats]
    difference: Floats
    headroom: Floats


def contrast(panel: Panel, ladder: Ladder, later: str, earlier: str, resample: Resample) -> Contrast:
    """Compare two conditions on the common subset, and where both are valid if one lies off the ladder.

    Returns `Contrast`: changes (later - earlier) by cell and their difference (1 + B, n_monitors).
    """
    ran = [set(panel.verdicts[condition].monitors) for condition in (later, earlier)]
    monitors = tuple(name for name in ladder.monitors if name in ran[0] & ran[1])
    rows = ladder.of(monitors)
    if later in LADDER and earlier in LADDER:
        after, before = (
            {cell: rates[:, rows] for cell, rates in ladder.rates[condition].items()}
            for condition in (later, earlier)
        )
    else:
        verdicts = [panel.verdicts[condition].of(monitors) for condition in (later, earlier)]
        within = ladder.common[rows] & verdicts[0].valid & verdicts[1].valid
        after, before = (flag_rates(panel, one, within, resample) for one in verdicts)
    change = {cell: after[cell] - before[cell] for cell in CELLS}
    return Contrast(
        monitors=monitors,
        change=change,
        difference=change["wrong"] - change["critical"],
        headroom=ratio(change["wrong"], 1 - before["wrong"]),
    )


def condition_pairs(conditions: Sequence[str]) -> list[tuple[str, str]]:
    """Every pair (later, earlier) of the conditions, which are given in order."""
    return [(later, earlier) for earlier, later in combinations(conditions, 2)]


def sign_test(positive: int, n: int) -> float:
    """Two-sided exact p of `positive` among n non-zero differences under equal odds; 1 at most."""
    tail = sum(comb(n, i) for i in range(min(positive, n - positive) + 1))
    return min(1.0, float(2 * tail / 2**n))


def subset_localisation(panel: Panel, condition: str, within: Bools, resample: Resample) -> Floats:
    """L0 over the covered traces of a mask (n_traces,): (1 + B, n_monitors)."""
    reference, verdicts = panel.reference, panel.verdicts[condition]
    inside = within & reference.has_error
    counts = np.stack([hits(reference, verdicts, 0) & inside, verdicts.covered & inside])
    exact, n = np.moveaxis(resample.totals(reference.by_question(counts)), 1, 0)
    return ratio(exact, n)


def consensus_subset(panel: Panel) -> Bools:
    """Traces with an error on whose step both arms and the standard agree: (n_traces,)."""
    reference = panel.reference
    human, debate = reference.human.step, reference.debate.step
    result: Bools = reference.has_error & (human == reference.step) & (human == debate)
    return result


def panel_mean(samples: Floats) -> Floats:
    """Unweighted mean over monitors with a defined value: (1 + B,)."""
    return mean_defined(samples)
