"""Detection and localisation, one table a condition."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Table, count, figure, say, words
from monitoring.report.links import BEHIND, link
from monitoring.report.series import PLACES

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
                note=say(
                    "n: verdicts that say whether there is an error; failed: the others, left out here. "
                    "AUC by the monitor's own confidence that there is an error."
                ),
                columns=("monitor", "n", "failed", *(title for _, title in DETECTION)),
                rows=(*rows, total) if len(rows) > 1 else tuple(rows),
                totals=1 if len(rows) > 1 else 0,
            )
        )
    return out


LOCALISATION = (("L0", "L0"), ("L0_chance", "chance"), ("L0_skill", "skill"), ("L1", "L1"))


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
                note=say(
                    "Over the traces with an error; a failed verdict is a miss. L0: the step named is the "
                    "first false one; L1: at most one step off. Chance: a step placed at random in each flagged "
                    "trace. The last row gives pooled shares under early to missed."
                ),
                columns=("monitor", "n", *(title for _, title in LOCALISATION), *PLACES),
                rows=(*rows, total) if len(rows) > 1 else tuple(rows),
                totals=1 if len(rows) > 1 else 0,
            )
        )
    return out
