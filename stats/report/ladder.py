"""Sections on the information ladder: recall by cell, contrasts, subsets, revision."""

from __future__ import annotations

from typing import Any

import numpy as np

from stats import ladder as climbing
from stats.bootstrap import Resample, mean_defined, ratio, signs
from stats.document import NO_MONITOR, put, put_interval, put_value
from stats.panel import CELLS, LADDER, Floats, Panel
from stats.report.standard import put_clusters
from stats.revision import TransitionBounds, Transitions, transition_bounds, transitions

RECALL_CELLS = ("wrong", "critical")
NO_NET = "needs the same cell under REVISE and under RCTRL"


def _monitors(out: dict[str, Any], monitors: tuple[str, ...], samples: Floats, reason: str) -> None:
    """Write a statistic (1 + B, n_monitors) as `monitors`: {M: x} and `monitors_ci`: {M: [low, high]}."""
    points: dict[str, Any] = {}
    intervals: dict[str, Any] = {}
    for m, monitor in enumerate(monitors):
        put_value(points, monitor, float(samples[0, m]), reason)
        if points[monitor] is not None:
            put_interval(intervals, monitor, samples[:, m])
    out["monitors"] = points
    out["monitors_ci"] = intervals


def recall_section(panel: Panel, ladder: climbing.Ladder) -> dict[str, Any] | None:
    """Recall on wrong and critical traces of each monitor's common subset; false alarms on clean ones."""
    if not ladder.monitors:
        return None
    out: dict[str, Any] = {}
    for condition in panel.conditions():
        here, rates = _of_those_that_ran(panel, ladder, condition)
        rows: dict[str, Any] = {}
        for cell in CELLS:
            row: dict[str, Any] = {}
            _monitors(row, here, rates[cell], f"no {cell} trace in the common subset")
            put(row, "mean", climbing.panel_mean(rates[cell]), f"no monitor has a {cell} trace here")
            rows[cell if cell in RECALL_CELLS else "clean_flag_rate"] = row
        _recall_bounds(panel, condition, here, rows)
        out[condition] = rows
    out["n"] = common_subset_section(panel, ladder)
    return out


def _recall_bounds(panel: Panel, condition: str, monitors: tuple[str, ...], rows: dict[str, Any]) -> None:
    """Put beside each mean what it would be if every failed verdict had passed, or had flagged."""
    ladder = panel.conditions(LADDER)
    if not climbing.failures_within(panel, monitors, (*ladder, condition)):
        return
    given = climbing.covered_subset(panel, monitors, ladder)
    for cell, rates in climbing.rate_bounds(panel, condition, monitors, given).items():
        bounds = _passes_and_flags(rates, f"no monitor was given a {cell} trace here")
        rows[cell if cell in RECALL_CELLS else "clean_flag_rate"]["bounds"] = bounds


def _passes_and_flags(rates: Floats, reason: str = NO_MONITOR) -> dict[str, Any]:
    """The means over monitors of rates (2, n_monitors): all failures passes, all failures flags."""
    out: dict[str, Any] = {}
    for name, rate in zip(("failures_as_passes", "failures_as_flags"), rates, strict=True):
        put_value(out, name, float(mean_defined(rate)), reason)
    return out


def _change_bounds(
    panel: Panel, later: str, earlier: str, found: climbing.Contrast, out: dict[str, Any]
) -> None:
    """Put beside each change the least and the most it could be, whatever the failed verdicts had said."""
    monitors = found.monitors
    if not climbing.failures_within(panel, monitors, (later, earlier)):
        return
    given = climbing.covered_subset(panel, monitors, (later, earlier, *panel.conditions(LADDER)))
    after, before = (climbing.rate_bounds(panel, c, monitors, given) for c in (later, earlier))
    for cell in CELLS:
        least, most = after[cell][0] - before[cell][1], after[cell][1] - before[cell][0]
        if out[cell]["estimate"] is not None and not np.isnan(least).all():
            out[cell]["bounds"] = [float(mean_defined(least)), float(mean_defined(most))]


def _of_those_that_ran(
    panel: Panel, ladder: climbing.Ladder, condition: str
) -> tuple[tuple[str, ...], dict[str, Floats]]:
    ran = panel.verdicts[condition].monitors
    here = tuple(name for name in ladder.monitors if name in ran)
    rows = ladder.of(here)
    return here, {cell: rates[:, rows] for cell, rates in ladder.rates[condition].items()}


def common_subset_section(panel: Panel, ladder: climbing.Ladder) -> dict[str, Any] | None:
    """How many traces of each cell a monitor judged under every ladder condition that it ran."""
    if not ladder.monitors:
        return None
    return {
        monitor: {cell: int((ladder.common[m] & panel.reference.cell(cell)).sum()) for cell in CELLS}
        for m, monitor in enumerate(ladder.monitors)
    }


def _contrast(found: climbing.Contrast) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for cell in CELLS:
        row: dict[str, Any] = {}
        _estimate(row, climbing.panel_mean(found.change[cell]), f"no monitor has a {cell} trace here")
        _monitors(row, found.monitors, found.change[cell], f"no {cell} trace valid under both")
        out[cell] = row
    difference: dict[str, Any] = {}
    reason = "needs wrong and critical traces valid under both"
    _estimate(difference, climbing.panel_mean(found.difference), reason)
    put_sign_test(difference, found.difference[0])
    by_monitor: dict[str, Any] = {}
    _monitors(by_monitor, found.monitors, found.difference, reason)
    difference["by_monitor"] = by_monitor
    out["difference"] = difference
    put(out, "headroom_closed", climbing.panel_mean(found.headroom), NO_MONITOR)
    return out


def put_sign_test(out: dict[str, Any], differences: Floats) -> None:
    """Write how many of the differences (n_monitors,) are positive and defined, and the p of their signs."""
    found = signs(differences)
    out["positive"] = int((found > 0).sum())
    out["monitors"] = int((~np.isnan(differences)).sum())
    nonzero = int((found != 0).sum())
    p = climbing.sign_test(out["positive"], nonzero) if nonzero else np.nan
    put_value(out, "sign_test_p", p, "no monitor has a difference other than 0")


def _estimate(out: dict[str, Any], samples: Floats, reason: str) -> None:
    """Write a statistic (1 + B,) as `estimate` and `ci`."""
    put_value(out, "estimate", float(samples[0]), reason)
    if out["estimate"] is not None:
        put_interval(out, "ci", samples)


def contrasts_section(panel: Panel, ladder: climbing.Ladder, resample: Resample) -> dict[str, Any] | None:
    """Changes of flag rate between every pair of conditions, by cell, and their difference between cells."""
    out = {}
    for later, earlier in climbing.condition_pairs(panel.conditions()):
        found = climbing.contrast(panel, ladder, later, earlier, resample)
        if found.monitors:
            section = _contrast(found)
            _change_bounds(panel, later, earlier, found, section)
            out[f"{later}-{earlier}"] = section
    return out or None


def headroom(contrasts: dict[str, Any]) -> dict[str, Any]:
    """The share of BLIND's misses on wrong traces that CERT finds; nothing where one of them was not run."""
    found = contrasts.get("CERT-BLIND", {})
    return {name: value for name, value in found.items() if name.startswith("headroom_closed")}


def answer_correct_section(panel: Panel, ladder: climbing.Ladder) -> dict[str, Any] | None:
    """Mean balanced accuracy among traces with a right answer: critical ones against clean ones."""
    if not ladder.monitors:
        return None
    out: dict[str, Any] = {}
    by_monitor: dict[str, Any] = {}
    reason = "needs critical and clean traces in the common subset"
    for condition in panel.conditions():
        here, rates = _of_those_that_ran(panel, ladder, condition)
        accuracy = climbing.answer_correct_accuracy(rates)
        put(out, condition, climbing.panel_mean(accuracy), reason)
        if climbing.failures_within(panel, here, (*panel.conditions(LADDER), condition)):
            given = climbing.covered_subset(panel, here, panel.conditions(LADDER))
            known = climbing.rate_bounds(panel, condition, here, given)
            accuracies = climbing.answer_correct_accuracy(known)
            out[f"{condition}_bounds"] = _passes_and_flags(accuracies)
        by_monitor[condition] = {}
        _monitors(by_monitor[condition], here, accuracy, reason)
    if {"BLIND", "CERT"} <= set(ladder.rates):
        both = [climbing.answer_correct_accuracy(ladder.rates[condition]) for condition in ("CERT", "BLIND")]
        put(out, "CERT-BLIND", climbing.panel_mean(both[0] - both[1]), reason)
    out["by_monitor"] = by_monitor
    return out


def roles_section(panel: Panel, ladder: climbing.Ladder, resample: Resample) -> dict[str, Any] | None:
    """Recall on critical traces by the role of their error; None where no role was coded."""
    reference = panel.reference
    coded = np.array(reference.roles)
    kinds = sorted({role for role in reference.roles if role})
    if not kinds or not ladder.monitors:
        return None
    out: dict[str, Any] = {}
    for kind in kinds:
        of_kind = (coded == kind) & reference.critical
        row: dict[str, Any] = {"n": int(of_kind.sum()), "pairs": int((ladder.common & of_kind).sum())}
        put_clusters(row, reference, of_kind)
        recalls: dict[str, Floats] = {}
        for condition in panel.conditions(LADDER):
            verdicts = panel.verdicts[condition].of(ladder.monitors)
            rates = climbing.flag_rates(panel, verdicts, ladder.common & of_kind, resample)
            recalls[condition] = rates["critical"]
            put(row, condition, climbing.panel_mean(rates["critical"]), "no such trace in a common subset")
            if climbing.failures_within(panel, ladder.monitors, panel.conditions(LADDER)):
                inside = climbing.covered_subset(panel, ladder.monitors, panel.conditions(LADDER)) & of_kind
                known = climbing.rate_bounds(panel, condition, ladder.monitors, inside)
                row[f"{condition}_bounds"] = _passes_and_flags(known["critical"])
        if "BLIND" in recalls and "CERT" in recalls:
            change = climbing.panel_mean(recalls["CERT"] - recalls["BLIND"])
            put(row, "CERT-BLIND", change, "no such trace in a common subset")
        out[kind] = row
    out["not_coded"] = int((reference.critical & (coded == "")).sum())
    return out


def consensus_section(panel: Panel, resample: Resample) -> dict[str, Any] | None:
    """Mean L0 on the traces whose step both arms and the standard agree on; None without two arms."""
    within = climbing.consensus_subset(panel)
    reference = panel.reference
    if not (reference.human.spoke.any() and reference.debate.spoke.any()):
        return None
    out: dict[str, Any] = {"n": int(within.sum()), "pairs": {}}
    put_clusters(out, reference, within)
    for condition in panel.conditions():
        out["pairs"][condition] = int((panel.verdicts[condition].covered & within).sum())
        samples = climbing.subset_localisation(panel, condition, within, resample)
        put(out, condition, climbing.panel_mean(samples), "no such trace has a verdict")
        verdicts = panel.verdicts[condition]
        failed = (verdicts.covered & ~verdicts.valid & within).sum(axis=1)
        if failed.any():
            best = samples[0] + ratio(failed, (verdicts.covered & within).sum(axis=1))
            out[f"{condition}_bounds"] = [float(mean_defined(samples[0])), float(mean_defined(best))]
    return out


def revision_section(panel: Panel, resample: Resample) -> dict[str, Any] | None:
    """Flags withdrawn and added under REVISE, under RCTRL, and net of it; None where REVISE was not run."""
    if "REVISE" not in panel.verdicts:
        return None
    monitors = panel.verdicts["REVISE"].monitors
    found: dict[str, dict[str, Transitions]] = {
        condition: transitions(panel.reference, panel.verdicts[condition].of(monitors), resample)
        for condition in panel.conditions(("REVISE", "RCTRL"))
    }
    bounds = {
        condition: transition_bounds(panel.reference, panel.verdicts[condition].of(monitors))
        for condition in found
        if climbing.failures_within(panel, monitors, [condition])
    }
    out: dict[str, Any] = {}
    for cell in CELLS:
        rates: dict[str, Floats] = {}
        reasons: dict[str, str] = {}
        for condition, by_cell in found.items():
            rates[f"add_{condition.lower()}"] = by_cell[cell].add
            rates[f"withdraw_{condition.lower()}"] = by_cell[cell].withdraw
            reasons[f"add_{condition.lower()}"] = f"no {cell} trace that passed before"
            reasons[f"withdraw_{condition.lower()}"] = f"no {cell} trace that was flagged before"
        for move in ("withdraw", "add"):
            gross = rates[f"{move}_revise"]
            control = rates.get(f"{move}_rctrl", np.full_like(gross, np.nan))
            rates[f"net_{move}"] = gross - control
            reasons[f"net_{move}"] = NO_NET
        row: dict[str, Any] = {}
        for name, samples in rates.items():
            put(row, name, climbing.panel_mean(samples), reasons[name])
        _transition_bounds(row, {condition: by_cell[cell] for condition, by_cell in bounds.items()})
        row["monitors"] = {}
        for m, monitor in enumerate(monitors):
            one: dict[str, Any] = {
                f"{kind}_{condition.lower()}": int(getattr(by_cell[cell], kind)[m])
                for condition, by_cell in found.items()
                for kind in ("prior_flags", "prior_passes")
            }
            for name, samples in rates.items():
                put(one, name, samples[:, m], reasons[name])
            row["monitors"][monitor] = one
        out[cell] = row
    return out


def _transition_bounds(row: dict[str, Any], bounds: dict[str, TransitionBounds]) -> None:
    """Put beside each mean rate the least and the most it could be, where verdicts failed."""
    for condition, found in bounds.items():
        for move in ("withdraw", "add"):
            least_most = mean_defined(getattr(found, move))
            name = f"{move}_{condition.lower()}"
            if row[name] is not None:
                row[f"{name}_bounds"] = least_most.tolist()
