"""The standard itself: what the answer alone would reach, lengths, agreement of the arms."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Cell, Table, count, figure, say, told, words
from monitoring.report.links import ALL, link
from monitoring.report.tables.titles import CELL_TITLES


def standard_tables(report: dict[str, Any]) -> list[Table]:
    """The oracle and the lengths."""
    oracle, lengths = report["oracle"], report["lengths"]
    test = lengths["wrong_vs_critical"]
    p = figure(test, "p", link=link(cell="error"))
    return [
        Table(
            section="standard",
            key="oracle",
            title="What the final answer alone would reach",
            note=say("A baseline that flags exactly the traces with a wrong answer. It names no step."),
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
            note=say(
                "Wrong against critical traces: Mann-Whitney, two-sided p {}, without tie correction.",
                told(p),
            ),
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
    chance = figure(arms, "chance_step_agreement", bare=True, link=link(arms="both named a step"))
    return [
        Table(
            section="standard",
            key="arms",
            title="Agreement of the two arms",
            note=say(
                "On the traces that both arms judged. Two steps placed at random would agree on {} of the traces. "
                "Alpha of steps is by squared distance.",
                told(chance),
            ),
            columns=("judgement", "n", "agreement", "kappa", "alpha", "AC1"),
            rows=tuple(rows),
        )
    ]
