"""Grading error of a study's own monitors, from stored verdicts and a frozen standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudication.models import ReferenceStandard
from annotation.models import Study
from monitoring.report.source import load
from stats.bootstrap import Resample
from stats.document import put, put_value
from stats.graders import crossed_correction, effective_size, grader_rates, intraclass_correlation
from stats.panel import Floats, Panel, Reference, Verdicts
from verification import grading

RESAMPLES = 1_000
NO_TRACE = "no valid verdict in this cell"
NO_CORRELATION = "no question has two such traces, or all are alike"
NO_RESAMPLE = "undefined without resamples"
NO_HALF = "in half of the questions it is undefined: no verdict on a clean or an erroneous trace, or alpha + beta >= 1"
# What each figure is, and where it is defined.
FORMULAS = {
    "alpha": {
        "formula": "share of traces with an error (of a cell: alpha_wrong, alpha_critical) that are not flagged",
        "domain": "at least one valid verdict on such a trace",
    },
    "beta": {
        "formula": "share of clean traces that are flagged",
        "domain": "a valid verdict on a clean trace",
    },
    "correlation": {
        "formula": "(MSB - MSW) / (MSB + (m - 1) MSW), questions as groups",
        "domain": "two questions, one of them with two traces, values not all equal",
    },
    "effective_size": {
        "formula": "n / (1 + (k - 1) max(0, rho)), k = sum of squared sizes / n",
        "domain": "the correlation is defined",
    },
    "variance_factor": {"formula": "1 / (1 - alpha - beta)^2", "domain": "alpha + beta < 1"},
    "corrected": {
        "formula": "(V - alpha) / (1 - alpha - beta), V of one half of the questions, rates of the other",
        "domain": "alpha + beta < 1 in both halves",
    },
    "corrected_variance": {
        "formula": "variance of V by resampling questions, times the variance factor: rates taken as known",
        "domain": "alpha + beta < 1",
    },
}


def grading_error(
    study: Study, standard: ReferenceStandard, *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Return the grading error of a study's monitors against a standard; see `section`."""
    found = section(load(study, standard).panel, resamples=resamples, seed=seed)
    return {"standard": standard.version, **found}


def section(panel: Panel, *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """Return alpha and beta of every monitor by condition and cell, with intervals by question, and sizes.

    {"traces", "questions", "correlation", "effective_size", "bootstrap", "formulas", "conditions": {COND: {M:
    {...}}}}; undefined figures are null with their reason beside them. The study's own correlation and effective
    size are of having an error, a monitor's of being right.
    """
    reference = panel.reference
    resample = Resample(reference.n_questions, resamples=resamples, seed=seed)
    out: dict[str, Any] = {
        "traces": reference.n_traces,
        "questions": reference.n_questions,
        "bootstrap": {"resamples": resamples, "seed": seed},
        "formulas": FORMULAS,
    }
    _sizes(out, reference.has_error.astype(np.float64), reference.question)
    out["conditions"] = {
        condition: _condition(reference, verdicts, resample) for condition, verdicts in panel.verdicts.items()
    }
    return out


def _condition(reference: Reference, verdicts: Verdicts, resample: Resample) -> dict[str, dict[str, Any]]:
    rates = grader_rates(reference, verdicts, resample)
    corrected = crossed_correction(reference, verdicts, resample)
    found = {}
    for place, monitor in enumerate(rates.monitors):
        row: dict[str, Any] = {"n": int(rates.n[place])}
        for name in ("alpha", "alpha_wrong", "alpha_critical", "beta", "accepted", "theta"):
            put(row, name, getattr(rates, name)[:, place], NO_TRACE)
        put(row, "corrected", corrected[:, place], NO_HALF)
        spread = _variance(rates.accepted[1:, place])
        put_value(row, "accepted_variance", spread, NO_RESAMPLE)
        row |= _correction(row["accepted"], row["alpha"], row["beta"], spread)
        valid = verdicts.valid[place]
        right = (verdicts.flag[place] == reference.has_error)[valid].astype(np.float64)
        _sizes(row, right, reference.question[valid])
        found[monitor] = row
    return found


def _variance(samples: Floats) -> float:
    defined = samples[~np.isnan(samples)]
    return float(defined.var(ddof=1)) if len(defined) > 1 else float("nan")


def _sizes(out: dict[str, Any], values: Any, cluster: Any) -> None:
    rho = intraclass_correlation(values, cluster)
    put_value(out, "correlation", rho, NO_CORRELATION)
    put_value(out, "effective_size", effective_size(cluster, rho), NO_CORRELATION)


def _correction(
    accepted: float | None, alpha: float | None, beta: float | None, spread: float
) -> dict[str, Any]:
    """Return the factor by which correcting multiplies the variance, and the product, or why they are undefined."""
    reason, factor = NO_TRACE, float("nan")
    if accepted is not None and alpha is not None and beta is not None:
        try:
            factor = grading.variance_factor(alpha, beta)
            reason = NO_RESAMPLE
        except grading.OutsideDomain as error:
            reason = str(error)
    out: dict[str, Any] = {}
    put_value(out, "variance_factor", factor, reason)
    put_value(out, "corrected_variance", factor * spread, reason)
    return out
