"""Monitors as graders: rates by cell, the correlation within clusters, and effective sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stats.bootstrap import Resample
from stats.graders import crossed_correction, effective_size, grader_rates, intraclass_correlation
from stats.panel import Reference, TraceRow, Verdicts


def make_reference() -> Reference:
    """Two questions: clean, clean, wrong (step 2); clean, critical (step 1), wrong (step 3)."""
    said = [(True, None), (True, None), (False, 2), (True, None), (True, 1), (False, 3)]
    return Reference.from_rows(
        [TraceRow(f"q{place // 3}", f"r{place}", right, step, 5) for place, (right, step) in enumerate(said)]
    )


def make_verdicts(said: list[int]) -> Verdicts:
    n = len(said)
    return Verdicts.from_columns(
        ["m"], n, monitor=np.zeros(n, dtype=np.int64), trace=np.arange(n), has_error=np.array(said),
        step=np.zeros(n, dtype=np.int64), confidence=np.full(n, np.nan),
    )  # fmt: skip


def test_rates_are_counted_by_cell_on_valid_verdicts() -> None:
    rates = grader_rates(make_reference(), make_verdicts([0, 1, 1, -1, 0, 0]), Resample(2, resamples=5))
    point = {
        name: float(getattr(rates, name)[0, 0]) for name in ("alpha", "alpha_wrong", "alpha_critical", "beta")
    }
    assert point == {"alpha": pytest.approx(2 / 3), "alpha_wrong": 0.5, "alpha_critical": 1.0, "beta": 0.5}
    assert (int(rates.n[0]), float(rates.accepted[0, 0]), float(rates.theta[0, 0])) == (5, 0.6, 0.4)
    assert rates.alpha.shape == (6, 1)


def test_what_a_grader_accepts_follows_from_its_rates() -> None:
    rates = grader_rates(make_reference(), make_verdicts([0, 1, 1, 0, 0, 0]), Resample(2, resamples=200))
    follows = (1 - rates.beta) * rates.theta + rates.alpha * (1 - rates.theta)
    assert np.allclose(follows, rates.accepted, equal_nan=True)


def test_the_correction_by_other_questions_recovers_the_share_of_valid_work() -> None:
    """Simulated: 4,000 questions of 3 traces, 60% clean, a grader with alpha 0.3 and beta 0.2."""
    source = np.random.default_rng(0)
    clean = source.random(12_000) < 0.6
    reference = Reference.from_rows(
        [TraceRow(f"q{k // 3:05}", f"r{k % 3}", True, None if one else 1, 5) for k, one in enumerate(clean)]
    )
    flagged = np.where(clean, source.random(12_000) < 0.2, source.random(12_000) >= 0.3).astype(int)
    found = crossed_correction(reference, make_verdicts(list(flagged)), Resample(4_000, resamples=0))
    assert found.shape == (1, 1) and found[0, 0] == pytest.approx(clean.mean(), abs=0.02)


@pytest.mark.parametrize("said", [[1, 1, 1, 1, 1, 1], [-1, -1, -1, 0, 0, 1], [1, 1, 0, 0, 1, 1]])
def test_the_correction_is_undefined_where_a_half_tells_nothing(said: list[int]) -> None:
    found = crossed_correction(make_reference(), make_verdicts(said), Resample(2, resamples=3))
    assert np.isnan(found[0, 0]) and found.shape == (4, 1)


def test_a_cell_without_traces_is_undefined() -> None:
    rates = grader_rates(make_reference(), make_verdicts([0, 0, 0, 0, -1, 0]), Resample(2, resamples=1))
    assert np.isnan(rates.alpha_critical[0, 0])


def test_the_correlation_of_equal_pairs_is_1_and_of_opposite_ones_minus_1() -> None:
    cluster = np.array([0, 0, 1, 1, 2, 2])
    assert intraclass_correlation(np.array([1.0, 1, 0, 0, 1, 1]), cluster) == pytest.approx(1)
    assert intraclass_correlation(np.array([1.0, 0, 0, 1, 1, 0]), cluster) == pytest.approx(-1)


def test_the_correlation_is_recovered_from_simulated_families() -> None:
    """Families of 8 with a shared part of variance 0.6 and own parts of variance 0.4."""
    source = np.random.default_rng(0)
    cluster = np.repeat(np.arange(4_000), 8)
    values = np.sqrt(0.6) * source.normal(size=4_000)[cluster] + np.sqrt(0.4) * source.normal(size=32_000)
    assert intraclass_correlation(values, cluster) == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    ("values", "cluster"),
    [([], []), ([1.0, 0.0], [0, 0]), ([1.0, 0.0], [0, 1]), ([1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1])],
)
def test_a_correlation_that_cannot_be_known_is_undefined(values: list[float], cluster: list[int]) -> None:
    rho = intraclass_correlation(np.array(values), np.array(cluster, dtype=np.int64))
    assert np.isnan(rho)
    assert np.isnan(effective_size(np.array(cluster, dtype=np.int64), rho))


def test_fifty_families_of_eight_are_worth_seventy_seven() -> None:
    """Source: SPEC.md B1 (seed 002): 76.9 at a correlation of 0.6."""
    assert effective_size(np.repeat(np.arange(50), 8), 0.6) == pytest.approx(76.923, abs=0.001)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.floats(-1, 1))
def test_an_effective_size_lies_between_the_clusters_and_the_items(cluster: list[int], rho: float) -> None:
    size = effective_size(np.array(cluster), rho)
    assert size <= len(cluster) + 1e-9
    assert size >= 1 - 1e-9
