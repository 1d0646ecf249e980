"""Do the 95% intervals hold the truth in 95% of studies? Simulated, with a seed."""

from __future__ import annotations

import numpy as np
import pytest

from stats import Panel, Reference, Resample, Verdicts, detect, interval, localise
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
