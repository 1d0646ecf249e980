"""The report of a panel as one JSON-ready dict: names and nesting are the contract of `report --json`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from stats.bootstrap import Resample
from stats.ladder import climb
from stats.panel import Panel
from stats.report import certificates, judging, ladder, standard
from stats.report.options import CONVENTIONS, OWN, PUBLISHED, Options

__all__ = ["CONVENTIONS", "OWN", "PUBLISHED", "Options", "build_report"]


def build_report(
    panel: Panel, options: Options | None = None, *, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Compute every section that the panel has data for; `progress` is told each section's name first.

    Numbers are unrounded. Undefined ones are null with `<name>_reason`; a section nobody ran is absent.
    """
    chosen = options or Options()
    resample = Resample(panel.reference.n_questions, resamples=chosen.resamples, seed=chosen.seed)
    rungs = cache(lambda: climb(panel, resample))
    sections: dict[str, Callable[[], Any]] = {
        "reference": lambda: standard.reference_section(panel),
        "monitors": lambda: list(panel.monitors),
        "bootstrap": lambda: standard.bootstrap_section(resample, chosen),
        "arms": lambda: standard.arms_section(panel, resample),
        "detection": lambda: judging.detection_section(panel, resample),
        "localisation": lambda: judging.localisation_section(panel, resample, chosen),
        "ladder_recall": lambda: ladder.recall_section(panel, rungs()),
        "common_subset": lambda: ladder.common_subset_section(panel, rungs()),
        "contrasts": lambda: ladder.contrasts_section(panel, rungs(), resample),
        "answer_correct_subset": lambda: ladder.answer_correct_section(panel, rungs()),
        "critical_roles": lambda: ladder.roles_section(panel, rungs(), resample),
        "consensus_subset": lambda: ladder.consensus_section(panel, resample),
        "revision": lambda: ladder.revision_section(panel, resample),
        "step": lambda: judging.step_section(panel, resample),
        "certificate": lambda: certificates.section(panel, resample, chosen),
        "oracle": lambda: standard.oracle_section(panel, resample),
        "lengths": lambda: standard.lengths_section(panel),
        "warnings": lambda: judging.warnings_section(panel),
    }
    out: dict[str, Any] = {}
    for name, build in sections.items():
        if progress:
            progress(name)
        content = build()
        if content is not None:
            out[name] = content
    return out | ladder.headroom(out.get("contrasts", {}))
