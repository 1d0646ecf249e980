"""The same statistics as loops over dicts: what a notebook would run, and what the matrix form is held against."""

from __future__ import annotations

import random

from stats.panel import CELLS, Panel, TraceRow
from tests.stats import plain
from tests.stats.plain import Item

LADDER = ("BLIND", "HINT", "CERT", "REVISE")


def tables(
    panel: Panel,
) -> tuple[dict[int, list[int]], list[tuple[bool, int]], dict[str, list[dict[int, tuple[bool, int]]]]]:
    """Return traces by question, (has error, step) by trace, and verdicts by condition, monitor and trace."""
    reference = panel.reference
    by_question: dict[int, list[int]] = {}
    for trace, question in enumerate(reference.question.tolist()):
        by_question.setdefault(question, []).append(trace)
    truth = list(zip(reference.has_error.tolist(), reference.step.tolist(), strict=True))
    verdicts = {
        condition: [
            {
                trace: (
                    bool(panel.verdicts[condition].flag[m, trace]),
                    int(panel.verdicts[condition].step[m, trace]),
                )
                for trace in range(reference.n_traces)
                if panel.verdicts[condition].valid[m, trace]
            }
            for m in range(len(panel.verdicts[condition].monitors))
        ]
        for condition in LADDER
    }
    return by_question, truth, verdicts


def bootstrap(panel: Panel, *, resamples: int, seed: int = 0) -> dict[str, list[tuple[float, float]]]:
    """Return (mean balanced accuracy, mean L0) of each resample, by condition."""
    by_question, truth, verdicts = tables(panel)
    rng = random.Random(seed)
    questions = list(by_question)
    out: dict[str, list[tuple[float, float]]] = {condition: [] for condition in LADDER}
    for _ in range(resamples):
        drawn = [trace for _ in questions for trace in by_question[rng.choice(questions)]]
        for condition in LADDER:
            accuracies, places = [], []
            for said in verdicts[condition]:
                errors = [trace for trace in drawn if truth[trace][0]]
                valid = [trace for trace in errors if trace in said]
                clean = [trace for trace in drawn if not truth[trace][0] and trace in said]
                sensitivity = sum(said[trace][0] for trace in valid) / len(valid)
                specificity = sum(not said[trace][0] for trace in clean) / len(clean)
                accuracies.append((sensitivity + specificity) / 2)
                hits = sum(said[trace][0] and said[trace][1] == truth[trace][1] for trace in valid)
                places.append(hits / len(errors))
            out[condition].append((sum(accuracies) / len(accuracies), sum(places) / len(places)))
    return out


def items_of(panel: Panel) -> list[list[Item]]:
    """Return a panel as plain items, one list a monitor."""
    reference = panel.reference
    rows = [
        TraceRow(
            question=question,
            label=label,
            final_correct=bool(reference.final_correct[n]),
            step=int(reference.step[n]) or None,
            n_steps=int(reference.n_steps[n]),
        )
        for n, (question, label) in enumerate(reference.keys)
    ]

    def said(condition: str, m: int, n: int) -> tuple[int | None, int, float | None, bool]:
        verdicts = panel.verdicts[condition]
        valid, flag = bool(verdicts.valid[m, n]), int(verdicts.flag[m, n])
        confidence = float(verdicts.confidence[m, n]) if valid else None
        return flag if valid else None, int(verdicts.step[m, n]), confidence, bool(verdicts.prior_flag[m, n])

    return [
        [
            Item(row, {c: said(c, m, n) for c in panel.verdicts if panel.verdicts[c].covered[m, n]})
            for n, row in enumerate(rows)
        ]
        for m in range(len(panel.monitors))
    ]


def report_loop(monitors: list[list[Item]], conditions: list[str], *, resamples: int, seed: int = 0) -> int:
    """Compute the main statistics of the report in each resample by the tests' plain functions; count them.

    Detection, localisation with chance and places, recall by cell and transitions, of every monitor under
    every condition. The report computes more than this: pairs, readings, calibration, power.
    """
    by_question: dict[str, list[int]] = {}
    for place, item in enumerate(monitors[0]):
        by_question.setdefault(item.row.question, []).append(place)
    questions, rng, done = list(by_question), random.Random(seed), 0
    for _ in range(resamples):
        drawn = [place for _ in questions for place in by_question[rng.choice(questions)]]
        for one in monitors:
            items = [one[place] for place in drawn]
            for c in conditions:
                values = [plain.sensitivity(items, c), plain.specificity(items, c), plain.flag_rate(items, c)]
                values += [plain.parse_rate(items, c), plain.balanced_accuracy(items, c), plain.auc(items, c)]
                values += [plain.located(items, c, 0), plain.located(items, c, 1)]
                values += [plain.chance(items, c, 0), plain.chance(items, c, 1)]
                values += [plain.placed(items, c, where) for where in ("early", "exact", "late", "missed")]
                values += [plain.recall(items, c, cell, LADDER) for cell in CELLS]
                if c in ("REVISE", "RCTRL"):
                    values += [plain.withdraw(items, c, cell) for cell in CELLS]
                    values += [plain.add(items, c, cell) for cell in CELLS]
                done += len(values)
    return done
