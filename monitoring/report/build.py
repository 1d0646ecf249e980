"""A study's report as one JSON document, to the contract of `report --json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import stats
from adjudication.models import ReferenceStandard
from annotation.models import Study
from monitoring.graders import build as graders
from monitoring.report import source as sources
from monitoring.report.selection import Selection
from stats.report import Options

# Besides stats/: what can change a number, from the reading of the data to the last formula.
COMPUTING = (
    "monitoring/engine/authorship.py",
    "monitoring/graders/build.py",
    "monitoring/report/build.py",
    "monitoring/report/involvement.py",
    "monitoring/report/selection.py",
    "monitoring/report/source.py",
    "verification/grading.py",
)


@cache
def code_version() -> str:
    """Return the sha256 of what computes a report: the statistics, and the reading of their data."""
    digest = hashlib.sha256(stats.code_version().encode())
    root = Path(__file__).resolve().parents[2]
    for name in COMPUTING:
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def report_key(
    standard: ReferenceStandard, fingerprint: str, options: Options, selection: Selection | None = None
) -> str:
    """Return the name under which a report is stored: all that could change one of its numbers."""
    parts = [
        standard.sha256,
        standard.version,
        fingerprint,
        options.resamples,
        options.seed,
        options.convention,
        options.studies,
        (selection or Selection()).parts,
        code_version(),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def build(
    source: sources.Source,
    study: Study,
    standard: ReferenceStandard,
    options: Options,
    *,
    selection: Selection | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Compute the report of loaded data. Numbers are unrounded; the same data give the same document."""
    named = {"study": study.slug, "version": standard.version, "sha256": standard.sha256}
    return build_named(source, named, options, selection=selection, progress=progress)


def build_named(
    source: sources.Source,
    named: dict[str, Any],
    options: Options,
    *,
    selection: Selection | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Compute the report of data from anywhere; `named` holds study, version and sha256 of the standard."""
    computed = stats.build_report(source.panel, options, progress=progress)
    reference = {
        **named,
        **computed.pop("reference"),
        "not_ready": source.not_ready,
        "provenance": source.provenance,
    }
    if selection is not None and selection.parts:
        reference["selection"] = selection.parts
    warnings = [*_partial_runs(source), *computed.pop("warnings")]
    return {
        "reference": reference,
        "verdicts": {"sha256": source.verdicts_sha256, "runs": sources.described(source)},
        **computed,
        "outcomes": source.outcomes,
        "grading": graders.section(source.panel, resamples=options.resamples, seed=options.seed),
        "warnings": warnings,
        "code": {"sha256": code_version()},
    }


TELLING = frozenset({"by_arm", "involvement"})


def for_the_blind(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what tells arms or generators apart: for a lead who has disputes to decide."""
    return {name: content for name, content in document.items() if name not in TELLING}


def _partial_runs(source: sources.Source) -> list[dict[str, Any]]:
    return [
        {
            "kind": "partial_run",
            "condition": run.condition,
            "monitor": run.monitor,
            "verdicts": run.n_verdicts,
            "text": f"{run.monitor} under {run.condition}: the run of batch {run.batch} is {run.status}; its "
            f"{run.n_verdicts} verdicts so far are used",
        }
        for run in source.runs
        if run.status != "finished"
    ]
