"""Statistics over the repeats of one point.

The interval is that of order statistics: between the k-th lowest and the k-th highest value lies the median
of whatever they were drawn from with probability 1 - 2 P(Binomial(n, 1/2) < k). It assumes nothing about the
distribution, and needs no random numbers. The widest, from the lowest value to the highest, holds the median
with 50 % of two repeats, 75 % of three, 87.5 % of four and 94 % of five. Below 90 % it is not called an
interval (`has_interval`), so that it takes five.
Source: W. J. Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
"""

import math
from collections.abc import Sequence
from functools import cache

from bentpipe.frozen import frozen

LEAST_COVERAGE = 0.9
LEAST_COUNT = 5
"""Values from which there is such an interval."""


@frozen
class Estimate:
    """A median, the interval around it, and how often such an interval holds the true median."""

    median: float
    low: float
    high: float
    coverage: float
    """0 for a single value, which has no interval."""
    count: int

    @property
    def has_interval(self) -> bool:
        """Whether it holds the true median often enough to be shown."""
        return self.coverage >= LEAST_COVERAGE

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the interval; without an interval both are the median."""
        return (self.low, self.high) if self.has_interval else (self.median, self.median)

    @property
    def bounded(self) -> bool:
        """Whether all of it can be drawn: what was not done by a run's end took a time without bound."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def scaled(self, factor: float) -> "Estimate":
        """The same in another unit."""
        low, high = self.low * factor, self.high * factor
        return Estimate(self.median * factor, low, high, self.coverage, self.count)


def estimate(values: Sequence[float], level: float = 0.95) -> Estimate | None:
    """The median, in the narrowest interval that reaches `level` or else the widest. None: no values."""
    if not values:
        return None
    ordered = sorted(values)
    count = len(ordered)
    k, coverage = _rank(count, level)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return Estimate(median, ordered[k - 1], ordered[count - k], coverage, count)


@cache
def _rank(count: int, level: float) -> tuple[int, float]:
    """(k, coverage) of the narrowest interval, from the k-th lowest to the k-th highest, of that `level`."""
    k, found = 1, 0.0
    below, combinations, half = 0, 1, 2**count // 2
    for candidate in range(1, count // 2 + 1):
        below += combinations
        combinations = combinations * (count - candidate + 1) // candidate
        coverage = 1.0 - below / half
        if candidate > 1 and coverage < level:
            break
        k, found = candidate, coverage
    return k, found
