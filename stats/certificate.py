"""Certificate congruence: a wrong trace beside its own answer, a right one beside a false answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import Resample, mean_defined, ratio
from stats.panel import Bools, Floats, Ints, Panel, Reference

TARGETS = {"CMATCH": "wrong", "CCONFLICT": "clean"}
# (later, earlier, the false certificate that sets the eligible traces, published seed of the panel interval)
CONTRASTS = (
    ("CERT", "CMATCH", "CMATCH", 21),
    ("CMATCH", "BLIND", "CMATCH", 22),
    ("CCONFLICT", "CERT", "CCONFLICT", 23),
)
PUBLISHED_RESAMPLES = 5000
SEED_OF_ONE = -10  # from a panel's published seed to that of one monitor's interval


def eligible(panel: Panel, condition: str) -> Bools:
    """Traces of the right cell that any monitor was given under a false certificate: (n_traces,)."""
    covered = panel.verdicts[condition].covered.any(axis=0)
    result: Bools = covered & panel.reference.cell(TARGETS[condition])
    return result


@dataclass(frozen=True)
class Paired:
    """A change of flag rate over pairs of valid verdicts on the same trace.

    n, both, gained, lost, neither: pair counts (n_monitors,); gained: flagged under `later` alone. effect:
    (1 + B, n_monitors). published: the panel effect over 5,000 resamples of the pairs' own questions (5001,).
    least, most: the effect over all covered pairs, whatever the failed verdicts had said (n_monitors,).
    """

    monitors: tuple[str, ...]
    n: Ints
    both: Ints
    gained: Ints
    lost: Ints
    neither: Ints
    effect: Floats
    published: Floats
    least: Floats
    most: Floats


def paired(
    panel: Panel, later: str, earlier: str, within: Bools, resample: Resample, *, published_seed: int
) -> Paired:
    """Compare two conditions on the traces of a mask (n_traces,) that are valid under both.

    Returns `Paired`: pair counts (n_monitors,) and changes of flag rate, later - earlier (1 + B, n_monitors).
    """
    after_all, before_all = panel.verdicts[later], panel.verdicts[earlier]
    monitors = tuple(name for name in after_all.monitors if name in before_all.monitors)
    after, before = after_all.of(monitors), before_all.of(monitors)
    pairs = after.valid & before.valid & within
    gained, lost = pairs & after.flag & ~before.flag, pairs & before.flag & ~after.flag
    reference = panel.reference
    sums = reference.by_question(np.stack([gained.astype(np.int64) - lost, pairs.astype(np.int64)]))
    change, n = np.moveaxis(resample.totals(sums), 1, 0)
    own = sums[:, :, sums[1].sum(axis=0) > 0]
    again = Resample(own.shape[-1], resamples=PUBLISHED_RESAMPLES, seed=published_seed)
    own_change, own_n = np.moveaxis(again.totals(own), 1, 0)
    given = after.covered & before.covered & within
    missing = [(one.covered & ~one.valid & given).sum(axis=1) for one in (after, before)]
    surely = ((after.flag & given).sum(axis=1) - (before.flag & given).sum(axis=1)).astype(np.float64)
    return Paired(
        monitors=monitors,
        n=pairs.sum(axis=1),
        both=(pairs & after.flag & before.flag).sum(axis=1),
        gained=gained.sum(axis=1),
        lost=lost.sum(axis=1),
        neither=(pairs & ~after.flag & ~before.flag).sum(axis=1),
        effect=ratio(change, n),
        published=mean_defined(ratio(own_change, own_n)),
        least=ratio(surely - missing[1], given.sum(axis=1)),
        most=ratio(surely + missing[0], given.sum(axis=1)),
    )


def published_effects(
    panel: Panel, later: str, earlier: str, within: Bools, *, published_seed: int
) -> dict[str, Floats]:
    """The effect of `paired` as print resamples it for one monitor: 5,000 times its own pairs' questions (5001,).

    The seed is that of the panel's interval less ten, begun anew for each monitor. NaN without a pair.
    """
    reference = panel.reference
    out = {}
    for monitor in panel.verdicts[later].monitors:
        if monitor not in panel.verdicts[earlier].monitors:
            continue
        after, before = (panel.verdicts[condition].of([monitor]) for condition in (later, earlier))
        pairs = after.valid & before.valid & within
        change = (after.flag.astype(np.int64) - before.flag) * pairs
        sums = reference.by_question(np.stack([change, pairs]))[:, 0]
        own = sums[:, sums[1] > 0]
        again = Resample(own.shape[1], resamples=PUBLISHED_RESAMPLES, seed=published_seed + SEED_OF_ONE)
        totals = again.totals(own)
        out[monitor] = ratio(totals[:, 0], totals[:, 1])
    return out


@dataclass(frozen=True)
class Suppressed:
    """What became of exact blind localisations: counts (n_monitors,), pooled shares (1 + B,)."""

    monitors: tuple[str, ...]
    cases: Ints
    passed_under_cert: Ints
    passed_under_cmatch: Ints
    cert_share: Floats
    cmatch_share: Floats


def suppressed_localisations(panel: Panel, within: Bools, resample: Resample) -> Suppressed:
    """Of exact BLIND localisations valid under CERT and CMATCH too, count those that pass under each.

    Over the traces of a mask (n_traces,). Returns `Suppressed`: counts (n_monitors,), pooled shares (1 + B,).
    """
    reference = panel.reference
    names = [set(panel.verdicts[condition].monitors) for condition in ("BLIND", "CERT", "CMATCH")]
    monitors = tuple(sorted(set.intersection(*names)))
    blind, cert, cmatch = (panel.verdicts[c].of(monitors) for c in ("BLIND", "CERT", "CMATCH"))
    exact = (blind.step > 0) & (blind.step == reference.step)
    cases = exact & cert.valid & cmatch.valid & within
    counts = np.stack([cases, cases & ~cert.flag, cases & ~cmatch.flag])
    pooled = resample.totals(reference.by_question(counts).sum(axis=1))
    by_monitor = counts.sum(axis=2)
    return Suppressed(
        monitors=monitors,
        cases=by_monitor[0],
        passed_under_cert=by_monitor[1],
        passed_under_cmatch=by_monitor[2],
        cert_share=ratio(pooled[:, 1], pooled[:, 0]),
        cmatch_share=ratio(pooled[:, 2], pooled[:, 0]),
    )


@dataclass(frozen=True)
class Interior:
    """Where flags under a conflicting certificate land: counts (n_monitors,), pooled shares (1 + B,).

    Interior is anything but the last numbered step, a flag without a step included. newly_flagged: passed
    under CERT.
    """

    monitors: tuple[str, ...]
    flagged: Ints
    flagged_interior: Ints
    newly_flagged: Ints
    newly_interior: Ints
    share: Floats
    newly_share: Floats


def interior_attribution(panel: Panel, within: Bools, resample: Resample) -> Interior:
    """Count the CCONFLICT flags of a mask (n_traces,) that blame a step before the conclusion.

    Returns `Interior`: counts (n_monitors,), pooled shares (1 + B,).
    """
    reference: Reference = panel.reference
    conflict = panel.verdicts["CCONFLICT"]
    flagged = conflict.flag & within
    if "CERT" in panel.verdicts:
        cert = panel.verdicts["CERT"].of(conflict.monitors)
        newly = flagged & cert.valid & ~cert.flag
    else:
        newly = np.zeros_like(flagged)
    interior = conflict.step != reference.n_steps
    counts = np.stack([flagged, flagged & interior, newly, newly & interior])
    pooled = resample.totals(reference.by_question(counts).sum(axis=1))
    by_monitor = counts.sum(axis=2)
    return Interior(
        monitors=conflict.monitors,
        flagged=by_monitor[0],
        flagged_interior=by_monitor[1],
        newly_flagged=by_monitor[2],
        newly_interior=by_monitor[3],
        share=ratio(pooled[:, 1], pooled[:, 0]),
        newly_share=ratio(pooled[:, 3], pooled[:, 2]),
    )


def rates_side_by_side(
    panel: Panel, conditions: tuple[str, ...], within: Bools, resample: Resample
) -> tuple[tuple[str, ...], Ints, dict[str, Floats]]:
    """Flag rates on the traces of a mask (n_traces,) that are valid under all of the conditions.

    Returns the monitors that ran them all, the traces of each (n_monitors,), and rates by condition
    (1 + B, n_monitors).
    """
    ran = [set(panel.verdicts[condition].monitors) for condition in conditions]
    monitors = tuple(sorted(set.intersection(*ran)))
    verdicts = {condition: panel.verdicts[condition].of(monitors) for condition in conditions}
    common = np.broadcast_to(within, (len(monitors), len(within)))
    for one in verdicts.values():
        common = common & one.valid
    counts = np.stack([common, *(one.flag & common for one in verdicts.values())])
    totals = resample.totals(panel.reference.by_question(counts))
    rates = {c: ratio(totals[:, 1 + k], totals[:, 0]) for k, c in enumerate(conditions)}
    return monitors, common.sum(axis=1), rates
