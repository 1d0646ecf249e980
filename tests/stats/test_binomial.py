"""One share against one half."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stats.binomial import cumulative, share_of


def test_the_interval_of_a_table_is_found() -> None:
    """Clopper and Pearson (1934), the usual worked example: 10 of 50 gives 0.1003 to 0.3372."""
    found = share_of(10, 50)
    assert (round(found.low, 4), round(found.high, 4)) == (0.1003, 0.3372)


@pytest.mark.parametrize(("hits", "n", "p"), [(5, 10, 1.0), (0, 10, 2 / 1024), (9, 10, 22 / 1024)])
def test_the_exact_test_against_one_half(hits: int, n: int, p: float) -> None:
    assert share_of(hits, n).p_half == pytest.approx(p)


def test_nothing_of_nothing_is_undefined() -> None:
    assert math.isnan(share_of(0, 0).share)
    assert math.isnan(share_of(0, 0).high)


def test_more_than_all_is_refused() -> None:
    with pytest.raises(ValueError, match="11 of 10"):
        share_of(11, 10)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_its_share_and_mirrors(pair: tuple[int, int]) -> None:
    hits, n = pair
    found, other = share_of(hits, n), share_of(n - hits, n)
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert found.low == pytest.approx(1 - other.high, abs=1e-9)
    assert found.p_half == pytest.approx(other.p_half)


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_the_cumulative_adds_up_whole_numbers(n: int, p: float) -> None:
    exact = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    for k in range(n):
        assert cumulative(k, n, p) == pytest.approx(sum(exact[: k + 1]), abs=1e-9)
