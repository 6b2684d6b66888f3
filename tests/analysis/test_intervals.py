"""Intervals hold the true mean as often as they say, and a difference that is said to be seen is seen.

Each is a count of trials held against what chance allows at the stated rate: below 1 in 10,000 by a sound
method. The seeds are fixed, so a sound one stays so.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from bentpipe.analysis.intervals import (
    BOOTSTRAP,
    FROM,
    LEAST_HELD,
    LEVEL,
    POWER,
    STUDENT,
    bounds,
    interval,
    repeats_to_see,
    would_be_seen,
)
from bentpipe.analysis.over_points import over_points

TRIALS = 2000
RESAMPLES = 1999
CHANCE = 1e-4


def held(samples: np.ndarray, mean: float = 0.0) -> int:
    low, high = bounds(samples, resamples=RESAMPLES)
    return int(((low <= mean) & (mean <= high)).sum())


def at_least(rate: float) -> int:
    """As few of the trials as chance allows where the rate is true."""
    from scipy import stats  # noqa: PLC0415 - it takes a second to load, and each worker collects this file

    return int(stats.binom.ppf(CHANCE, TRIALS, rate))


def at_most(rate: float) -> int:
    from scipy import stats  # noqa: PLC0415 - see above

    return int(stats.binom.isf(CHANCE, TRIALS, rate))


def drawn(kind: str, count: int) -> np.ndarray:
    rng, size = np.random.default_rng([count, *kind.encode()]), (TRIALS, count)
    if kind == "normal":
        return rng.normal(0, 1, size)
    if kind == "lognormal":
        return np.exp(rng.normal(0, 0.8, size)) - math.exp(0.32)
    return rng.normal(0, 0.1, size) + (rng.random(size) < 0.2) - 0.2  # two modes, one of them rare


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 8, 10, 20])
def test_normal_values_are_held_at_the_stated_rate(count: int) -> None:
    found = held(drawn("normal", count))
    assert found >= at_least(0.94)  # of a bootstrap, a hundredth is granted
    assert found <= at_most(0.965)


@pytest.mark.parametrize("kind", ["lognormal", "two modes"])
@pytest.mark.parametrize("count", sorted(LEAST_HELD))
def test_skewed_values_are_held_as_often_as_is_said(kind: str, count: int) -> None:
    assert held(drawn(kind, count)) >= at_least(LEAST_HELD[count])


def test_the_page_shows_what_is_said_to_be_held() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text()
    head = next(line for line in page.splitlines() if line.startswith("| pairs, drawn from | 2 |"))
    least = next(line for line in page.splitlines() if line.startswith("| **least** |"))
    counts, shares = ([int(cell) for cell in line.split("|")[2:-1]] for line in (head, least))
    assert dict(zip(counts, shares, strict=True)) == {n: round(100 * held) for n, held in LEAST_HELD.items()}


@pytest.mark.parametrize("count", [6, 20])
def test_the_percentiles_are_scipys_of_rescaled_residuals(count: int) -> None:
    from scipy import stats  # noqa: PLC0415 - see above

    samples = drawn("lognormal", count)[:700]
    mean = samples.mean(axis=1, keepdims=True)
    normal = stats.norm.cdf(stats.t.ppf(0.025, count - 1))
    theirs = stats.bootstrap(
        (mean + (samples - mean) * math.sqrt(count / (count - 1)),),
        np.mean,
        axis=1,
        vectorized=True,
        method="percentile",
        confidence_level=1 - 2 * normal,
        n_resamples=RESAMPLES,
        batch=1_000_000 // samples.size,
        rng=np.random.default_rng(20_150_101),
    ).confidence_interval
    low, high = bounds(samples, resamples=RESAMPLES)
    np.testing.assert_allclose(low, theirs.low, rtol=1e-12)
    np.testing.assert_allclose(high, theirs.high, rtol=1e-12)


def test_scipys_own_percentiles_would_not_pass() -> None:
    from scipy import stats  # noqa: PLC0415 - see above

    samples = drawn("normal", 5)
    found = stats.bootstrap(
        (samples,), np.mean, axis=1, vectorized=True, method="percentile", n_resamples=RESAMPLES, rng=1
    ).confidence_interval
    assert int(((found.low <= 0) & (found.high >= 0)).sum()) < at_least(0.94)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("seeds", [3, 8])
def test_over_many_points_seeds_are_what_is_counted(correlation: float, seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    shared, own = rng.normal(0, 1, (TRIALS, 1, seeds)), rng.normal(0, 1, (TRIALS, 10, seeds))
    values = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own
    each = [over_points({p: dict(enumerate(row)) for p, row in enumerate(trial)}) for trial in values]
    assert held(np.array(each)) >= at_least(0.94)


def test_runs_that_are_missing_here_and_there_do_not_narrow_the_interval() -> None:
    rng = np.random.default_rng(7)
    each = []
    for _ in range(TRIALS):
        there = rng.random((6, 8)) > 0.2
        there[:, :2] = True
        drawn_by_seed = rng.normal(0, 1, 8)
        by_point = {
            point: {s: 10.0 * point + drawn_by_seed[s] + rng.normal() for s in range(8) if there[point, s]}
            for point in range(6)
        }
        each.append(over_points(by_point))
    assert held(np.array(each), mean=25.0) >= at_least(0.935)


def test_the_mean_over_seeds_is_that_of_the_points_means() -> None:
    by_point = {0: {1: 1.0, 2: 3.0}, 1: {1: 10.0, 2: 20.0, 3: 30.0}}
    found = over_points(by_point)
    assert len(found) == 3
    assert sum(found) / 3 == pytest.approx(11.0)


def test_where_every_seed_is_at_every_point_its_value_is_its_mean_over_points() -> None:
    assert over_points({0: {1: 1.0, 2: 3.0}, 1: {1: 10.0, 2: 20.0}}) == pytest.approx([5.5, 11.5])


@pytest.mark.parametrize("count", [4, 12])
def test_a_difference_that_would_have_been_seen_is_seen_that_often(count: int) -> None:
    least = would_be_seen(1.0, count)
    low, _ = bounds(np.random.default_rng(count).normal(least, 1, (TRIALS, count)), resamples=RESAMPLES)
    assert abs(float((low > 0).mean()) - POWER) < 0.05


def test_as_many_repeats_as_are_named_would_show_it_and_one_fewer_would_not() -> None:
    for mean in (0.2, 0.7, 3.0):
        count = repeats_to_see(mean, 1.0)
        assert count is not None
        assert would_be_seen(1.0, count) <= mean < would_be_seen(1.0, count - 1)
    assert repeats_to_see(1e-6, 1.0) is None


def test_the_same_values_give_the_same_interval() -> None:
    values = [1.0, 2.5, 3.0, 7.0, 1.5, 2.0, 2.2]
    first = interval(values)
    assert first == interval(values)
    assert first is not None
    assert (first.method, first.level, first.count) == (BOOTSTRAP, LEVEL, len(values))
    assert first.low < first.mean < first.high


def test_few_values_go_by_students_t_and_one_by_nothing() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found is not None
    assert found.method == STUDENT
    assert found.high - 2.0 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert interval([1.0]) is None
    assert len([n for n in range(2, 30) if (interval(list(range(n))) or found).method == STUDENT]) == FROM - 2


def test_equal_values_have_an_interval_without_width() -> None:
    found = interval([0.1 + 0.2, 0.3, 0.3])
    assert found is not None
    assert found.low == found.high == found.mean


def test_an_interval_of_ratios_ends_at_a_number_that_can_be_written() -> None:
    ratios = interval([0.0, 700.0])
    assert ratios is not None
    assert 1e300 < ratios.exp().high < math.inf
