"""Monitors beside each other, the panel without each, ProcessBench's numbers."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import MINUS, Cell, Table, figure, say, words
from monitoring.report.links import BEHIND, link


def leave_one_out_tables(report: dict[str, Any]) -> list[Table]:
    """Panel means without each monitor."""
    section = report.get("leave_one_out", {})
    shown = [c for c in ("BLIND", "CERT") if any(c in row for row in section.values())] or list(
        report.get("detection", {})
    )[:1]
    rows = []
    for monitor, row in section.items():
        cells = [
            figure(row.get(c, {}), name, link=link(condition=c, without=monitor, **BEHIND[name]))
            for name in ("balanced_accuracy", "L0")
            for c in shown
        ]
        pairs = {"condition": "CERT", "said": "valid", "valid": "BLIND", "cell": "error", "among": "common"}
        changed = figure(
            row.get("CERT-BLIND", {}), "difference", signed=True, link=link(without=monitor, **pairs)
        )
        rows.append((words(f"without {monitor}"), *cells, changed))
    titles = [f"{title}, {c}" for title in ("balanced accuracy", "L0") for c in shown]
    return [
        Table(
            section="comparison",
            key="leave_one_out",
            title="The panel without each monitor",
            note=say(
                f"Means over the others. Difference: CERT {MINUS} BLIND on wrong traces less the same on critical "
                "ones."
            ),
            columns=("", *titles, "difference"),
            rows=tuple(rows),
        )
    ]


def pairwise_tables(report: dict[str, Any]) -> list[Table]:
    """Monitors beside each other, one table a condition."""
    return [
        Table(
            section="comparison",
            key=f"pairwise_{condition.lower()}",
            title=f"Monitors beside each other under {condition}",
            note=say(
                "First less second on the traces that both judged, paired within traces and resamples; an interval "
                "that leaves 0 out resolves the two."
            ),
            columns=("first", "second", "n", "balanced accuracy", "L0"),
            rows=tuple(
                (
                    words(row["first"]),
                    words(row["second"]),
                    Cell(str(row["n"]), link=link(**pair, said="valid")),
                    figure(row, "balanced_accuracy", signed=True, link=link(**pair, said="valid")),
                    figure(row, "L0", signed=True, link=link(**pair, cell="error")),
                )
                for row in rows
                for pair in [{"condition": condition, "monitor": row["first"], "beside": row["second"]}]
            ),
            folded=True,
        )
        for condition, rows in report.get("pairwise", {}).items()
    ]


def processbench_tables(report: dict[str, Any]) -> list[Table]:
    """ProcessBench's numbers."""
    rows = []
    for condition, section in report.get("processbench", {}).items():
        for monitor, row in [*section["monitors"].items(), ("mean", section["mean"])]:
            named = {} if monitor == "mean" else {"monitor": monitor}
            rows.append(
                (
                    words(condition),
                    words(monitor),
                    figure(row, "error_accuracy", link=link(condition=condition, cell="error", **named)),
                    figure(row, "correct_accuracy", link=link(condition=condition, cell="clean", **named)),
                    figure(row, "harmonic_mean", link=link(condition=condition, **named)),
                )
            )
    return [
        Table(
            section="comparison",
            key="processbench",
            title="ProcessBench's numbers",
            note=say(
                "Accuracy on erroneous traces (the step named is the first false one), on the others (no error is "
                "reported), and their harmonic mean. A failed verdict counts as wrong."
            ),
            columns=("condition", "monitor", "erroneous", "without an error", "harmonic mean"),
            rows=tuple(rows),
            folded=True,
        )
    ]
