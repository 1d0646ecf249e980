"""Two standards beside each other: the same verdicts scored against both, figure by figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjudication.models import ReferenceStandard
from monitoring.report.cells import Cell, Table, count, figure, say, words
from monitoring.report.links import ALL, BEHIND, certificate_pairs, link, recall_pairs
from stats.panel import CELLS

MAIN = (
    ("detection", "balanced_accuracy", "balanced accuracy"),
    ("detection", "sensitivity", "sensitivity"),
    ("detection", "specificity", "specificity"),
    ("detection", "auc", "AUC"),
    ("localisation", "L0", "L0"),
    ("localisation", "L1", "L1"),
)
COUNTS = ("traces", "questions", "clean", "wrong", "critical")


@dataclass(frozen=True)
class Beside:
    """One figure under both standards: where it belongs, and the records that hold it with its interval.

    `link` asks for the traces behind it, under whichever standard.
    """

    group: str
    who: str
    name: str
    title: str
    before: dict[str, Any]
    after: dict[str, Any]
    link: str

    @property
    def change(self) -> float | None:
        """After minus before; None where one of them is undefined."""
        first, second = self.before.get(self.name), self.after.get(self.name)
        return None if first is None or second is None else second - first

    @property
    def moves(self) -> bool:
        """Whether the figure reads differently, to the three decimals that are printed."""
        first, second = self.before.get(self.name), self.after.get(self.name)
        if first is None or second is None:
            return (first is None) != (second is None)
        return f"{first:.3f}" != f"{second:.3f}"


def changed_labels(before: ReferenceStandard, after: ReferenceStandard) -> int:
    """How many traces have another status, answer or step in the second standard, or are in one alone."""
    fields = ("trace_id", "status", "final_correct", "first_error_step")
    first, second = ({row[0]: row[1:] for row in s.labels.values_list(*fields)} for s in (before, after))
    return sum(first.get(trace) != second.get(trace) for trace in first.keys() | second.keys())


def figures_beside(before: dict[str, Any], after: dict[str, Any]) -> list[Beside]:
    """Pair the main figures of two reports: by condition and monitor, means, contrasts, arms, oracle."""
    out: list[Beside] = []
    for section, name, title in MAIN:
        for condition, content in after.get(section, {}).items():
            other = before.get(section, {}).get(condition, {})
            known = other.get("monitors", {})
            for monitor, record in content["monitors"].items():
                behind = link(condition=condition, monitor=monitor, **BEHIND[name])
                out.append(Beside(condition, monitor, name, title, known.get(monitor, {}), record, behind))
            behind = link(condition=condition, **BEHIND[name])
            out.append(Beside(condition, "mean", name, title, other.get("mean", {}), content["mean"], behind))
    for contrast, content in after.get("contrasts", {}).items():
        other = before.get("contrasts", {}).get(contrast, {})
        for cell in ("wrong", "critical", "difference"):
            behind = link(**recall_pairs(contrast, cell))
            before_it, title = other.get(cell, {}), f"change, {cell}"
            out.append(Beside(contrast, "mean", "estimate", title, before_it, content[cell], behind))
    for contrast, content in after.get("certificate", {}).items():
        if isinstance(content, dict) and "estimate" in content:
            other = before.get("certificate", {}).get(contrast, {})
            behind = link(**certificate_pairs(contrast))
            out.append(Beside(contrast, "mean", "estimate", "change of flag rate", other, content, behind))
    for name in ("final_correct_agreement", "error_presence_agreement", "exact_step_agreement"):
        if name in after.get("arms", {}):
            title = name.replace("_", " ")
            behind = link(arms="both named a step" if "step" in name else "both")
            out.append(Beside("arms", "both", name, title, before.get("arms", {}), after["arms"], behind))
    for name, behind in (("balanced_accuracy", ALL), ("critical_recall", link(cell="critical"))):
        title = name.replace("_", " ")
        out.append(Beside("oracle", "", name, title, before["oracle"], after["oracle"], behind))
    return out


def comparison(
    before: dict[str, Any], after: dict[str, Any], *, changed: int | None = None
) -> dict[str, Any]:
    """Return both columns as one document: `report --compare --json`."""
    return {
        "standards": [
            {name: report["reference"][name] for name in ("study", "version", "sha256", *COUNTS)}
            for report in (before, after)
        ],
        "changed_labels": changed,
        "verdicts": {"sha256": [report["verdicts"]["sha256"] for report in (before, after)]},
        "figures": [
            {
                "group": row.group,
                "who": row.who,
                "figure": row.title,
                "values": [record.get(row.name) for record in (row.before, row.after)],
                "values_ci": [
                    record.get(f"{row.name}_ci" if row.name != "estimate" else "ci")
                    for record in (row.before, row.after)
                ],
                "change": row.change,
                **({"change_reason": "undefined under one of them"} if row.change is None else {}),
            }
            for row in figures_beside(before, after)
        ],
    }


def comparison_tables(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    moving_only: bool = False,
    traces: tuple[str, str, str] | None = None,
) -> list[Table]:
    """Both columns as tables, one per condition or contrast; `moving_only` leaves out figures that stay.

    `traces` are the addresses that a figure's query is put behind: of the first column, the second, the change.
    """
    first, second = (report["reference"]["version"] for report in (before, after))

    def lead(column: int, query: str) -> str:
        return traces[column] + query if traces else ""

    columns = (f"standard {first}", f"standard {second}", "change")
    tables = [
        Table(
            section="counts",
            key="counts",
            title="The two standards",
            note=say("Ready traces, by cell."),
            columns=("", *columns),
            rows=tuple(
                (
                    words(name),
                    count(before["reference"][name], lead(0, query)),
                    count(after["reference"][name], lead(1, query)),
                    Cell(
                        f"{after['reference'][name] - before['reference'][name]:+d}".replace("-", "−"),
                        link=lead(2, query),
                    ),
                )
                for name in COUNTS
                for query in [link(cell=name) if name in CELLS else ALL]
            ),
        )
    ]
    groups: dict[str, list[Beside]] = {}
    for row in figures_beside(before, after):
        if row.moves or not moving_only:
            groups.setdefault(row.group, []).append(row)
    for group, rows in groups.items():
        tables.append(
            Table(
                section="figures",
                key=f"beside_{group.lower()}",
                title=group.replace("-", " − "),
                note=say("The same verdicts, scored against both standards."),
                columns=("figure", "of", *columns),
                rows=tuple(
                    (
                        words(row.title),
                        words(row.who),
                        *(
                            figure(
                                said,
                                row.name,
                                ci=_ci(row),
                                signed=row.name == "estimate",
                                link=lead(side, row.link),
                            )
                            for side, said in enumerate((row.before, row.after))
                        ),
                        figure(
                            {"change": row.change, "change_reason": "undefined under one"},
                            "change",
                            signed=True,
                            link=lead(2, row.link),
                        ),
                    )
                    for row in rows
                ),
            )
        )
    return tables


def _ci(row: Beside) -> str:
    return "ci" if row.name == "estimate" else ""
