"""The table of grading error: monitors as graders of the study's own traces."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import MINUS, Table, Words, count, figure, say, told, words
from monitoring.report.links import ALL, link

TITLE = "Monitors as graders"


def grading_tables(report: dict[str, Any]) -> list[Table]:
    """What monitors let pass and refuse wrongly, what correcting for it gives, and what clustering leaves."""
    section = report.get("grading")
    if not section:
        return []
    rows = [
        (
            words(condition),
            words(monitor),
            count(record["n"], link(**run)),
            *(
                figure(record, name, link=link(**run, cell=cell))
                for name, cell in (
                    ("alpha_wrong", "wrong"),
                    ("alpha_critical", "critical"),
                    ("beta", "clean"),
                )
            ),
            figure(record, "accepted", bare=True, link=link(**run)),
            figure(record, "corrected", link=link(**run)),
            figure(record, "corrected_variance", digits=5, link=link(**run)),
            figure(record, "correlation", link=link(**run)),
            figure(record, "effective_size", digits=1, link=link(**run)),
        )
        for condition, monitors in section["conditions"].items()
        for monitor, record in monitors.items()
        for run in [{"condition": condition, "monitor": monitor, "said": "valid"}]
    ]
    return [
        Table(
            section="grading",
            key="grading",
            title=TITLE,
            note=(
                *say(
                    f"α: what passes of the traces with an error; β: what is flagged of the clean ones. Corrected: "
                    f"(V {MINUS} α) / (1 {MINUS} α {MINUS} β), what passes in one half of the questions corrected by "
                    "the rates of the other; undefined unless α + β < 1. Its variance takes the rates as known. ρ: "
                    "correlation within a question of a monitor's being right. "
                ),
                *_study(section),
            ),
            columns=(
                *("condition", "monitor", "verdicts", "α, wrong", "α, critical", "β, clean", "passes, V"),
                *("corrected", "its variance", "ρ", "n eff"),
            ),
            rows=tuple(rows),
        )
    ]


def _study(section: dict[str, Any]) -> Words:
    """Say what clustering leaves of the study's traces."""
    rho, size = (
        told(figure(section, name, digits=d, link=ALL))
        for name, d in (("correlation", 3), ("effective_size", 1))
    )
    return say(
        "Of the study: correlation of errors within a question {}; its {} traces are worth {}.",
        rho,
        count(section["traces"], ALL),
        size,
    )
