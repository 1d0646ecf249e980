"""Sections on the standard itself: counts, the arms behind it, the conclusion-only oracle, lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from stats import detection as detecting
from stats.agreement import BinaryAgreement, arm_agreement
from stats.bootstrap import FEW_CLUSTERS, Resample
from stats.document import put, put_value
from stats.lengths import mann_whitney
from stats.panel import CELLS, Bools, Panel, Reference
from stats.report.options import Options

NO_LENGTH = "a trace on which both arms named a step has an unknown number of steps"
ONE_STEP = "steps named at random always agree where traces have one step"


def reference_section(panel: Panel) -> dict[str, Any]:
    """Count the standard: traces, questions, cells."""
    reference = panel.reference
    return {
        "traces": reference.n_traces,
        "questions": reference.n_questions,
        "clean": int(reference.clean.sum()),
        "wrong": int(reference.wrong.sum()),
        "critical": int(reference.critical.sum()),
        "final_correct": int(reference.final_correct.sum()),
        "clean_with_wrong_answer": int((reference.clean & ~reference.final_correct).sum()),
    }


def bootstrap_section(resample: Resample, options: Options) -> dict[str, Any]:
    """Say how the intervals were made."""
    return {
        "resamples": resample.resamples,
        "seed": resample.seed,
        "clusters": resample.n_clusters,
        "few_clusters": resample.n_clusters < FEW_CLUSTERS,
        "convention": options.convention,
    }


def put_clusters(out: dict[str, Any], reference: Reference, traces: Bools) -> None:
    """Write in how many questions some traces (n_traces,) lie, and whether that is too few for an interval."""
    questions = reference.questions_with(traces)
    out["questions"] = questions
    out["few_clusters"] = questions < FEW_CLUSTERS


def arms_section(panel: Panel, resample: Resample) -> dict[str, Any] | None:
    """Agreement of the arms; None where neither arm left its labels. Symmetric under exchange of the arms."""
    reference = panel.reference
    if not (reference.human.spoke.any() or reference.debate.spoke.any()):
        return None
    found = arm_agreement(reference, resample)
    out: dict[str, Any] = {"joint": found.joint, "one_arm_only": found.one_arm_only}
    for name, binary in (
        ("final_correct", found.final_correct),
        ("error_presence", found.error_presence),
    ):
        put(out, f"{name}_agreement", binary.percent, binary.reason)
        _put_coefficients(out, name, binary)
    out["both_named_step"] = found.both_named_step
    nothing = "there is no trace on which both arms named a step"
    put(out, "exact_step_agreement", found.exact_step, nothing)
    put(out, "step_within_one_agreement", found.step_within_one, nothing)
    no_chance = NO_LENGTH if found.both_named_step else nothing
    put(out, "chance_step_agreement", found.chance_step, no_chance)
    no_skill = no_chance if out["chance_step_agreement"] is None else ONE_STEP
    put(out, "step_agreement_above_chance", found.step_skill, no_skill)
    put(out, "step_distance", found.step_distance, nothing)
    put_value(out, "step_alpha", found.step_alpha.value, found.step_alpha.reason)
    return out


def _put_coefficients(out: dict[str, Any], name: str, binary: BinaryAgreement) -> None:
    put(out, f"{name}_kappa", binary.kappa, binary.reason)
    put(out, f"{name}_alpha", binary.alpha, binary.reason)
    put(out, f"{name}_ac1", binary.ac1, binary.reason)


def oracle_section(panel: Panel, resample: Resample) -> dict[str, Any]:
    """The baseline that knows only whether the final answer is right."""
    found = detecting.oracle(panel.reference, resample)
    out: dict[str, Any] = {}
    put(out, "sensitivity", found.sensitivity, "the standard has no trace with an error")
    put(out, "specificity", found.specificity, "the standard has no trace without an error")
    put(out, "balanced_accuracy", found.balanced_accuracy, "the standard lacks one of the two classes")
    put(out, "critical_recall", found.critical_recall, "the standard has no critical trace")
    found_step = 0.0 if panel.reference.has_error.any() else np.nan  # it names no step
    put_value(out, "L0", found_step, "the standard has no trace with an error")
    return out


def lengths_section(panel: Panel) -> dict[str, Any]:
    """Numbers of steps by cell, and whether wrong and critical traces differ in length."""
    reference = panel.reference
    known = reference.n_steps > 0
    out: dict[str, Any] = {}
    for cell in CELLS:
        n_steps = reference.n_steps[reference.cell(cell) & known]
        row: dict[str, Any] = {"n": len(n_steps)}
        numbers = np.percentile(n_steps, [0, 25, 50, 75, 100]) if len(n_steps) else np.full(5, np.nan)
        mean = float(n_steps.mean()) if len(n_steps) else np.nan
        for name, value in zip(
            ("min", "lower_quartile", "median", "upper_quartile", "max", "mean"),
            (*numbers, mean),
            strict=True,
        ):
            put_value(row, name, float(value), f"no {cell} trace with a known number of steps")
        out[cell] = row
    test = mann_whitney(
        reference.n_steps[reference.wrong & known], reference.n_steps[reference.critical & known]
    )
    compared: dict[str, Any] = {}
    for name in ("u", "z", "p"):
        put_value(compared, name, getattr(test, name), "needs wrong and critical traces of known length")
    out["wrong_vs_critical"] = compared
    return out
