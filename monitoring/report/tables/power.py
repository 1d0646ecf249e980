"""How many questions a change needs to be seen."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import MINUS, Cell, Table, counted, figure, say, words
from monitoring.report.links import ALL, BEHIND, link
from monitoring.report.tables.titles import FIGURES


def power_tables(report: dict[str, Any]) -> list[Table]:
    """Questions needed for a difference."""
    section = report.get("power")
    if not section:
        return []
    conditions = section["contrast"].replace("-", ",")
    differences = [
        entry["difference"] for entry in section["statistics"]["balanced_accuracy"]["questions_needed"]
    ]
    rows = [
        (
            words(FIGURES[name]),
            figure(row, "spread", link=link(condition=conditions, **BEHIND[name])),
            *(
                Cell(
                    f"more than {section['largest_tried']}"
                    if entry["questions"] is None
                    else str(entry["questions"]),
                    f"({entry['power_here']:.0%} here)",
                    link=link(condition=conditions, **BEHIND[name]),
                )
                for entry in row["questions_needed"]
            ),
        )
        for name, row in section["statistics"].items()
    ]
    return [
        Table(
            section="power",
            key="power",
            title=f"Questions needed to resolve a change {section['contrast'].replace('-', f' {MINUS} ')}",
            note=say(
                "Studies of other sizes are drawn from the questions of this one, monitors as they are. Needed: the "
                "smallest number tried at which the 95% interval leaves 0 out in 80% of studies. In brackets the "
                "chance with the {} here.",
                counted(section["observed_questions"], "question", ALL),
            ),
            columns=("mean change of", "spread here", *(f"{d:g}" for d in differences)),
            rows=tuple(rows),
        )
    ]
