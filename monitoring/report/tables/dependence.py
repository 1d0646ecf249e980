"""How much hangs on the standard: undisputed traces, each arm's labels, monitors' own traces."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Table, count, figure, listed, say, words
from monitoring.report.involvement import KINDS
from monitoring.report.links import ALL, BEHIND, link
from monitoring.report.tables.titles import FIGURES


def dependence_tables(report: dict[str, Any]) -> list[Table]:
    """The same means without disputed traces, and under each arm's labels alone."""
    section = report.get("dependence")
    if not section:
        return []
    readings = [("all traces", "", section["all"])]
    if "undisputed" in section:
        readings.append(("undisputed", "undisputed", section["undisputed"]))
    rows = [
        (
            words(condition),
            words(title),
            count(reading["traces"], link(arms=arms) or ALL),
            *(
                figure(row["mean"], n, link=link(condition=condition, arms=arms, **BEHIND[n]))
                for n in FIGURES
            ),
        )
        for condition in section["all"]["conditions"]
        for title, arms, reading in readings
        for row in [reading["conditions"][condition]]
    ]
    out = [
        Table(
            section="dependence",
            key="dependence",
            title="Without the disputed traces, and with ranges of defensible steps",
            note=say(
                "Means over monitors. Disputed: the arms differ in the answer or in the step. Any defensible "
                "step: a step within the lead's range counts as exact."
            ),
            columns=("condition", "traces of", "n", *FIGURES.values()),
            rows=tuple(rows),
        )
    ]
    by_arm = report.get("by_arm", {})
    for name, title in (("human", "the human arm"), ("debate", "the debate arm")):
        if name not in by_arm:
            continue
        reading = by_arm[name]
        out.append(
            Table(
                section="dependence",
                key=f"by_{name}",
                title=f"Under the labels of {title} alone",
                note=say(
                    "On the {} ready traces that it judged: {} clean, {} wrong, {} critical by its labels. In the "
                    "second row of each condition, the change against the standard on the same traces.",
                    *(
                        count(reading[what], link(labels=name, cell=cell))
                        for what, cell in (
                            ("traces", ""),
                            *((cell, cell) for cell in ("clean", "wrong", "critical")),
                        )
                    ),
                ),
                columns=("condition", "", *FIGURES.values()),
                rows=tuple(
                    (
                        words(condition),
                        words(what),
                        *(
                            figure(
                                found[record],
                                n,
                                signed=record == "change",
                                link=link(condition=condition, labels=name, **BEHIND[n]),
                            )
                            for n in FIGURES
                        ),
                    )
                    for condition, found in reading["conditions"].items()
                    for what, record in (("arm", "mean"), ("change", "change"))
                ),
            )
        )
    return out


TITLES = {
    "self_review": "Traces that a monitor's own family wrote",
    "consulted": "Traces on which the lead asked the monitor's family",
    "judged_in_debate": "Traces that the monitor's family judged in the debate",
}


def involvement_tables(report: dict[str, Any]) -> list[Table]:
    """Monitors with and without the traces they had to do with otherwise."""
    found = {**report.get("involvement", {})}
    if "judged_in_debate" in report.get("by_arm", {}):
        found["judged_in_debate"] = report["by_arm"]["judged_in_debate"]
    out = []
    for kind, section in found.items():
        title, short = TITLES[kind], KINDS[kind]
        marked = listed(
            say(
                "{} ({} traces, {} erroneous)",
                words(monitor),
                count(n["traces"], link(monitor=monitor, marked=kind)),
                count(n["error_traces"], link(monitor=monitor, marked=kind, cell="error")),
            )
            for monitor, n in section["monitors"].items()
        )
        rows = []
        for condition, content in section["conditions"].items():
            for monitor, row in content["monitors"].items():
                rows.append(
                    (
                        words(condition),
                        words(monitor),
                        *(
                            figure(
                                row,
                                name,
                                bare=name == "balanced_accuracy",
                                link=link(condition=condition, monitor=monitor, **asked),
                            )
                            for name, asked in (
                                ("sensitivity_of_these", {"cell": "error", "said": "valid", "marked": kind}),
                                (
                                    "sensitivity_others",
                                    {"cell": "error", "said": "valid", "marked": f"not {kind}"},
                                ),
                                ("L0_of_these", {"cell": "error", "marked": kind}),
                                ("L0_others", {"cell": "error", "marked": f"not {kind}"}),
                                ("balanced_accuracy", {"said": "valid"}),
                                ("balanced_accuracy_without", {"said": "valid", "marked": f"not {kind}"}),
                            )
                        ),
                    )
                )
            mean = content["mean"]
            rows.append(
                (
                    words(condition),
                    words("panel mean"),
                    words(""),
                    words(""),
                    words(""),
                    *(
                        figure(
                            mean,
                            name,
                            bare=name == "balanced_accuracy",
                            link=link(condition=condition, **asked),
                        )
                        for name, asked in (
                            ("L0_without", {"cell": "error", "marked": f"not {kind}"}),
                            ("balanced_accuracy", {"said": "valid"}),
                            ("balanced_accuracy_without", {"said": "valid", "marked": f"not {kind}"}),
                        )
                    ),
                )
            )
        out.append(
            Table(
                section="dependence",
                key=f"involved_{kind}",
                title=title,
                note=(words("Marked: "), *marked, words(". The last column leaves them out.")),
                columns=(
                    "condition",
                    "monitor",
                    f"sensitivity, {short}",
                    "others",
                    f"L0, {short}",
                    "others ",
                    "balanced accuracy",
                    "without them",
                ),
                rows=tuple(rows),
                folded=True,
            )
        )
    return out
