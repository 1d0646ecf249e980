"""Do the 95% intervals hold the truth in 95% of studies? Simulated, with a seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stats import Panel, Reference, Resample, Verdicts, climb, contrast, detect, interval, localise
from stats.bootstrap import mean_defined
from stats.panel import Arm

RESAMPLES, TRACES = 500, 3


def study(clusters: int, rng: np.random.Generator) -> Panel:
    """Questions of differing difficulty, so that traces of one question are alike: what the bootstrap is for."""
    n = clusters * TRACES
    hard = np.repeat(rng.normal(0, 0.8, clusters), TRACES)
    error = rng.random(n) < 1 / (1 + np.exp(-hard))
    flag = rng.random((1, n)) < np.where(error, 1 / (1 + np.exp(-0.8 - hard)), 1 / (1 + np.exp(0.8 - hard)))
    silent = Arm(np.full(n, -1), np.zeros(n, dtype=np.int64))
    step = np.where(error, 2, 0)
    named = np.where(rng.random((1, n)) < 0.5, 2, 3)
    reference = Reference(
        questions=tuple(f"{q:04d}" for q in range(clusters)),
        labels=tuple("ABC"[k % TRACES] for k in range(n)),
        question=np.repeat(np.arange(clusters), TRACES),
        final_correct=~error,
        step=step,
        step_min=step,
        step_max=step,
        n_steps=np.full(n, 5),
        generators=("",) * n,
        roles=("",) * n,
        human=silent,
        debate=silent,
    )
    everywhere = np.ones((1, n), dtype=np.bool_)
    verdicts = Verdicts(
        monitors=("m",),
        covered=everywhere,
        valid=everywhere,
        flag=flag,
        step=np.where(flag, named, 0),
        confidence=np.full((1, n), np.nan),
        prior_flag=np.zeros((1, n), dtype=np.bool_),
    )
    return Panel(reference, {"BLIND": verdicts})


def values(panel: Panel, resample: Resample) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    found = detect(panel.reference, panel.verdicts["BLIND"], resample, with_auc=False)
    placed = localise(panel.reference, panel.verdicts["BLIND"], resample)
    columns = (found.flag_rate, found.balanced_accuracy, found.sensitivity, placed.L0)
    return np.stack([column[:, 0] for column in columns], axis=1)


@pytest.mark.parametrize(("clusters", "studies"), [(40, 1500), (79, 800)])
def test_intervals_of_forty_or_more_questions_hold_the_truth_in_95_percent(
    clusters: int, studies: int
) -> None:
    rng = np.random.default_rng(20)
    truth = values(study(200_000, rng), Resample(200_000, resamples=0))[0]
    held = np.zeros(len(truth))
    for number in range(studies):
        panel = study(clusters, rng)
        found = values(panel, Resample(clusters, resamples=RESAMPLES, seed=number))
        for s, column in enumerate(found.T):
            bounds = interval(column[1:])
            assert bounds is not None
            held[s] += bounds.low <= truth[s] <= bounds.high
    coverage = held / studies
    assert ((coverage >= 0.93) & (coverage <= 0.97)).all(), coverage


def ladder_study(clusters: int, rng: np.random.Generator) -> Panel:
    """The same with three in ten errors critical, and two monitors whom CERT helps on wrong traces alone."""
    panel = study(clusters, rng)
    n = panel.reference.n_traces
    error = panel.reference.has_error
    correct = ~error | (rng.random(n) < 0.3)
    hard = np.repeat(rng.normal(0, 0.8, clusters), TRACES)

    def said(shift: float) -> Verdicts:
        mean = np.where(error, 0.5 + np.where(correct, -0.3, 1.0) * shift, -0.8)
        flag = rng.random((2, n)) < 1 / (1 + np.exp(-mean - hard))
        everywhere, nothing = np.ones((2, n), dtype=np.bool_), np.zeros((2, n), dtype=np.int64)
        unsaid = np.full((2, n), np.nan)
        return Verdicts(("a", "b"), everywhere, everywhere, flag, nothing, unsaid, ~everywhere)

    return Panel(replace(panel.reference, final_correct=correct), {"BLIND": said(0.0), "CERT": said(1.5)})


def changes(panel: Panel, resample: Resample) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    found = contrast(panel, climb(panel, resample), "CERT", "BLIND", resample)
    columns = (found.change["wrong"], found.change["critical"], found.difference)
    return np.stack([mean_defined(column) for column in columns], axis=1)


def test_intervals_of_changes_on_a_cell_are_a_little_narrow_as_documented() -> None:
    """The critical cell lies in some thirty of 79 questions: percentile intervals fall short by a point or three."""
    rng = np.random.default_rng(3)
    truth = changes(ladder_study(50_000, rng), Resample(50_000, resamples=0))[0]
    held = np.zeros(len(truth))
    studies = 500
    for number in range(studies):
        found = changes(ladder_study(79, rng), Resample(79, resamples=300, seed=number))
        for s, column in enumerate(found.T):
            bounds = interval(column[1:])
            assert bounds is not None
            held[s] += bounds.low <= truth[s] <= bounds.high
    coverage = held / studies
    assert ((coverage >= 0.91) & (coverage <= 0.97)).all(), coverage
