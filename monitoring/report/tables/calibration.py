"""How far a monitor's confidence in an error can be trusted."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Cell, Table, figure, say, words
from monitoring.report.links import link


def calibration_tables(report: dict[str, Any]) -> list[Table]:
    """Brier scores."""
    rows = []
    for condition, section in report.get("calibration", {}).items():
        for monitor, row in section["monitors"].items():
            doubt = " (in the verdict?)" if row["confidence_in_the_verdict"] else ""
            run = {"condition": condition, "monitor": monitor}
            behind = link(**run, said="with a confidence")
            median = figure(row, "median_when_passing", digits=0)
            rows.append(
                (
                    words(condition),
                    words(monitor),
                    Cell(str(row["n"]), link=behind),
                    figure(row, "brier", link=behind),
                    figure(row, "brier_of_base_rate", bare=True, link=behind),
                    figure(row, "gap", link=behind),
                    Cell(
                        median.text + doubt,
                        reason=median.reason,
                        link="" if median.reason else link(**run, said="pass with a confidence"),
                    ),
                )
            )
    return [
        Table(
            section="calibration",
            key="calibration",
            title="Calibration of the confidence in an error",
            note=say(
                "Brier score: mean squared distance of confidence and truth; base rate: what always saying the share "
                "of errors would score. Gap: mean distance of confidence and share of errors over tenths of the scale. "
                "A median above 50 when passing suggests that the monitor gave its confidence in its verdict instead."
            ),
            columns=("condition", "monitor", "n", "Brier", "base rate", "gap", "median when passing"),
            rows=tuple(rows),
            folded=True,
        )
    ]
