"""Verdicts that are not ok, and what the numbers would be whatever they had said."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import MINUS, Cell, Table, count, say, words
from monitoring.report.links import link


def outcome_tables(report: dict[str, Any]) -> list[Table]:
    """What became of the verdicts, for the runs where some failed."""
    kinds = sorted(
        {
            kind
            for monitors in report.get("outcomes", {}).values()
            for outcomes in monitors.values()
            for kind in outcomes
        },
        key=lambda kind: (kind != "ok", kind),
    )
    rows = [
        (
            words(condition),
            words(monitor),
            *(
                count(outcomes.get(kind, 0), link(condition=condition, monitor=monitor, said=kind))
                for kind in kinds
            ),
        )
        for condition, monitors in report.get("outcomes", {}).items()
        for monitor, outcomes in monitors.items()
        if set(outcomes) != {"ok"}
    ]
    return [
        Table(
            section="outcomes",
            key="outcomes",
            title="Verdicts that are not ok",
            note=say(
                "On the traces of the standard; runs without a failure are not listed. "
                "Anything but ok is left out of detection, save an inconsistent verdict, whose flag counts; in "
                "localisation it is a miss."
            ),
            columns=("condition", "monitor", *(kind.replace("_", " ") for kind in kinds)),
            rows=tuple(rows),
        )
    ]


def bounds_tables(report: dict[str, Any]) -> list[Table]:
    """What the numbers would be if failed verdicts had said one thing or the other."""
    rows = []
    for condition, section in report.get("detection", {}).items():
        placed = report["localisation"][condition]
        for monitor, row in [*section["monitors"].items(), ("mean", section["mean"])]:
            if "bounds" not in row:
                continue
            passes, flags = (row["bounds"][f"failures_as_{what}"] for what in ("passes", "flags"))
            named = {"condition": condition, "monitor": "" if monitor == "mean" else monitor}
            where = placed["mean"] if monitor == "mean" else placed["monitors"][monitor]
            bounds = where.get("L0_bounds")
            rows.append(
                (
                    words(condition),
                    words(monitor),
                    Cell(str(row["failures"]), link=link(condition=condition, monitor=monitor, said="failed"))
                    if "failures" in row
                    else words(""),
                    *(
                        _between(passes[name], flags[name], link=link(**named, cell=cell))
                        for name, cell in (
                            ("sensitivity", "error"),
                            ("specificity", "clean"),
                            ("balanced_accuracy", ""),
                        )
                    ),
                    _between(*bounds, link=link(**named, cell="error"))
                    if bounds
                    else Cell("as it is", reason="no failed verdict on an erroneous trace"),
                )
            )
    recall = [
        (
            words(condition),
            words(f"mean recall, {cell}"),
            words(""),
            _between(
                *(section[cell]["bounds"][f"failures_as_{what}"] for what in ("passes", "flags")),
                link=link(condition=condition, cell=cell, among="given"),
            ),
        )
        for condition, section in report.get("ladder_recall", {}).items()
        if condition != "n"
        for cell in ("wrong", "critical")
        if "bounds" in section[cell]
    ]
    changes = [
        (
            words(name.replace("-", f" {MINUS} ")),
            words(f"change, {cell}"),
            words(""),
            _between(*record["bounds"], link=link(**_pair(name), cell=cell, among="given")),
        )
        for name, section in report.get("contrasts", {}).items()
        for cell in ("clean", "wrong", "critical")
        for record in [section[cell]]
        if "bounds" in record
    ] + [
        (
            words(name.replace("-", f" {MINUS} ")),
            words("change of flag rate"),
            words(""),
            _between(
                *record["bounds"],
                link=link(**_pair(name), cell="clean" if "CCONFLICT" in name else "wrong"),
            ),
        )
        for name, record in report.get("certificate", {}).items()
        if isinstance(record, dict) and "bounds" in record
    ]
    return [
        Table(
            section="outcomes",
            key="bounds",
            title="Whatever the failed verdicts had said",
            note=say(
                "From every failure a pass to every failure a flag; for L0, from a miss to an exact hit. "
                "Denominators are all traces that the monitor was given."
            ),
            columns=(
                "condition",
                "monitor",
                "failed",
                "sensitivity",
                "specificity",
                "balanced accuracy",
                "L0",
            ),
            rows=tuple(rows),
            folded=True,
        ),
        Table(
            section="outcomes",
            key="bounds_of_changes",
            title="Recalls and changes, whatever the failed verdicts had said",
            note=say("Least and most of the mean over monitors."),
            columns=("condition", "of", "", "least to most"),
            rows=(*recall, *changes),
            folded=True,
        ),
    ]


def _pair(contrast: str) -> dict[str, str]:
    """Traces that a monitor was given under both conditions of a contrast."""
    later, earlier = contrast.split("-")
    return {"condition": later, "given": earlier}


def _between(first: float | None, second: float | None, *, link: str) -> Cell:
    if first is None or second is None:
        return Cell("–", reason="undefined")
    least, most = sorted((first, second))
    text = f"{least:.3f}" if f"{least:.3f}" == f"{most:.3f}" else f"{least:.3f} to {most:.3f}"
    return Cell(text.replace("-", MINUS), link=link)
