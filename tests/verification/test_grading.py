"""Grading error: the published numbers, what the formulas mean, and their domains."""

from __future__ import annotations

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from verification import grading
from verification.grading import OutsideDomain

SHARE = st.floats(0, 1)


def test_the_published_numbers() -> None:
    """Source: SPEC.md B1 (seed 002)."""
    assert grading.observed_score(0.72, 0.04, 0) == pytest.approx(0.7312)
    assert grading.observed_score(0.64, 0.36, 0) == pytest.approx(0.7696)
    assert grading.is_reversed((0.72, 0.04, 0), (0.64, 0.36, 0))
    assert not grading.is_reversed((0.72, 0.04, 0), (0.64, 0.04, 0))
    assert grading.effective_sample_size(50, 8, 0.6) == pytest.approx(76.9, abs=0.05)


@given(SHARE, st.floats(0, 0.45), st.floats(0, 0.45))
def test_the_correction_undoes_the_observation(theta: float, alpha: float, beta: float) -> None:
    observed = grading.observed_score(theta, alpha, beta)
    assert grading.corrected_score(min(1.0, observed), alpha, beta) == pytest.approx(theta, abs=1e-9)
    assert grading.gradient_shift(theta, alpha, beta) == pytest.approx(observed - theta, abs=1e-12)


def test_the_variance_grows_by_its_factor() -> None:
    """Simulated: 200,000 verdicts of a grader with alpha 0.1, beta 0.2 on work that is valid with p 0.6."""
    source = np.random.default_rng(0)
    valid = source.random(200_000) < 0.6
    seen = np.where(valid, source.random(200_000) >= 0.2, source.random(200_000) < 0.1).astype(float)
    corrected = np.array([grading.corrected_score(v, 0.1, 0.2) for v in (0.0, 1.0)])[seen.astype(int)]
    assert corrected.mean() == pytest.approx(0.6, abs=0.01)
    assert corrected.var() / seen.var() == pytest.approx(grading.variance_factor(0.1, 0.2))


@given(st.integers(1, 100), st.integers(1, 100), SHARE)
def test_the_effective_size_lies_between_families_and_items(
    families: int, per_family: int, rho: float
) -> None:
    size = grading.effective_sample_size(families, per_family, rho)
    assert families * (1 - 1e-9) <= size <= families * per_family * (1 + 1e-9)


def test_checking_pays_from_the_break_even_number_on() -> None:
    items = grading.break_even(fixed=900, unresolved=0.1, expert=11, check=0.9)
    assert items == pytest.approx(100)
    assert 900 + items * (0.9 + 0.1 * 11) == pytest.approx(items * 11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grading.observed_score(1.2, 0, 0), "theta must lie between 0 and 1"),
        (lambda: grading.observed_score(float("nan"), 0, 0), "theta must be a finite number"),
        (lambda: grading.corrected_score(0.5, 0.6, 0.4), "alpha \\+ beta must be less than 1, not 1"),
        (lambda: grading.corrected_score(0.5, -0.1, 0.4), "alpha must lie"),
        (lambda: grading.variance_factor(0.7, 0.5), "not 1.2"),
        (lambda: grading.gradient_shift(0.5, 0, 2), "beta must lie"),
        (lambda: grading.effective_sample_size(0, 8, 0.5), "at least 1"),
        (lambda: grading.effective_sample_size(5, 8, 1.5), "rho must lie"),
        (lambda: grading.break_even(100, 0.9, 10, 1), "never pays"),
        (lambda: grading.break_even(-1, 0.1, 10, 1), "fixed must not be negative"),
        (lambda: grading.check_split([], ["a"]), "empty"),
        (lambda: grading.check_split(["a", "b"], ["b", "c"]), "1 families are on both sides: b"),
    ],
)
def test_outside_its_domain_a_formula_says_so(call, message: str) -> None:
    with pytest.raises(OutsideDomain, match=message):
        call()


def test_a_split_by_families_passes() -> None:
    grading.check_split(["a", "a", "b"], ["c"])


def test_the_command_calculates_what_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    call_command(
        *("grading_error", "--theta", "0.72", "--alpha", "0.04", "--against", "0.64", "0.36", "0"),
        *("--observed", "0.7312", "--sample", "50", "8", "0.6", "--break-even", "900", "0.1", "11", "0.9"),
        *("--json", "-"),
    )
    results = json.loads(capsys.readouterr().out)
    assert results["reversed"] is True
    assert results["corrected_score"] == pytest.approx(0.72)
    assert results["effective_sample_size"] == pytest.approx(76.923, abs=1e-3)
    assert results["break_even"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to calculate"),
        (["--observed", "0.5"], "needs --alpha"),
        (["--observed", "0.5", "--alpha", "0.6", "--beta", "0.5"], "alpha \\+ beta must be less than 1"),
        (["--against", "0.5", "0.1", "0.1"], "--against needs"),
        (["--sample", "a", "8", "0.5"], "whole numbers"),
    ],
)
def test_the_command_refuses_what_it_cannot_use(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("grading_error", *arguments)
