"""The report of a panel as one JSON-ready dict: names and nesting are the contract of `report --json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stats.panel import Panel
from stats.report import certificates, comparing, dependence, judging, ladder, standard
from stats.report.options import CONVENTIONS, OWN, PUBLISHED, Options
from stats.report.workings import Workings

__all__ = ["CONVENTIONS", "OWN", "PUBLISHED", "Options", "build_report"]


def build_report(
    panel: Panel, options: Options | None = None, *, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Compute every section that the panel has data for; `progress` is told each section's name first.

    Numbers are unrounded. Undefined ones are null with `<name>_reason`; a section nobody ran is absent.
    """
    chosen = options or Options()
    work = Workings(panel, chosen)
    resample = work.resample
    sections: dict[str, Callable[[], Any]] = {
        "reference": lambda: standard.reference_section(panel),
        "monitors": lambda: list(panel.monitors),
        "bootstrap": lambda: standard.bootstrap_section(resample, chosen),
        "arms": lambda: standard.arms_section(panel, resample),
        "detection": lambda: judging.detection_section(work),
        "localisation": lambda: judging.localisation_section(work),
        "ladder_recall": lambda: ladder.recall_section(panel, work.ladder),
        "common_subset": lambda: ladder.common_subset_section(panel, work.ladder),
        "contrasts": lambda: ladder.contrasts_section(panel, work.ladder, resample),
        "answer_correct_subset": lambda: ladder.answer_correct_section(panel, work.ladder),
        "critical_roles": lambda: ladder.roles_section(panel, work.ladder, resample),
        "consensus_subset": lambda: ladder.consensus_section(panel, resample),
        "revision": lambda: ladder.revision_section(panel, resample),
        "step": lambda: judging.step_section(panel, resample),
        "certificate": lambda: certificates.section(panel, resample, chosen),
        "processbench": lambda: comparing.processbench_section(work),
        "pairwise": lambda: comparing.pairwise_section(work),
        "leave_one_out": lambda: comparing.leave_one_out_section(work),
        "involvement": lambda: dependence.involvement_section(work),
        "dependence": lambda: dependence.dependence_section(work),
        "by_arm": lambda: dependence.by_arm_section(work),
        "calibration": lambda: comparing.calibration_section(work),
        "positions": lambda: comparing.positions_section(work),
        "questions": lambda: comparing.questions_section(work),
        "power": lambda: comparing.power_section(work),
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
