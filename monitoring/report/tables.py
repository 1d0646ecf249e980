"""The report's tables, once: printed, typeset and shown from the same rows."""

from __future__ import annotations

from typing import Any

from monitoring.report import tables_more as more
from monitoring.report.cells import Cell, Table, as_text, count, figure, link, words
from monitoring.report.tables_grading import grading_tables

__all__ = ["Cell", "Table", "as_text", "tables"]

CELL_TITLES = {"wrong": "wrong answer", "critical": "critical", "clean": "clean"}


def tables(report: dict[str, Any]) -> list[Table]:
    """Return the tables that a report has data for, in the order of reading."""
    made = [
        *detection_tables(report),
        *localisation_tables(report),
        *recall_tables(report),
        *contrast_tables(report),
        *more.subset_tables(report),
        *certificate_tables(report),
        *more.fate_tables(report),
        *revision_tables(report),
        *more.leave_one_out_tables(report),
        *more.pairwise_tables(report),
        *more.processbench_tables(report),
        *more.dependence_tables(report),
        *more.involvement_tables(report),
        *more.length_tables(report),
        *more.calibration_tables(report),
        *more.power_tables(report),
        *more.standard_tables(report),
        *grading_tables(report),
        *arms_tables(report),
        *outcome_tables(report),
        *more.bounds_tables(report),
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
# The traces that a number is made of, where they are not all.
BEHIND = {
    "flag_rate": {"said": "valid"},
    "sensitivity": {"cell": "error", "said": "valid"},
    "specificity": {"cell": "clean", "said": "valid"},
    "balanced_accuracy": {"said": "valid"},
    "auc": {"said": "valid"},
    "L0": {"cell": "error"},
    "L0_chance": {"cell": "error"},
    "L0_skill": {"cell": "error"},
    "L1": {"cell": "error"},
}


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
                count(record["n"], link(condition=condition, monitor=monitor, said="valid")),
                count(record["failures"], link(condition=condition, monitor=monitor, said="failed")),
                *(
                    figure(
                        record,
                        name,
                        bare=name in BARE,
                        link=link(condition=condition, monitor=monitor, **BEHIND.get(name, {})),
                    )
                    for name, _ in DETECTION
                ),
            )
            for monitor, record in monitors
        ]
        mean = section["mean"]
        total = (
            words("mean"),
            words(""),
            words(""),
            *(
                figure(mean, name, bare=name in BARE, link=link(condition=condition, **BEHIND.get(name, {})))
                for name, _ in DETECTION
            ),
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
                count(record["n_error_traces"], link(condition=condition, monitor=monitor, cell="error")),
                *(
                    figure(
                        record,
                        name,
                        bare=name in BARE,
                        link=link(condition=condition, monitor=monitor, **BEHIND[name]),
                    )
                    for name, _ in LOCALISATION
                ),
                *(
                    count(
                        record[place], link(condition=condition, monitor=monitor, cell="error", place=place)
                    )
                    for place in PLACES
                ),
            )
            for monitor, record in monitors
        ]
        total = (
            words("mean"),
            words(""),
            *(
                figure(
                    section["mean"], name, bare=name in BARE, link=link(condition=condition, **BEHIND[name])
                )
                for name, _ in LOCALISATION
            ),
            *(
                figure(
                    section["pooled"],
                    place,
                    bare=True,
                    link=link(condition=condition, cell="error", place=place),
                )
                for place in PLACES
            ),
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
            *(
                figure(
                    section["clean_flag_rate" if cell == "clean" else cell],
                    "mean",
                    link=link(condition=condition, cell=cell, said="valid", among="common"),
                )
                for cell in ("wrong", "critical", "clean")
            ),
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
        later, earlier = name.split("-")
        pairs = {"condition": later, "said": "valid", "valid": earlier, "among": "common"}
        rows.append(
            (
                words(name.replace("-", " − ")),
                *(
                    figure(
                        section[cell],
                        "estimate",
                        ci="ci",
                        signed=True,
                        link=link(**pairs, cell="error" if cell == "difference" else cell),
                    )
                    for cell in ("wrong", "critical", "difference")
                ),
                Cell(
                    f"{difference['positive']} of {difference['monitors']}",
                    link=link(**pairs, cell="error"),
                )
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
        later, earlier = name.split("-")
        cell = "clean" if "CCONFLICT" in name else "wrong"
        pairs = {"condition": later, "said": "valid", "valid": earlier, "cell": cell}
        for monitor, record in contrast["monitors"].items():
            behind = link(**pairs, monitor=monitor)
            shown = figure(record, "estimate", ci="ci", signed=True, link=behind)
            rows.append((words(name.replace("-", " − ")), words(monitor), count(record["n"], behind), shown))
        rows.append(
            (
                words(name.replace("-", " − ")),
                words(f"mean ({contrast['same_direction']} of {len(contrast['monitors'])} alike)"),
                words(""),
                figure(contrast, "estimate", ci="ci", signed=True, link=link(**pairs)),
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
            *(
                figure(section, name, signed=name.startswith("net"), link=link(**again, cell=cell, said=said))
                for name, again, said in (
                    ("withdraw_revise", {"condition": "REVISE"}, "flagged before"),
                    ("add_revise", {"condition": "REVISE"}, "passed before"),
                    ("net_withdraw", {"condition": "REVISE,RCTRL"}, "flagged before"),
                    ("net_add", {"condition": "REVISE,RCTRL"}, "passed before"),
                )
            ),
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
            count(arms["joint"], link(arms="both")),
            *(
                figure(arms, f"{name}_{measure}", link=link(arms="both"))
                for measure in ("agreement", "kappa", "alpha", "ac1")
            ),
        )
        for name, title in (
            ("final_correct", "final answer is right"),
            ("error_presence", "reasoning has an error"),
        )
    ]
    rows.append(
        (
            words("first false step, both named one"),
            count(arms["both_named_step"], link(arms="both named a step")),
            figure(arms, "exact_step_agreement", link=link(arms="both named a step")),
            words(""),
            figure(arms, "step_alpha", link=link(arms="both named a step")),
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
            note="On the traces of the standard; runs without a failure are not listed. "
            "Anything but ok is left out of detection, save an inconsistent verdict, whose flag counts; in "
            "localisation it is a miss.",
            columns=("condition", "monitor", *(kind.replace("_", " ") for kind in kinds)),
            rows=tuple(rows),
        )
    ]
