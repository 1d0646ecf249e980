"""Agreement between annotators, against plain loops."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stats.annotators import annotator_pairs, presence_of, step_agreement

NAN = np.nan
LABEL = st.none() | st.tuples(st.booleans(), st.integers(0, 4))


@st.composite
def tables(draw: st.DrawFn) -> list[list[tuple[bool, int] | None]]:
    width = draw(st.integers(2, 4))
    return draw(st.lists(st.lists(LABEL, min_size=width, max_size=width), min_size=1, max_size=8))


def arrays(table: list[list[tuple[bool, int] | None]]) -> tuple[np.ndarray, np.ndarray]:
    correct = np.array([[NAN if cell is None else float(cell[0]) for cell in row] for row in table])
    step = np.array([[NAN if cell is None else float(cell[1]) for cell in row] for row in table])
    return correct, step


@given(tables())
def test_pairs_are_as_counted_by_hand(table: list[list[tuple[bool, int] | None]]) -> None:
    pairs = {(pair.first, pair.second): pair for pair in annotator_pairs(*arrays(table))}
    for a, b in combinations(range(len(table[0])), 2):
        shared = [(row[a], row[b]) for row in table if row[a] is not None and row[b] is not None]
        if not shared:
            assert (a, b) not in pairs
            continue
        pair = pairs[a, b]
        assert pair.shared == pair.final_correct.percent.n == len(shared)
        same = sum(x[0] == y[0] for x, y in shared) / len(shared)  # type: ignore[index]
        assert pair.final_correct.percent.value == pytest.approx(same)
        present = sum((x[1] > 0) == (y[1] > 0) for x, y in shared) / len(shared)  # type: ignore[index]
        assert pair.error_presence.percent.value == pytest.approx(present)
        named = [(x[1], y[1]) for x, y in shared if x[1] and y[1]]  # type: ignore[index]
        assert pair.exact_step.n == pair.step_within_one.n == len(named)
        if named:
            assert pair.exact_step.value == pytest.approx(sum(x == y for x, y in named) / len(named))
            near = sum(abs(x - y) <= 1 for x, y in named) / len(named)
            assert pair.step_within_one.value == pytest.approx(near)
        else:
            assert math.isnan(pair.exact_step.value)
            assert pair.exact_step.reason


@given(tables())
def test_the_order_of_annotators_does_not_matter(table: list[list[tuple[bool, int] | None]]) -> None:
    correct, step = arrays(table)
    turned = annotator_pairs(correct[:, ::-1], step[:, ::-1])
    for pair, other in zip(annotator_pairs(correct, step), reversed(turned), strict=True):
        if len(table[0]) == 2:
            assert other.exact_step == pytest.approx(pair.exact_step, nan_ok=True) or pair.exact_step.n == 0
    assert sorted(pair.shared for pair in turned) == sorted(
        pair.shared for pair in annotator_pairs(correct, step)
    )


def test_one_class_has_a_percentage_and_no_kappa() -> None:
    (pair,) = annotator_pairs(np.ones((5, 2)), np.zeros((5, 2)))
    assert pair.final_correct.percent.value == 1
    assert math.isnan(pair.final_correct.kappa.value)
    assert "undefined" in pair.final_correct.kappa.reason
    assert pair.exact_step.n == 0


def test_steps_pool_over_all_pairs() -> None:
    step = np.array([[3.0, 3.0, 4.0], [0.0, 2.0, 2.0], [NAN, 1.0, 5.0]])
    exact, near = step_agreement(step)
    assert (exact.n, exact.value) == (5, 2 / 5)
    assert near.value == 4 / 5


def test_presence_keeps_silence_apart_from_no_error() -> None:
    assert presence_of(np.array([0.0, 3.0, NAN])) == pytest.approx(np.array([0, 1, NAN]), nan_ok=True)
