"""The report's tables, once: printed, typeset and shown from the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MINUS = "−"
CELL_TITLES = {"wrong": "wrong answer", "critical": "critical", "clean": "clean"}


@dataclass(frozen=True)
class Cell:
    """A cell: the words shown, the interval beside them if any, and why a number is missing."""

    text: str
    interval: str = ""
    reason: str = ""
    number: bool = True

    def __str__(self) -> str:
        return f"{self.text} {self.interval}" if self.interval else self.text


@dataclass(frozen=True)
class Table:
    """A table with its title, the words under it, and rows of cells; the last `totals` rows are sums.

    `section` is the part of the report that it belongs to.
    """

    section: str
    key: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    totals: int = 0

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Each column's title with whether it holds numbers."""
        return [(title, self.rows[0][place].number) for place, title in enumerate(self.columns)]

    @property
    def body(self) -> list[tuple[bool, tuple[Cell, ...]]]:
        """Each row with whether it is a total."""
        first_total = len(self.rows) - self.totals
        return [(number >= first_total, row) for number, row in enumerate(self.rows)]


def words(text: str) -> Cell:
    """Return a cell of words."""
    return Cell(text, number=False)


def count(value: int) -> Cell:
    """Return a cell of a count."""
    return Cell(str(value))


def figure(
    record: dict[str, Any],
    name: str,
    *,
    ci: str = "",
    digits: int = 3,
    signed: bool = False,
    bare: bool = False,
) -> Cell:
    """Return `name` of a record, rounded for show, with its interval; a dash where it is undefined.

    `bare` leaves the interval to the JSON and CSV: a table with too many of them is not read.
    """
    value = record.get(name)
    if value is None:
        return Cell("–", reason=record.get(f"{name}_reason", "not computed"))
    sign = "+" if signed else ""
    bounds = None if bare else record.get(ci or f"{name}_ci")
    shown = f"[{bounds[0]:{sign}.{digits}f}, {bounds[1]:{sign}.{digits}f}]" if bounds else ""
    return Cell(f"{value:{sign}.{digits}f}".replace("-", MINUS), shown.replace("-", MINUS))


def tables(report: dict[str, Any]) -> list[Table]:
    """Return the tables that a report has data for, in the order of reading."""
    made = [
        *detection_tables(report),
        *localisation_tables(report),
        *recall_tables(report),
        *contrast_tables(report),
        *certificate_tables(report),
        *revision_tables(report),
        *arms_tables(report),
        *outcome_tables(report),
    ]
    return [table for table in made if table.rows]


DETECTION = (
    ("flag_rate", "flag rate"),
    ("sensitivity", "sensitivity"),
    ("specificity", "specificity"),
    ("balanced_accuracy", "balanced accuracy"),
    ("auc", "AUC"),
)
BARE = frozenset({"flag_rate", "L0_chance"})


def detection_tables(report: dict[str, Any]) -> list[Table]:
    """One table of detection per condition, monitors in order of balanced accuracy, the mean last."""
    out = []
    for condition, section in report.get("detection", {}).items():
        monitors = sorted(
            section["monitors"].items(), key=lambda item: (item[1]["balanced_accuracy"] or 0.0, item[0])
        )
        rows = [
            (
                words(monitor),
                count(record["n"]),
                count(record["failures"]),
                *(figure(record, name, bare=name in BARE) for name, _ in DETECTION),
            )
            for monitor, record in monitors
        ]
        mean = section["mean"]
        total = (
            words("mean"),
            words(""),
            words(""),
            *(figure(mean, name, bare=name in BARE) for name, _ in DETECTION),
        )
        out.append(
            Table(
                section="detection",
                key=f"detection_{condition.lower()}",
                title=f"Detection under {condition}",
                note="n: verdicts that say whether there is an error; failed: the others, left out here. "
                "AUC by the monitor's own confidence that there is an error.",
                columns=("monitor", "n", "failed", *(title for _, title in DETECTION)),
                rows=(*rows, total) if len(rows) > 1 else tuple(rows),
                totals=1 if len(rows) > 1 else 0,
            )
        )
    return out


LOCALISATION = (("L0", "L0"), ("L0_chance", "chance"), ("L0_skill", "skill"), ("L1", "L1"))
PLACES = ("early", "exact", "late", "missed")


def localisation_tables(report: dict[str, Any]) -> list[Table]:
    """One table of localisation per condition: exact and within one step, chance, skill, the four places."""
    out = []
    for condition, section in report.get("localisation", {}).items():
        monitors = sorted(section["monitors"].items(), key=lambda item: (item[1]["L0"] or 0.0, item[0]))
        rows = [
            (
                words(monitor),
                count(record["n_error_traces"]),
                *(figure(record, name, bare=name in BARE) for name, _ in LOCALISATION),
                *(count(record[place]) for place in PLACES),
            )
            for monitor, record in monitors
        ]
        total = (
            words("mean"),
            words(""),
            *(figure(section["mean"], name, bare=name in BARE) for name, _ in LOCALISATION),
            *(figure(section["pooled"], place, bare=True) for place in PLACES),
        )
        out.append(
            Table(
                section="localisation",
                key=f"localisation_{condition.lower()}",
                title=f"Localisation under {condition}",
                note="Over the traces with an error; a failed verdict is a miss. L0: the step named is the "
                "first false one; L1: at most one step off. Chance: a step placed at random in each flagged "
                "trace. The last row gives pooled shares under early to missed.",
                columns=("monitor", "n", *(title for _, title in LOCALISATION), *PLACES),
                rows=(*rows, total) if len(rows) > 1 else tuple(rows),
                totals=1 if len(rows) > 1 else 0,
            )
        )
    return out


def recall_tables(report: dict[str, Any]) -> list[Table]:
    """Mean recall by cell and condition on the common subset."""
    rows = [
        (
            words(condition),
            figure(section["wrong"], "mean"),
            figure(section["critical"], "mean"),
            figure(section["clean_flag_rate"], "mean"),
        )
        for condition, section in report.get("ladder_recall", {}).items()
        if condition != "n"
    ]
    return [
        Table(
            section="cells",
            key="ladder_recall",
            title="Mean recall by cell",
            note="On the traces that a monitor judged under every ladder condition it ran. Wrong: the "
            "final answer is wrong too; critical: the answer is right, the reasoning is not.",
            columns=("condition", "wrong", "critical", "false alarms on clean"),
            rows=tuple(rows),
        )
    ]


def contrast_tables(report: dict[str, Any]) -> list[Table]:
    """Changes of recall between conditions, and the difference of the changes."""
    rows = []
    for name, section in report.get("contrasts", {}).items():
        difference = section["difference"]
        rows.append(
            (
                words(name.replace("-", " − ")),
                *(
                    figure(section[cell], "estimate", ci="ci", signed=True)
                    for cell in ("wrong", "critical", "difference")
                ),
                Cell(f"{difference['positive']} of {difference['monitors']}")
                if difference["monitors"]
                else Cell("–", reason="no monitor has a difference"),
            )
        )
    return [
        Table(
            section="cells",
            key="contrasts",
            title="Changes of recall between conditions",
            note="Paired within traces and within resamples. Difference: change on wrong traces minus "
            "change on critical ones; positive: monitors with a positive difference.",
            columns=("contrast", "wrong", "critical", "difference", "positive"),
            rows=tuple(rows),
        )
    ]


def certificate_tables(report: dict[str, Any]) -> list[Table]:
    """Paired effects of false certificates."""
    section = report.get("certificate", {})
    rows = []
    for name in ("CERT-CMATCH", "CMATCH-BLIND", "CCONFLICT-CERT"):
        if name not in section:
            continue
        contrast = section[name]
        for monitor, record in contrast["monitors"].items():
            shown = figure(record, "estimate", ci="ci", signed=True)
            rows.append((words(name.replace("-", " − ")), words(monitor), count(record["n"]), shown))
        rows.append(
            (
                words(name.replace("-", " − ")),
                words(f"mean ({contrast['same_direction']} of {len(contrast['monitors'])} alike)"),
                words(""),
                figure(contrast, "estimate", ci="ci", signed=True),
            )
        )
    return [
        Table(
            section="certificates",
            key="certificate",
            title="Effects of false certificates on flagging",
            note="Changes of flag rate, paired within traces. CMATCH: the trace's own wrong answer is "
            "presented as known correct; CCONFLICT: a right trace beside a false answer.",
            columns=("contrast", "monitor", "n", "change of flag rate"),
            rows=tuple(rows),
        )
    ]


def revision_tables(report: dict[str, Any]) -> list[Table]:
    """Flags withdrawn and added on a second look."""
    rows = [
        (
            words(CELL_TITLES[cell]),
            figure(section, "withdraw_revise"),
            figure(section, "add_revise"),
            figure(section, "net_withdraw", signed=True),
            figure(section, "net_add", signed=True),
        )
        for cell, section in report.get("revision", {}).items()
    ]
    return [
        Table(
            section="revision",
            key="revision",
            title="Verdicts withdrawn and added under REVISE",
            note="Shares of earlier flags withdrawn and of earlier passes turned into flags, means over "
            "monitors; net: less the same under RCTRL, where no answer is shown.",
            columns=("cell", "withdrawn", "added", "withdrawn, net", "added, net"),
            rows=tuple(rows),
        )
    ]


def arms_tables(report: dict[str, Any]) -> list[Table]:
    """Agreement of the two arms."""
    arms = report.get("arms")
    if not arms or not arms["joint"]:
        return []
    rows = [
        (
            words(title),
            count(arms["joint"]),
            figure(arms, f"{name}_agreement"),
            figure(arms, f"{name}_kappa"),
            figure(arms, f"{name}_alpha"),
            figure(arms, f"{name}_ac1"),
        )
        for name, title in (
            ("final_correct", "final answer is right"),
            ("error_presence", "reasoning has an error"),
        )
    ]
    rows.append(
        (
            words("first false step, both named one"),
            count(arms["both_named_step"]),
            figure(arms, "exact_step_agreement"),
            words(""),
            figure(arms, "step_alpha"),
            words(""),
        )
    )
    chance = figure(arms, "chance_step_agreement")
    return [
        Table(
            section="standard",
            key="arms",
            title="Agreement of the two arms",
            note="On the traces that both arms judged. Two steps placed at random would agree on "
            f"{chance.text} of the traces. Alpha of steps is by squared distance.",
            columns=("judgement", "n", "agreement", "kappa", "alpha", "AC1"),
            rows=tuple(rows),
        )
    ]


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
        (words(condition), words(monitor), *(count(outcomes.get(kind, 0)) for kind in kinds))
        for condition, monitors in report.get("outcomes", {}).items()
        for monitor, outcomes in monitors.items()
        if set(outcomes) != {"ok"}
    ]
    return [
        Table(
            section="outcomes",
            key="outcomes",
            title="Verdicts that are not ok",
            note="On the traces of the standard; runs without a failure are not listed. "
            "Anything but ok is left out of detection, save an inconsistent verdict, whose flag counts; in "
            "localisation it is a miss.",
            columns=("condition", "monitor", *(kind.replace("_", " ") for kind in kinds)),
            rows=tuple(rows),
        )
    ]


def as_text(table: Table) -> str:
    """Lay a table out for a terminal."""
    cells = [list(table.columns), *([str(cell) for cell in row] for row in table.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.columns))]
    left = [not number for _, number in table.heads]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(row, widths, left, strict=True)
        ]
        return "  ".join(padded).rstrip()

    ruled = ["-" * width for width in widths]
    return "\n".join([table.title, line(cells[0]), line(ruled), *(line(row) for row in cells[1:])])
