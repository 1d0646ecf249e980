"""Sections on what monitors said: detection, localisation, and what a reader must know first."""

from __future__ import annotations

from typing import Any

import numpy as np

from stats import certificate as swapping
from stats import detection as detecting
from stats.bootstrap import FEW_CLUSTERS, Resample, mean_defined, ratio
from stats.calibration import median_when_passing
from stats.document import NO_MONITOR, put, put_interval, put_value
from stats.ladder import consensus_subset
from stats.localisation import PLACES, Localisation
from stats.panel import CELLS, CERTIFICATES, Floats, Panel
from stats.report.options import PUBLISHED, Options
from stats.report.standard import put_clusters
from stats.report.workings import Workings

RATES = {
    "parse_rate": "no verdict",
    "flag_rate": "no valid verdict",
    "sensitivity": "no valid verdict on a trace with an error",
    "specificity": "no valid verdict on a trace without an error",
    "balanced_accuracy": "needs valid verdicts on traces with and without an error",
    "auc": "needs valid verdicts on traces with and without an error",
}
DEGENERATE = "degenerate: the confidences take at most 2 values or spread less than 3 points"
NOT_UNDER_STEP = "not reported under STEP: the confidence is the largest over the prefixes asked"
NO_ERRORS = "no verdict on a trace with an error"
NO_LENGTH = "a trace with an error has an unknown number of steps"
NOTHING_TO_GAIN = "a step placed at random is always right, so there is nothing to gain on it"
HIGH_WHEN_PASSING = 50.0


def detection_section(work: Workings) -> dict[str, Any] | None:
    """Detection by condition and monitor, with the panel mean; None where nothing was run."""
    out = {condition: _detection(work, condition) for condition in work.panel.conditions()}
    return out or None


def _detection(work: Workings, condition: str) -> dict[str, Any]:
    panel, verdicts = work.panel, work.panel.verdicts[condition]
    found = work.detection(condition)
    passes = detecting.bounds(panel.reference, verdicts, failures_flag=False)
    flags = detecting.bounds(panel.reference, verdicts, failures_flag=True)
    monitors: dict[str, Any] = {}
    rates: dict[str, Floats] = {name: getattr(found, name) for name in RATES}
    not_under_step = {"auc": NOT_UNDER_STEP} if condition == "STEP" else {}
    if not_under_step:
        rates["auc"] = np.full_like(found.auc, np.nan)
    for m, monitor in enumerate(found.monitors):
        row: dict[str, Any] = {"n": int(found.n[m]), "failures": int(found.failures[m])}
        reasons = RATES | ({"auc": DEGENERATE} if found.degenerate[m] and found.n[m] else {}) | not_under_step
        for name, reason in reasons.items():
            put(row, name, rates[name][:, m], reason)
        row["auc_degenerate"] = bool(found.degenerate[m])
        if found.failures[m]:
            row["bounds"] = {
                "failures_as_passes": _bounds(passes, m, rates),
                "failures_as_flags": _bounds(flags, m, rates),
            }
        monitors[monitor] = row
    mean: dict[str, Any] = {"monitors": len(found.monitors)}
    for name in RATES:
        put(mean, name, mean_defined(rates[name]), not_under_step.get(name, NO_MONITOR))
    if found.failures.any():
        mean["bounds"] = {
            "failures_as_passes": _mean_bounds(passes, rates),
            "failures_as_flags": _mean_bounds(flags, rates),
        }
    return {"monitors": monitors, "mean": mean}


BOUNDED = ("flag_rate", "sensitivity", "specificity", "balanced_accuracy", "auc")


def _mean_bounds(found: detecting.Bounds, rates: dict[str, Floats]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in _bounded(rates):
        put_value(out, name, float(mean_defined(getattr(found, name))), NO_MONITOR)
    return out


def _bounds(found: detecting.Bounds, m: int, rates: dict[str, Floats]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in _bounded(rates):
        put_value(out, name, float(getattr(found, name)[m]), RATES[name].replace("valid ", ""))
    return out


def _bounded(rates: dict[str, Floats]) -> list[str]:
    """The rates with bounds: AUC only where a monitor has one, so not under STEP."""
    return [name for name in BOUNDED if name != "auc" or not np.isnan(rates["auc"][0]).all()]


def localisation_section(work: Workings) -> dict[str, Any] | None:
    """Localisation by condition and monitor, panel mean and pooled shares; None where nothing was run."""
    out = {
        condition: _localisation(work.localisation(condition), work.options)
        for condition in work.panel.conditions()
    }
    return out or None


def _localisation(found: Localisation, options: Options) -> dict[str, Any]:
    monitors: dict[str, Any] = {}
    numbers = {
        "L0": found.L0,
        "L1": found.L1,
        "L0_chance": found.L0_chance,
        "L1_chance": found.L1_chance,
        "L0_in_range": found.L0_in_range,
    }
    for m, monitor in enumerate(found.monitors):
        n = int(found.n_error_traces[m])
        row: dict[str, Any] = {"n_error_traces": n}
        for name, samples in numbers.items():
            put(row, name, samples[:, m], NO_LENGTH if n and "chance" in name else NO_ERRORS)
        for tolerance in (0, 1):
            chance = found.L0_chance[0, m] if tolerance == 0 else found.L1_chance[0, m]
            reason = NO_ERRORS if not n else NO_LENGTH if np.isnan(chance) else NOTHING_TO_GAIN
            put(row, f"L{tolerance}_skill", found.skill(tolerance)[:, m], reason)
        _put_published(row, found.L0[:, m], found.L0_valid_only[:, m], options)
        row.update({place: int(found.counts[place][m]) for place in PLACES})
        row["no_step"] = int(found.no_step[m])
        if found.failed[m]:
            row["failures"] = int(found.failed[m])
            row["L0_bounds"] = [float(found.L0[0, m]), float(found.L0[0, m] + found.failed[m] / n)]
        monitors[monitor] = row
    mean: dict[str, Any] = {}
    for name, samples in numbers.items():
        put(mean, name, mean_defined(samples), NO_MONITOR)
    for tolerance in (0, 1):
        reason = NO_MONITOR if mean[f"L{tolerance}_chance"] is None else NOTHING_TO_GAIN
        put(mean, f"L{tolerance}_skill", found.mean_skill(tolerance), reason)
    _put_published(mean, mean_defined(found.L0), mean_defined(found.L0_valid_only), options)
    if found.failed.any():
        best = found.L0[0] + ratio(found.failed, found.n_error_traces)
        mean["L0_bounds"] = [float(mean_defined(found.L0[0])), float(mean_defined(best))]
    pooled: dict[str, Any] = {"pairs": int(found.n_error_traces.sum())}
    for place in PLACES:
        put(pooled, place, found.pooled[place], NO_ERRORS)
    return {"monitors": monitors, "mean": mean, "pooled": pooled}


def _put_published(out: dict[str, Any], samples: Floats, valid_only: Floats, options: Options) -> None:
    """The published L0 intervals leave failed verdicts out although the points count them as misses."""
    if out["L0"] is None:
        return
    put_interval(out, "L0_ci_published_convention", valid_only)
    if options.convention == PUBLISHED and "L0_ci_published_convention" in out:
        out["L0_ci"] = out["L0_ci_published_convention"]


def warnings_section(panel: Panel) -> list[dict[str, Any]]:
    """What a reader must know before using a number."""
    out: list[dict[str, Any]] = []
    questions = panel.reference.n_questions
    if questions < FEW_CLUSTERS:
        out.append(
            {
                "kind": "few_clusters",
                "questions": questions,
                "text": f"{questions} questions: intervals from fewer than {FEW_CLUSTERS} clusters are "
                "too narrow",
            }
        )
    for cell in CELLS if questions >= FEW_CLUSTERS else ():
        holding = panel.reference.questions_with(panel.reference.cell(cell))
        if 0 < holding < FEW_CLUSTERS:
            out.append(
                {
                    "kind": "few_clusters_in_cell",
                    "cell": cell,
                    "questions": holding,
                    "text": f"{cell} traces lie in {holding} questions only: intervals on them are too narrow",
                }
            )
    small = _small_parts(panel) if questions >= FEW_CLUSTERS else {}
    if small:
        told = ", ".join(f"{part} ({n})" for part, n in small.items())
        out.append(
            {
                "kind": "few_clusters_in_part",
                "parts": small,
                "text": f"in fewer than {FEW_CLUSTERS} questions, so that their intervals are too narrow: {told}",
            }
        )
    for condition in panel.conditions((*panel.verdicts,)):
        verdicts = panel.verdicts[condition]
        for monitor, median in zip(verdicts.monitors, median_when_passing(verdicts), strict=True):
            if median > HIGH_WHEN_PASSING:
                out.append(
                    {
                        "kind": "confidence_in_the_verdict",
                        "condition": condition,
                        "monitor": monitor,
                        "median": float(median),
                        "text": f"{monitor} under {condition}: the median confidence of verdicts that pass "
                        f"is {median:g}; it seems to be confidence in the verdict, not the "
                        "probability of an error, so an AUC from it means little",
                    }
                )
    return out


def _small_parts(panel: Panel) -> dict[str, int]:
    """The parts of the standard with intervals of their own that lie in few questions, and in how many."""
    reference = panel.reference
    parts = {f"traces for {c}": swapping.eligible(panel, c) for c in panel.conditions(CERTIFICATES)}
    if panel.conditions():
        parts["erroneous traces whose step all agree on"] = consensus_subset(panel)
        roles = np.array(reference.roles)
        for role in sorted({role for role in reference.roles if role}):
            parts[f"critical traces with {role.replace('_', ' ')} errors"] = (
                roles == role
            ) & reference.critical
    found = {part: reference.questions_with(traces) for part, traces in parts.items()}
    return {part: n for part, n in found.items() if 0 < n < FEW_CLUSTERS}


def step_section(panel: Panel, resample: Resample) -> dict[str, Any] | None:
    """STEP against the length of traces, beside BLIND; None where STEP was not run.

    Bands are the quarters of the ready traces by number of steps.
    """
    if "STEP" not in panel.verdicts:
        return None
    reference = panel.reference
    known = reference.n_steps[reference.n_steps > 0]
    if not len(known):
        return None
    edges = np.unique(np.percentile(known, [25, 50, 75], method="lower"))
    band = np.searchsorted(edges, reference.n_steps, side="left")
    bands = []
    for number in range(len(edges) + 1):
        inside = (band == number) & (reference.n_steps > 0)
        if not inside.any():
            continue
        row: dict[str, Any] = {
            "from_steps": int(reference.n_steps[inside].min()),
            "to_steps": int(reference.n_steps[inside].max()),
            "traces": int(inside.sum()),
            "error_traces": int((inside & reference.has_error).sum()),
        }
        put_clusters(row, reference, inside)
        for condition in panel.conditions(("STEP", "BLIND")):
            verdicts = panel.verdicts[condition].within(inside)
            found = detecting.detect(reference, verdicts, resample, with_auc=False)
            rates: dict[str, Any] = {}
            for name in ("flag_rate", "sensitivity", "specificity", "balanced_accuracy"):
                put(rates, name, mean_defined(getattr(found, name)), NO_MONITOR)
            row[condition] = rates
        bands.append(row)
    return {"by_length": bands}
