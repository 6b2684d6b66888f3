"""Intervals over repeats hold the median as often as they say."""

import math
import random

import pytest

from bentpipe.analysis.statistics import estimate


def test_a_single_value_has_no_interval() -> None:
    found = estimate([3.0])
    assert found is not None
    assert (found.median, found.low, found.high, found.coverage) == (3.0, 3.0, 3.0, 0.0)


def test_no_values_give_no_estimate() -> None:
    assert estimate([]) is None


@pytest.mark.parametrize(
    ("count", "k", "coverage"),
    [(2, 1, 0.5), (3, 1, 0.75), (5, 1, 0.9375), (6, 1, 0.96875), (9, 2, 0.9609375), (20, 6, 0.9586105)],
)
def test_the_interval_is_the_textbook_pair_of_order_statistics(count: int, k: int, coverage: float) -> None:
    found = estimate([float(value) for value in range(1, count + 1)])
    assert found is not None
    assert (found.low, found.high) == (k, count + 1 - k)
    assert found.coverage == pytest.approx(coverage)


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    draws = random.Random(7)
    trials = 4000
    held = 0
    for _ in range(trials):
        found = estimate([draws.expovariate(0.6931471805599453) for _ in range(9)])
        assert found is not None
        held += found.low <= 1.0 <= found.high
    assert held / trials == pytest.approx(0.961, abs=0.012)


@pytest.mark.parametrize("count", [*range(1, 80), 999])
def test_the_rank_is_the_narrowest_that_reaches_the_level_by_the_sum_of_its_definition(count: int) -> None:
    def coverage(k: int) -> float:
        return 1 - 2 * sum(math.comb(count, i) for i in range(k)) / 2**count if 2 * k <= count else 0.0

    found = estimate([float(value) for value in range(1, count + 1)])
    assert found
    k = int(found.low)
    assert found.high == count + 1 - k
    assert found.coverage == pytest.approx(coverage(k), abs=1e-12)
    assert k == 1 or coverage(k) >= 0.95
    assert coverage(k + 1) < 0.95


def test_ten_thousand_values_have_an_interval_too() -> None:
    found = estimate([float(value) for value in range(10_000)])
    assert found
    assert 0.95 <= found.coverage < 0.953
    half = 1.96 * math.sqrt(10_000) / 2
    assert found.median - found.low == pytest.approx(half, abs=1)
    assert found.high - found.median == pytest.approx(half, abs=1)
