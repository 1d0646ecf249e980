"""Wrong and critical traces: recall by cell, its changes, two subsets, roles of critical errors."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import MINUS, Cell, Table, count, figure, say, words
from monitoring.report.links import link, recall_of, recall_pairs


def recall_tables(report: dict[str, Any]) -> list[Table]:
    """Mean recall by cell and condition on the common subset."""
    rows = [
        (
            words(condition),
            *(
                figure(
                    section["clean_flag_rate" if cell == "clean" else cell],
                    "mean",
                    link=link(**recall_of(condition, cell)),
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
            note=say(
                "On the traces that a monitor judged under every ladder condition it ran. Wrong: the "
                "final answer is wrong too; critical: the answer is right, the reasoning is not."
            ),
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
                    figure(
                        section[cell],
                        "estimate",
                        ci="ci",
                        signed=True,
                        link=link(**recall_pairs(name, cell)),
                    )
                    for cell in ("wrong", "critical", "difference")
                ),
                Cell(
                    f"{difference['positive']} of {difference['monitors']}",
                    link=link(**recall_pairs(name, "difference")),
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
            note=say(
                "Paired within traces and within resamples. Difference: change on wrong traces minus "
                "change on critical ones; positive: monitors with a positive difference."
            ),
            columns=("contrast", "wrong", "critical", "difference", "positive"),
            rows=tuple(rows),
        )
    ]


ROLES = {
    "repaired_or_exploratory": "repaired or exploratory",
    "supplementary_claim": "supplementary claim",
    "robust_numerical_or_algebraic": "robust, numerical or algebraic",
    "substantive": "substantive",
}


def subset_tables(report: dict[str, Any]) -> list[Table]:
    """Right answers alone, traces whose step all agree on, roles of critical errors."""
    out = []
    correct, consensus = report.get("answer_correct_subset", {}), report.get("consensus_subset", {})
    conditions = [c for c in report.get("detection", {}) if c in correct or c in consensus]
    out.append(
        Table(
            section="cells",
            key="subsets",
            title="Two subsets",
            note=say(
                "Right answers: balanced accuracy between critical and clean traces of the common subset, where the "
                "final answer tells nothing. Agreed step: L0 on the {} erroneous traces on whose step both arms and "
                "the standard agree.",
                count(consensus.get("n", 0), link(arms="agree on the step")),
            ),
            columns=("condition", "right answers", "agreed step, L0"),
            rows=tuple(
                (
                    words(c),
                    figure(
                        correct,
                        c,
                        link=link(condition=c, cell="critical or clean", said="valid", among="common"),
                    ),
                    figure(consensus, c, link=link(condition=c, arms="agree on the step")),
                )
                for c in conditions
            ),
        )
    )
    roles = report.get("critical_roles", {})
    shown = [
        c
        for c in ("BLIND", "HINT", "CERT", "REVISE")
        if any(c in r for r in roles.values() if isinstance(r, dict))
    ]
    out.append(
        Table(
            section="cells",
            key="critical_roles",
            title="Recall on critical traces by the role of their error",
            note=say(
                "Coded by the lead; {} critical traces are not coded.",
                count(roles.get("not_coded", 0), link(cell="critical", role="not coded")),
            ),
            columns=("role", "traces", *shown, f"CERT {MINUS} BLIND"),
            rows=tuple(
                (
                    words(ROLES.get(role, role)),
                    Cell(str(record["n"]), link=link(cell="critical", role=role)),
                    *(
                        figure(
                            record,
                            c,
                            link=link(condition=c, cell="critical", role=role, said="valid", among="common"),
                        )
                        for c in shown
                    ),
                    figure(
                        record,
                        "CERT-BLIND",
                        signed=True,
                        link=link(
                            condition="BLIND,CERT", cell="critical", role=role, said="valid", among="common"
                        ),
                    ),
                )
                for role, record in roles.items()
                if isinstance(record, dict)
            ),
        )
    )
    return out
