"""Means over pairs of runs: of a value per pair, and the geometric one of their ratios, with intervals.

Whatever says how many times as fast one thing is as another takes the ratio from here, so that two tables
never give two figures of the same pairs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from bentpipe.analysis.intervals import (
    LEVEL,
    Interval,
    differs,
    interval,
    repeats_to_see,
    spread,
    would_be_seen,
)
from bentpipe.analysis.over_points import over_points

BySeed = Mapping[int, tuple[float, float]]
"""Theirs and ours."""


@dataclass(frozen=True)
class Mean:
    """Of one value per pair, at one point or over all; of logarithms where it is of ratios."""

    value: float
    interval: Interval | None
    """None of a single seed."""
    deviation: float = 0.0
    """Standard deviation of what the seeds give."""

    def repeats(self) -> int | None:
        """How many seeds would show such a mean to differ from 0. None: too many to say."""
        return repeats_to_see(self.value, self.deviation) if self.interval and self.value else None

    def stands_out(self, among: int) -> bool:
        """Whether it differs from 0 although it is picked out of so many."""
        return self.interval is not None and differs(self.value, self.deviation, self.interval.count, among)

    def seen_from(self) -> float | None:
        """The least mean that as many seeds would have shown to differ from 0."""
        return would_be_seen(self.deviation, self.interval.count) if self.interval else None


def mean(values: Mapping[int, Mapping[int, float]], level: float = LEVEL) -> Mean | None:
    """Over seeds, of `values` by point and seed. None where there is none.

    Where some points have several seeds, those with one are left out: it says nothing of chance.
    """
    there = {point: by_seed for point, by_seed in values.items() if by_seed}
    several = {point: by_seed for point, by_seed in there.items() if len(by_seed) > 1}
    if not there:
        return None
    if not several:
        return Mean(fmean(fmean(by_seed.values()) for by_seed in there.values()), None)
    each = over_points(several)
    return Mean(fmean(each), interval(each, level), spread(each))


def differences(at: Mapping[int, BySeed], level: float = LEVEL) -> Mean | None:
    """Ours less theirs, by point and seed."""
    return mean({point: {s: b - a for s, (a, b) in each.items()} for point, each in at.items()}, level)


def log_ratios(at: Mapping[int, BySeed], level: float = LEVEL) -> Mean | None:
    """The logarithm of ours over theirs, by point and seed. None where a figure is not above 0."""
    every = [value for each in at.values() for both in each.values() for value in both]
    if not every or min(every) <= 0:
        return None
    return mean({p: {s: math.log(b / a) for s, (a, b) in each.items()} for p, each in at.items()}, level)
