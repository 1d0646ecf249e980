"""A pilot's agreement, against plain loops over pairs and items."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stats.pilot import modal, pilot_agreement, unanimity, usable_fields

NAN = np.nan
JUDGEMENT = st.none() | st.tuples(
    st.booleans(), st.integers(0, 4), st.none() | st.integers(0, 2), st.none() | st.integers(0, 3)
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[tuple[bool, int, int | None, int | None] | None]]:
    width = draw(st.integers(2, 4))
    return draw(st.lists(st.lists(JUDGEMENT, min_size=width, max_size=width), min_size=1, max_size=8))


def arrays(table: list[list[tuple[bool, int, int | None, int | None] | None]]) -> list[np.ndarray]:
    def column(place: int) -> np.ndarray:
        return np.array(
            [
                [NAN if cell is None or cell[place] is None else float(cell[place]) for cell in row]  # type: ignore[arg-type]
                for row in table
            ]
        )

    return [column(place) for place in range(4)]


@given(tables())
def test_it_is_what_loops_over_all_pairs_count(
    table: list[list[tuple[bool, int, int | None, int | None] | None]],
) -> None:
    correct, step, coherence, kind = arrays(table)
    found = pilot_agreement(correct, step, {"coherence": coherence, "error_type": kind})
    rows = [[cell for cell in row if cell is not None] for row in table if None not in row]
    assert found.items == len(rows)
    pairs = [pair for row in rows for pair in combinations(row, 2)]

    def close(value: float, numerator: int, denominator: int) -> None:
        if denominator:
            assert value == pytest.approx(numerator / denominator)
        else:
            assert math.isnan(value)

    close(found.final_correct.percent.value, sum(a[0] == b[0] for a, b in pairs), len(pairs))
    assert found.final_correct.pairs == len(pairs)
    close(found.error_presence.percent.value, sum((a[1] > 0) == (b[1] > 0) for a, b in pairs), len(pairs))
    named = [(a[1], b[1]) for a, b in pairs if a[1] and b[1]]
    assert found.exact_step.n == found.step_within_one.n == len(named)
    close(found.exact_step.value, sum(a == b for a, b in named), len(named))
    close(found.step_within_one.value, sum(abs(a - b) <= 1 for a, b in named), len(named))
    close(found.unanimous.value, sum(len({cell[0] for cell in row}) == 1 for row in rows), len(rows))
    for place, name in ((2, "coherence"), (3, "error_type")):
        said = [cell[place] for row in rows for cell in row if cell[place] is not None]
        both = [(a[place], b[place]) for a, b in pairs if a[place] is not None and b[place] is not None]
        field = found.others[name]
        assert field.modal.share.n == len(said)
        assert field.modal.counts == Counter(said)
        close(field.modal.share.value, max(Counter(said).values(), default=0), len(said))
        assert field.pairs == len(both)
        close(field.percent.value, sum(a == b for a, b in both), len(both))


@given(tables())
def test_neither_annotators_nor_items_have_an_order(
    table: list[list[tuple[bool, int, int | None, int | None] | None]],
) -> None:
    def numbers(rows: list[list[tuple[bool, int, int | None, int | None] | None]]) -> list[float]:
        correct, step, coherence, kind = arrays(rows)
        found = pilot_agreement(correct, step, {"coherence": coherence, "error_type": kind})
        return [
            found.final_correct.percent.value,
            found.final_correct.alpha.value,
            found.error_presence.ac1.value,
            found.exact_step.value,
            found.unanimous.value,
            found.others["coherence"].modal.share.value,
        ]

    turned = [list(reversed(row)) for row in reversed(table)]
    assert numbers(turned) == pytest.approx(numbers(table), nan_ok=True)


def test_the_published_numbers_come_out_of_a_table_with_their_counts() -> None:
    """Shares as printed: 15 of 18 unanimous; modal values on 92.2% of 103 and 74.5% of 98 judgements.

    The pilot's data are not public, so this checks the arithmetic of the shares alone: 95 / 103 prints as 92.2
    and 73 / 98 as 74.5.
    """
    correct = np.ones((18, 6))
    correct[:3, 0] = 0
    found = unanimity(correct)
    assert (found.n, round(found.value * found.n)) == (18, 15)
    coherence = np.full((18, 6), NAN)
    coherence.flat[:103] = 0
    coherence.flat[:8] = 1
    assert modal(coherence).share.n == 103
    assert f"{100 * modal(coherence).share.value:.1f}" == "92.2"
    kind = np.full((18, 6), NAN)
    kind.flat[:98] = [0] * 73 + [1] * 20 + [2] * 5
    share = modal(kind)
    assert f"{100 * share.share.value:.1f}" == "74.5"
    assert share.two_largest == pytest.approx(93 / 98)


def test_one_class_and_too_few_are_undefined_with_a_reason() -> None:
    same = pilot_agreement(np.ones((4, 3)), np.zeros((4, 3)), {"coherence": np.full((4, 3), NAN)})
    assert same.final_correct.percent.value == 1
    assert math.isnan(same.final_correct.alpha.value)
    assert "undefined" in same.final_correct.ac1.reason
    assert same.exact_step.n == 0
    assert same.exact_step.reason
    assert same.others["coherence"].modal.code is None
    assert same.others["coherence"].modal.share.reason
    alone = pilot_agreement(np.ones((4, 1)), np.zeros((4, 1)), {})
    assert "two annotators" in alone.final_correct.percent.reason
    nobody = pilot_agreement(np.full((2, 2), NAN), np.full((2, 2), NAN), {})
    assert nobody.items == 0
    assert nobody.unanimous.reason


def test_a_field_is_usable_when_pairs_agree_and_it_tells_something() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    correct = np.stack([truth] * 3, axis=1).astype(float)
    step = np.where(truth[:, None] == 0, rng.integers(1, 9, (40, 3)), 0).astype(float)
    coherence = np.zeros((40, 3))
    coherence[0, 0] = 1
    found = pilot_agreement(correct, step, {"coherence": coherence})
    judged = {field.field: field for field in usable_fields(found, least_agreement=0.8, largest_share=0.9)}
    assert judged["final_correct"].usable
    assert judged["error_presence"].usable
    assert "less than 80%" in judged["first_error_step exact"].reasons[0]
    (reason,) = judged["coherence"].reasons
    assert "of 120 judgements" in reason
    empty = pilot_agreement(np.full((2, 2), NAN), np.full((2, 2), NAN), {})
    assert all(
        "undefined" in field.reasons[0]
        for field in usable_fields(empty, least_agreement=0.8, largest_share=0.9)
    )
