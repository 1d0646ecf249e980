"""Sections on how far the numbers hang on the standard, and on monitors that had to do with a trace otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from stats.bootstrap import mean_defined, ratio
from stats.detection import detect
from stats.document import NO_MONITOR, put
from stats.localisation import hits, localise
from stats.panel import CELLS, Bools, Floats, Reference, Verdicts
from stats.report.standard import put_clusters
from stats.report.workings import Workings
from stats.variants import by_arm, disputed

MEANS = ("balanced_accuracy", "L0", "L0_in_range", "wrong", "critical")
INVOLVED = ("self_review", "consulted")
NOTHING_LEFT = "no trace of the kind with a valid verdict"


def _samples(work: Workings, reference: Reference, verdicts: Verdicts) -> dict[str, Floats]:
    """The statistics of one reading by name: (1 + B, n_monitors); all from one pass over the resamples."""
    error, valid, flag = reference.has_error, verdicts.valid, verdicts.flag
    named = (verdicts.step > 0) & error
    in_range = named & (verdicts.step >= reference.step_min) & (verdicts.step <= reference.step_max)
    counts = [verdicts.covered & error, hits(reference, verdicts, 0), in_range]
    for cell in CELLS:
        mask = reference.cell(cell)
        counts += [valid & mask, flag & mask]
    totals = work.resample.totals(reference.by_question(np.stack(counts)))
    errors, exact, near, *rest = np.moveaxis(totals, 1, 0)
    asked, flags = dict(zip(CELLS, rest[::2], strict=True)), dict(zip(CELLS, rest[1::2], strict=True))
    sensitivity = ratio(flags["wrong"] + flags["critical"], asked["wrong"] + asked["critical"])
    specificity = 1 - ratio(flags["clean"], asked["clean"])
    return {
        "balanced_accuracy": (sensitivity + specificity) / 2,
        "L0": ratio(exact, errors),
        "L0_in_range": ratio(near, errors),
        "wrong": ratio(flags["wrong"], asked["wrong"]),
        "critical": ratio(flags["critical"], asked["critical"]),
    }


def _reading(work: Workings, reference: Reference, traces: Bools, *, beside: bool) -> dict[str, Any]:
    """Means under a reading of the standard on some traces (n_traces,), with the standard's own beside it."""
    out: dict[str, Any] = {
        "traces": int(traces.sum()),
        "clean": int((reference.clean & traces).sum()),
        "wrong": int((reference.wrong & traces).sum()),
        "critical": int((reference.critical & traces).sum()),
        "conditions": {},
    }
    put_clusters(out, reference, traces)
    for condition in work.panel.conditions():
        verdicts = work.panel.verdicts[condition].within(traces)
        samples = _samples(work, reference, verdicts)
        row: dict[str, Any] = {"mean": {}, "monitors": {monitor: {} for monitor in verdicts.monitors}}
        for name in MEANS:
            put(row["mean"], name, mean_defined(samples[name]), NO_MONITOR)
            for m, monitor in enumerate(verdicts.monitors):
                put(row["monitors"][monitor], name, samples[name][:, m], NOTHING_LEFT)
        if beside:
            ours = _samples(work, work.panel.reference, verdicts)
            row["standard"], row["change"] = {}, {}
            for name in MEANS:
                put(row["standard"], name, mean_defined(ours[name]), NO_MONITOR)
                put(row["change"], name, mean_defined(samples[name] - ours[name]), NO_MONITOR)
        out["conditions"][condition] = row
    return out


def dependence_section(work: Workings) -> dict[str, Any] | None:
    """The main means on all traces, and without the disputed ones; the same when the arms are exchanged."""
    reference = work.panel.reference
    if not work.panel.conditions():
        return None
    everything = np.ones(reference.n_traces, dtype=np.bool_)
    out = {"all": _reading(work, reference, everything, beside=False)}
    apart = disputed(reference)
    if apart.any():
        out["undisputed"] = _reading(work, reference, ~apart, beside=False)
    return out


def by_arm_section(work: Workings) -> dict[str, Any] | None:
    """The means under each arm's labels alone, and without what the debate's models judged.

    Tells the arms apart: not for a lead who has disputes to decide. None where neither arm left labels.
    """
    reference = work.panel.reference
    out: dict[str, Any] = {}
    for name, arm in (("human", reference.human), ("debate", reference.debate)):
        if arm.spoke.any() and work.panel.conditions():
            alone, spoke = by_arm(reference, arm)
            out[name] = _reading(work, alone, spoke, beside=True)
    if judged := _involved(work, "debate"):
        out["judged_in_debate"] = judged
    return out or None


def involvement_section(work: Workings) -> dict[str, Any] | None:
    """Each monitor with and without the traces its family wrote, and those on which the lead asked it."""
    out = {kind: found for kind in INVOLVED if (found := _involved(work, kind))}
    return out or None


def _involved(work: Workings, kind: str) -> dict[str, Any] | None:
    marks = {monitor: mask for monitor, mask in work.panel.involved.get(kind, {}).items() if mask.any()}
    if not marks:
        return None
    reference = work.panel.reference
    out: dict[str, Any] = {
        "monitors": {
            monitor: {"traces": int(mask.sum()), "error_traces": int((mask & reference.has_error).sum())}
            for monitor, mask in sorted(marks.items())
        },
        "conditions": {},
    }
    nowhere = np.zeros(reference.n_traces, dtype=np.bool_)
    for condition in work.panel.conditions():
        verdicts = work.panel.verdicts[condition]
        mask = np.stack([marks.get(monitor, nowhere) for monitor in verdicts.monitors])
        parts = {
            name: detect(reference, part, work.resample, with_auc=False)
            for name, part in (("of_these", verdicts.within(mask)), ("others", verdicts.within(~mask)))
        }
        exact = {
            name: localise(reference, part, work.resample).L0
            for name, part in (("of_these", verdicts.within(mask)), ("others", verdicts.within(~mask)))
        }
        whole, placed = work.detection(condition), work.localisation(condition)
        rows: dict[str, Any] = {}
        for m, monitor in enumerate(verdicts.monitors):
            if monitor not in marks:
                continue
            row: dict[str, Any] = {}
            for name, part in parts.items():
                put(row, f"sensitivity_{name}", part.sensitivity[:, m], NOTHING_LEFT)
                put(row, f"specificity_{name}", part.specificity[:, m], NOTHING_LEFT)
                put(row, f"L0_{name}", exact[name][:, m], NOTHING_LEFT)
                errors = verdicts.valid[m] & reference.has_error & (mask[m] == (name == "of_these"))
                row[f"n_errors_{name}"] = int(errors.sum())
            put(row, "balanced_accuracy", whole.balanced_accuracy[:, m], NOTHING_LEFT)
            put(row, "balanced_accuracy_without", parts["others"].balanced_accuracy[:, m], NOTHING_LEFT)
            rows[monitor] = row
        mean: dict[str, Any] = {}
        for name, before, after in (
            ("balanced_accuracy", whole.balanced_accuracy, parts["others"].balanced_accuracy),
            ("L0", placed.L0, exact["others"]),
        ):
            put(mean, name, mean_defined(before), NO_MONITOR)
            put(mean, f"{name}_without", mean_defined(after), NO_MONITOR)
            put(mean, f"{name}_change", mean_defined(after - before), NO_MONITOR)
        out["conditions"][condition] = {"monitors": rows, "mean": mean}
    return out
