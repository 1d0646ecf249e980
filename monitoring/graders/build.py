"""Grading error of a study's own monitors, from stored verdicts and a frozen standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudication.models import ReferenceStandard
from annotation.models import Study
from monitoring.report.source import load
from stats.bootstrap import Resample
from stats.document import put, put_value
from stats.graders import effective_size, grader_rates, intraclass_correlation
from stats.panel import Reference, Verdicts
from verification import grading

RESAMPLES = 1_000
NO_TRACE = "no valid verdict in this cell"
NO_CORRELATION = "no question has two such traces, or all are alike"


def grading_error(
    study: Study, standard: ReferenceStandard, *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Return alpha and beta of every monitor by condition and cell, with intervals by question, and sizes.

    {"traces", "questions", "correlation", "effective_size", "bootstrap", "conditions": {COND: {M: {...}}}};
    undefined figures are null with their reason beside them.
    """
    panel = load(study, standard).panel
    reference = panel.reference
    resample = Resample(reference.n_questions, resamples=resamples, seed=seed)
    out: dict[str, Any] = {
        "standard": standard.version,
        "traces": reference.n_traces,
        "questions": reference.n_questions,
        "bootstrap": {"resamples": resamples, "seed": seed},
    }
    _sizes(out, reference.has_error.astype(np.float64), reference.question)
    out["conditions"] = {
        condition: _condition(reference, verdicts, resample) for condition, verdicts in panel.verdicts.items()
    }
    return out


def _condition(reference: Reference, verdicts: Verdicts, resample: Resample) -> dict[str, dict[str, Any]]:
    rates = grader_rates(reference, verdicts, resample)
    found = {}
    for place, monitor in enumerate(rates.monitors):
        row: dict[str, Any] = {"n": int(rates.n[place])}
        for name in ("alpha", "alpha_wrong", "alpha_critical", "beta", "accepted", "theta"):
            put(row, name, getattr(rates, name)[:, place], NO_TRACE)
        row |= _correction(row["accepted"], row["alpha"], row["beta"])
        valid = verdicts.valid[place]
        right = (verdicts.flag[place] == reference.has_error)[valid].astype(np.float64)
        _sizes(row, right, reference.question[valid])
        found[monitor] = row
    return found


def _sizes(out: dict[str, Any], values: Any, cluster: Any) -> None:
    rho = intraclass_correlation(values, cluster)
    put_value(out, "correlation", rho, NO_CORRELATION)
    put_value(out, "effective_size", effective_size(cluster, rho), NO_CORRELATION)


def _correction(accepted: float | None, alpha: float | None, beta: float | None) -> dict[str, Any]:
    """Return the factor by which correcting for these rates would multiply the variance, or why it is undefined."""
    if accepted is None or alpha is None or beta is None:
        return {"variance_factor": None, "variance_factor_reason": NO_TRACE}
    try:
        return {"variance_factor": grading.variance_factor(alpha, beta)}
    except grading.OutsideDomain as error:
        return {"variance_factor": None, "variance_factor_reason": str(error)}
