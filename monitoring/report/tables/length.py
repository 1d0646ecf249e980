"""STEP against the length of traces, and which step flags name."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Cell, Table, count, figure, say, words
from monitoring.report.links import link
from monitoring.report.tables.titles import CELL_TITLES


def length_tables(report: dict[str, Any]) -> list[Table]:
    """STEP against length, and how often flags name the last step."""
    bands = report.get("step", {}).get("by_length", [])
    rows = [
        (
            words(f"{band['from_steps']} to {band['to_steps']}"),
            count(band["traces"], link(steps=steps)),
            count(band["error_traces"], link(steps=steps, cell="error")),
            words(condition),
            *(
                figure(
                    band[condition], n, link=link(condition=condition, steps=steps, said="valid", cell=cell)
                )
                for n, cell in (("sensitivity", "error"), ("specificity", "clean"), ("balanced_accuracy", ""))
            ),
        )
        for band in bands
        for steps in [f"{band['from_steps']}-{band['to_steps']}"]
        for condition in ("STEP", "BLIND")
        if condition in band
    ]
    out = [
        Table(
            section="length",
            key="step_by_length",
            title="STEP and BLIND against the length of traces",
            note=say(
                "Means over monitors, in quarters of the traces by number of steps. Under STEP every step is a chance "
                "to flag."
            ),
            columns=(
                "steps",
                "traces",
                "erroneous",
                "condition",
                "sensitivity",
                "specificity",
                "balanced accuracy",
            ),
            rows=tuple(rows),
        )
    ]
    rows = [
        (
            words(condition),
            words(CELL_TITLES[cell]),
            Cell(str(row["n"]), link=link(condition=condition, cell=cell, place="named")),
            figure(row, "last_step", link=link(condition=condition, cell=cell, place="named")),
            count(row["no_step"], link(condition=condition, cell=cell, place="none")),
        )
        for condition, cells in report.get("positions", {}).get("by_condition", {}).items()
        for cell, row in cells.items()
    ]
    out.append(
        Table(
            section="length",
            key="positions",
            title="Which step flags name",
            note=say("Pooled over monitors; flags on clean traces are false alarms."),
            columns=("condition", "cell", "flags with a step", "share on the last step", "without a step"),
            rows=tuple(rows),
            folded=True,
        )
    )
    return out
