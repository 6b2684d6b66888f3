"""Intervals over repeats hold the median as often as they say."""

import random

import pytest

from bentpipe.results.statistics import estimate


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
