"""Tables of what goes beyond the main results: subsets, other standards, monitors beside each other, power."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import MINUS, Cell, Table, count, figure, link, share, words
from monitoring.report.involvement import KINDS

CELL_TITLES = {"wrong": "wrong answer", "critical": "critical", "clean": "clean"}
ROLES = {
    "repaired_or_exploratory": "repaired or exploratory",
    "supplementary_claim": "supplementary claim",
    "robust_numerical_or_algebraic": "robust, numerical or algebraic",
    "substantive": "substantive",
}
FIGURES = {
    "balanced_accuracy": "balanced accuracy",
    "L0": "L0",
    "L0_in_range": "L0, any defensible step",
    "wrong": "recall, wrong",
    "critical": "recall, critical",
}

# The traces that each of them is over.
READ = {
    "balanced_accuracy": {"said": "valid"},
    "L0": {"cell": "error"},
    "L0_in_range": {"cell": "error"},
    "wrong": {"cell": "wrong", "said": "valid"},
    "critical": {"cell": "critical", "said": "valid"},
}
ALL = "all=1"


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
            note="Right answers: balanced accuracy between critical and clean traces of the common subset, where "
            "the final answer tells nothing. Agreed step: L0 on the "
            f"{consensus.get('n', 0)} erroneous traces on whose step both arms and the standard agree.",
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
            note=f"Coded by the lead; {roles.get('not_coded', 0)} critical traces are not coded.",
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


def standard_tables(report: dict[str, Any]) -> list[Table]:
    """The oracle and the lengths."""
    oracle, lengths = report["oracle"], report["lengths"]
    test = lengths["wrong_vs_critical"]
    p = "undefined" if test["p"] is None else f"{test['p']:.3f}"
    return [
        Table(
            section="standard",
            key="oracle",
            title="What the final answer alone would reach",
            note="A baseline that flags exactly the traces with a wrong answer. It names no step.",
            columns=("baseline", "sensitivity", "specificity", "balanced accuracy", "recall, critical"),
            rows=(
                (
                    words("final answer"),
                    *(
                        figure(oracle, name, link=link(cell=cell) or ALL)
                        for name, cell in (
                            ("sensitivity", "error"),
                            ("specificity", "clean"),
                            ("balanced_accuracy", ""),
                            ("critical_recall", "critical"),
                        )
                    ),
                ),
            ),
        ),
        Table(
            section="standard",
            key="lengths",
            title="Numbers of steps",
            note=f"Wrong against critical traces: Mann-Whitney, two-sided p {p}, without tie correction.",
            columns=("cell", "n", "least", "quarter", "median", "three quarters", "most", "mean"),
            rows=tuple(
                (
                    words(CELL_TITLES[cell]),
                    Cell(str(lengths[cell]["n"]), link=link(cell=cell)),
                    *(
                        figure(lengths[cell], name, digits=1, link=link(cell=cell))
                        for name in ("min", "lower_quartile", "median", "upper_quartile", "max", "mean")
                    ),
                )
                for cell in ("clean", "wrong", "critical")
            ),
        ),
    ]


def fate_tables(report: dict[str, Any]) -> list[Table]:
    """What became of exact localisations under certificates, and where induced flags land."""
    section = report.get("certificate", {})
    out = []
    found = section.get("suppressed_localisations")
    if found:
        case = {"cell": "wrong", "exact": "BLIND", "valid": "CERT,CMATCH"}

        def fate(m: str, record: dict[str, Any], suffixes: tuple[str, str]) -> tuple[Cell, ...]:
            return (
                Cell(str(record["cases"]), link=link(condition="BLIND", monitor=m, **case)),
                *(
                    Cell(
                        str(record[f"passed_under_{c}"]),
                        suffix,
                        link=link(condition=c, monitor=m, said="pass", **case),
                    )
                    for c, suffix in zip(("CERT", "CMATCH"), suffixes, strict=True)
                ),
            )

        rows = [(words(m), *fate(m, r, ("", ""))) for m, r in found["monitors"].items()]
        shares = (share(found, "share_under_CERT"), share(found, "share_under_CMATCH"))
        total = (words("all"), *fate("", found, shares))
        out.append(
            Table(
                section="certificates",
                key="suppressed",
                title="Exact localisations that a certificate silences",
                note="Wrong traces whose first false step was named exactly under BLIND; how many pass when the "
                "true answer is certified, and when the trace's own wrong one is.",
                columns=("monitor", "exact under BLIND", "pass under CERT", "pass under CMATCH"),
                rows=(*rows, total),
                totals=1,
            )
        )
    found = section.get("interior_attribution")
    if found:
        flags = {"condition": "CCONFLICT", "cell": "clean", "said": "flag"}

        def landed(m: str, record: dict[str, Any], suffixes: tuple[str, str]) -> tuple[Cell, ...]:
            new, all_flags = suffixes
            return tuple(
                Cell(str(record[name]), suffix, link=link(monitor=m, **flags, **more))
                for name, suffix, more in (
                    ("newly_flagged", "", {"passed": "CERT"}),
                    ("interior", new, {"passed": "CERT", "place": "interior"}),
                    ("all_flagged", "", {}),
                    ("all_interior", all_flags, {"place": "interior"}),
                )
            )

        rows = [(words(m), *landed(m, r, ("", ""))) for m, r in found["monitors"].items()]
        total = (words("all"), *landed("", found, (share(found, "share"), share(found, "all_share"))))
        out.append(
            Table(
                section="certificates",
                key="interior",
                title="Where flags land that a false certificate induces",
                note="Clean traces under CCONFLICT. New: passed under CERT. Interior: blamed on anything but the "
                "last step.",
                columns=("monitor", "new flags", "of them interior", "all flags", "of them interior "),
                rows=(*rows, total),
                totals=1,
            )
        )
    return out


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
            *(figure(row["mean"], n, link=link(condition=condition, arms=arms, **READ[n])) for n in FIGURES),
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
            note="Means over monitors. Disputed: the arms differ in the answer or in the step. Any defensible "
            "step: a step within the lead's range counts as exact.",
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
                note=f"On the {reading['traces']} ready traces that it judged: {reading['clean']} clean, "
                f"{reading['wrong']} wrong, {reading['critical']} critical by its labels. In the second row of "
                "each condition, the change against the standard on the same traces.",
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
                                link=link(condition=condition, labels=name, **READ[n]),
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
        marked = ", ".join(
            f"{monitor} ({n['traces']} traces, {n['error_traces']} erroneous)"
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
                note=f"Marked: {marked}. The last column leaves them out.",
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


def leave_one_out_tables(report: dict[str, Any]) -> list[Table]:
    """Panel means without each monitor."""
    section = report.get("leave_one_out", {})
    shown = [c for c in ("BLIND", "CERT") if any(c in row for row in section.values())] or list(
        report.get("detection", {})
    )[:1]
    rows = []
    for monitor, row in section.items():
        cells = [
            figure(row.get(c, {}), name, link=link(condition=c, without=monitor, **READ[name]))
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
            note=f"Means over the others. Difference: CERT {MINUS} BLIND on wrong traces less the same on critical "
            "ones.",
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
            note="First less second on the traces that both judged, paired within traces and resamples; an interval "
            "that leaves 0 out resolves the two.",
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
            note="Accuracy on erroneous traces (the step named is the first false one), on the others (no error is "
            "reported), and their harmonic mean. A failed verdict counts as wrong.",
            columns=("condition", "monitor", "erroneous", "without an error", "harmonic mean"),
            rows=tuple(rows),
            folded=True,
        )
    ]


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
            note="Brier score: mean squared distance of confidence and truth; base rate: what always saying the share "
            "of errors would score. Gap: mean distance of confidence and share of errors over tenths of the scale. "
            "A median above 50 when passing suggests that the monitor gave its confidence in its verdict instead.",
            columns=("condition", "monitor", "n", "Brier", "base rate", "gap", "median when passing"),
            rows=tuple(rows),
            folded=True,
        )
    ]


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
            note="Means over monitors, in quarters of the traces by number of steps. Under STEP every step is a chance "
            "to flag.",
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
            note="Pooled over monitors; flags on clean traces are false alarms.",
            columns=("condition", "cell", "flags with a step", "share on the last step", "without a step"),
            rows=tuple(rows),
            folded=True,
        )
    )
    return out


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
            figure(row, "spread", link=link(condition=conditions, **READ[name])),
            *(
                Cell(
                    f"more than {section['largest_tried']}"
                    if entry["questions"] is None
                    else str(entry["questions"]),
                    f"({entry['power_here']:.0%} here)",
                    link=link(condition=conditions, **READ[name]),
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
            note="Studies of other sizes are drawn from the questions of this one, monitors as they are. Needed: the "
            f"smallest number tried at which the 95% interval leaves 0 out in 80% of studies. In brackets the chance "
            f"with the {section['observed_questions']} questions here.",
            columns=("mean change of", "spread here", *(f"{d:g}" for d in differences)),
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
            note="From every failure a pass to every failure a flag; for L0, from a miss to an exact hit. "
            "Denominators are all traces that the monitor was given.",
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
            note="Least and most of the mean over monitors.",
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
