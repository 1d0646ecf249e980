"""Sections that a reader asks for next: monitors beside each other, calibration, positions, questions, power."""

from __future__ import annotations

from typing import Any

import numpy as np

from stats.bootstrap import mean_defined, ratio
from stats.calibration import BINS, calibrate, median_when_passing
from stats.comparison import pairwise, without_each
from stats.document import NO_MONITOR, put, put_value
from stats.ladder import contrast
from stats.localisation import hits
from stats.panel import CELLS, LADDER, Floats, Panel
from stats.positions import positions, positions_of_errors
from stats.power import simulate_power, sizes_about
from stats.processbench import processbench
from stats.questions import by_question
from stats.report.ladder import put_sign_test
from stats.report.workings import Workings

NO_BOTH = "needs valid verdicts of both on traces with and without an error"
MOST_QUESTIONS = 400
DIFFERENCES = (0.02, 0.05, 0.1, 0.2)


def pairwise_section(work: Workings) -> dict[str, Any] | None:
    """Every two monitors of a condition, on the traces that both judged; None with fewer than two."""
    out: dict[str, Any] = {}
    for condition in work.panel.conditions():
        verdicts = work.panel.verdicts[condition]
        if len(verdicts.monitors) < 2:
            continue
        found = pairwise(work.panel.reference, verdicts.of(sorted(verdicts.monitors)), work.resample)
        rows = []
        for place, (first, second) in enumerate(found.pairs):
            row: dict[str, Any] = {"first": first, "second": second, "n": int(found.n[place])}
            put(row, "balanced_accuracy", found.balanced_accuracy[:, place], NO_BOTH)
            put(row, "L0", found.L0[:, place], "no trace with an error has verdicts of both")
            rows.append(row)
        out[condition] = rows
    return out or None


def leave_one_out_section(work: Workings) -> dict[str, Any] | None:
    """The panel means without each monitor in turn; None with fewer than two monitors."""
    panel = work.panel
    if len(panel.monitors) < 2:
        return None
    out: dict[str, Any] = {monitor: {} for monitor in panel.monitors}
    for condition in panel.conditions():
        detection, localisation = work.detection(condition), work.localisation(condition)
        for name, samples in (
            ("balanced_accuracy", detection.balanced_accuracy),
            ("L0", localisation.L0),
        ):
            left = without_each(samples)
            for m, monitor in enumerate(detection.monitors):
                put(out[monitor].setdefault(condition, {}), name, left[:, m], NO_MONITOR)
    if {"BLIND", "CERT"} <= set(panel.verdicts):
        found = contrast(panel, work.ladder, "CERT", "BLIND", work.resample)
        left = without_each(found.difference)
        for m, monitor in enumerate(found.monitors):
            row: dict[str, Any] = out[monitor].setdefault("CERT-BLIND", {})
            put(row, "difference", left[:, m], NO_MONITOR)
            put_sign_test(row, np.delete(found.difference[0], m))
    return out


def processbench_section(work: Workings) -> dict[str, Any] | None:
    """ProcessBench's three numbers by condition and monitor; None where nothing was run."""
    reasons = {
        "error_accuracy": "no verdict on a trace with an error",
        "correct_accuracy": "no verdict on a trace without an error",
        "harmonic_mean": "needs verdicts on traces with and without an error",
    }
    out: dict[str, Any] = {}
    for condition in work.panel.conditions():
        found = processbench(work.panel.reference, work.panel.verdicts[condition], work.resample)
        rows: dict[str, Any] = {}
        mean: dict[str, Any] = {}
        for name, reason in reasons.items():
            samples = getattr(found, name)
            for m, monitor in enumerate(found.monitors):
                put(rows.setdefault(monitor, {}), name, samples[:, m], reason)
            put(mean, name, mean_defined(samples), NO_MONITOR)
        out[condition] = {"monitors": rows, "mean": mean}
    return out or None


def calibration_section(work: Workings) -> dict[str, Any] | None:
    """Brier score and reliability by tenths of the confidence; STEP's confidence is a maximum, so not there."""
    out: dict[str, Any] = {}
    for condition in work.panel.conditions():
        if condition == "STEP":
            continue
        verdicts = work.panel.verdicts[condition]
        found = calibrate(work.panel.reference, verdicts, work.resample)
        passing = median_when_passing(verdicts)
        rows: dict[str, Any] = {}
        for m, monitor in enumerate(found.monitors):
            row: dict[str, Any] = {"n": int(found.n[m])}
            nothing = "no valid verdict gives a confidence"
            put(row, "brier", found.brier[:, m], nothing)
            put(row, "brier_of_base_rate", found.brier_of_base_rate[:, m], nothing)
            put_value(row, "gap", float(found.gap[m]), nothing)
            put_value(row, "median_when_passing", float(passing[m]), "no verdict passes with a confidence")
            row["confidence_in_the_verdict"] = bool(passing[m] > 50)
            row["bins"] = [
                {
                    "from": 100 * k // BINS,
                    "to": 100 * (k + 1) // BINS,
                    "n": int(found.in_bin[m, k]),
                    "mean_confidence": float(found.mean_confidence[m, k]),
                    "error_share": float(found.error_share[m, k]),
                }
                for k in np.flatnonzero(found.in_bin[m]).tolist()
            ]
            rows[monitor] = row
        out[condition] = {"monitors": rows}
    return out or None


def positions_section(work: Workings) -> dict[str, Any] | None:
    """In which tenth of the trace flags point, by cell, beside where the standard's errors lie."""
    out: dict[str, Any] = {}
    for condition in work.panel.conditions((*work.panel.verdicts,)):
        found = positions(work.panel.reference, work.panel.verdicts[condition], work.resample)
        rows: dict[str, Any] = {}
        for c, cell in enumerate(CELLS):
            row: dict[str, Any] = {
                "n": int(found.n[c]),
                "no_step": int(found.no_step[c]),
                "tenths": found.in_tenth[c].tolist(),
            }
            put(row, "last_step", found.last[:, c], f"no flag names a step of a {cell} trace of known length")
            rows[cell] = row
        out[condition] = rows
    if not out:
        return None
    return {"of_errors": positions_of_errors(work.panel.reference).tolist(), "by_condition": out}


def questions_section(work: Workings) -> dict[str, Any] | None:
    """The share of right verdicts by question and monitor, the questions that split the monitors most first."""
    panel = work.panel
    conditions = panel.conditions()
    if not conditions:
        return None
    found = {c: by_question(panel.reference, panel.verdicts[c]) for c in conditions}
    split = np.mean([found[c].split for c in conditions], axis=0)
    # Rounded, so that the order of equals does not hang on the last digit.
    order = sorted(
        range(len(split)), key=lambda q: (-round(float(split[q]), 12), panel.reference.questions[q])
    )
    shown = order[:MOST_QUESTIONS]
    return {
        "left_out": len(order) - len(shown),
        "by_question": {
            panel.reference.questions[q]: {
                "split": float(split[q]),
                "right": {
                    condition: {
                        monitor: float(found[condition].right[m, q])
                        for m, monitor in enumerate(found[condition].monitors)
                        if not np.isnan(found[condition].right[m, q])
                    }
                    for condition in conditions
                },
            }
            for q in shown
        },
    }


def power_section(work: Workings) -> dict[str, Any] | None:
    """How many questions would resolve a change between the two ends of the ladder; None without two ends."""
    panel = work.panel
    ran = panel.conditions(LADDER)
    if len(ran) < 2 or not panel.reference.n_questions or not work.options.studies:
        return None
    earlier, later = ran[0], "CERT" if "CERT" in ran[1:] else ran[-1]
    monitors = [m for m in panel.verdicts[later].monitors if m in panel.verdicts[earlier].monitors]
    if not monitors:
        return None
    names = ("balanced_accuracy", "L0", "wrong", "critical")
    sizes = sizes_about(panel.reference.n_questions)
    found = simulate_power(
        _power_sums(panel, monitors, later, earlier),
        lambda totals: _changes(totals, len(monitors)),
        differences=DIFFERENCES,
        sizes=sizes,
        studies=work.options.studies,
        seed=work.options.seed,
    )
    here = int(np.flatnonzero(sizes == panel.reference.n_questions)[0])
    out: dict[str, Any] = {
        "contrast": f"{later}-{earlier}",
        "observed_questions": panel.reference.n_questions,
        "largest_tried": int(sizes[-1]),
        "wanted_power": 0.8,
        "statistics": {},
    }
    for s, name in enumerate(names):
        row: dict[str, Any] = {}
        put_value(row, "spread", float(found.spread[here, s]), "undefined in too many simulated studies")
        row["questions_needed"] = [
            {
                "difference": difference,
                "questions": found.needed(d, s),
                **({} if found.needed(d, s) else {"questions_reason": f"more than {sizes[-1]}"}),
                "power_here": float(found.power[here, d, s]),
            }
            for d, difference in enumerate(found.differences)
        ]
        out["statistics"][name] = row
    return out


def _power_sums(panel: Panel, monitors: list[str], later: str, earlier: str) -> Floats:
    """Per-question sums for `_changes`: 10 counts of each monitor under both conditions."""
    reference = panel.reference
    parts = []
    for condition in (later, earlier):
        verdicts = panel.verdicts[condition].of(monitors)
        valid, flag = verdicts.valid, verdicts.flag
        parts += [flag & reference.cell(cell) for cell in CELLS]
        parts += [valid & reference.cell(cell) for cell in CELLS]
        parts += [hits(reference, verdicts, 0), verdicts.covered & reference.has_error]
    sums = reference.by_question(np.stack(parts))
    return sums.reshape(-1, reference.n_questions)


def _changes(totals: Floats, n_monitors: int) -> Floats:
    """Mean changes (later - earlier) of balanced accuracy, L0 and recall by cell: (n_studies, 4)."""
    counts = totals.reshape(len(totals), 2, 8, n_monitors)
    flags, valid = counts[:, :, 0:3], counts[:, :, 3:6]
    sensitivity = ratio(flags[:, :, 1] + flags[:, :, 2], valid[:, :, 1] + valid[:, :, 2])
    accuracy = (sensitivity + 1 - ratio(flags[:, :, 0], valid[:, :, 0])) / 2
    exact = ratio(counts[:, :, 6], counts[:, :, 7])
    recalls = ratio(flags, valid)
    found = [accuracy, exact, recalls[:, :, 1], recalls[:, :, 2]]
    return np.stack([mean_defined(x[:, 0] - x[:, 1]) for x in found], axis=1)
