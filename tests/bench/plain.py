"""The same statistics as loops over dicts: what a notebook would run, and what the matrix form is held against."""

from __future__ import annotations

import random

from stats.panel import Panel

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
