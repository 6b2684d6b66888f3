"""Confidence intervals of the mean of a few values. Coverage is as close to the level as few values allow.

From six values: the bootstrap's percentiles, with the residuals rescaled by sqrt(n / (n - 1)) and the
level expanded so that normal values are held as often as by Student's t. Without both, percentile and BCa
intervals of five values hold the mean 83 times in a hundred for "95 %". Below six, what resamples give lies
between the lowest and the highest value, and no percentile of it can reach 95 %: there it is Student's t
itself. How often each holds the mean is simulated by `make check-intervals`.

Source: T. Hesterberg, What Teachers Should Know About the Bootstrap, arXiv 1411.5279, sections 3.3 and 5.3.
numpy and scipy.special are loaded when an interval is computed: they take longer to load than a short run
takes. scipy.stats has all this too, and takes a second of the processor to load: more than a comparison.
Departure: 1. the narrowness is taken out of the residuals, and so not out of the level as well.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
LEVEL = 0.95
POWER = 0.8
"""How often a difference is seen where it is said that it would be."""
BOOTSTRAP = "bootstrap"
STUDENT = "student"
FROM = 6
"""Values from which the bootstrap is used."""
LEAST_HELD = {2: 0.80, 3: 0.75, 4: 0.68, 5: 0.70, 6: 0.74, 8: 0.83, 10: 0.88, 20: 0.91}
"""By the number of values, how often at 95 % they hold the mean of what benches/intervals finds worst."""
MOST_REPEATS = 10_000
RESAMPLES = 9999
_BATCH = 1_000_000
_SEED = 20_150_101
"""Any one: the same values give the same interval."""


@dataclass(frozen=True)
class Interval:
    """A mean, and the interval that is to hold the true one with probability `level`."""

    mean: float
    low: float
    high: float
    level: float
    method: str
    count: int
    """How many values it is of."""

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def held(self) -> float:
        """How often such an interval holds the mean at least, of very skewed values too."""
        return LEAST_HELD[max(count for count in LEAST_HELD if count <= self.count)]

    def exp(self) -> Interval:
        """Of logarithms: the geometric mean and its interval."""
        mean, low, high = map(ratio_of, (self.mean, self.low, self.high))
        return Interval(mean, low, high, self.level, self.method, self.count)


def ratio_of(logarithm: float) -> float:
    """The ratio that has this logarithm; at most the largest float, so that it can be written."""
    return math.exp(min(logarithm, math.log(sys.float_info.max)))


def interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """None of fewer than two values. Of equal values both ends are that value."""
    import numpy as np  # noqa: PLC0415 - see above

    count = len(values)
    if count < 2:
        return None
    sample = np.asarray(values, dtype=float)
    mean = float(sample.mean())
    method = STUDENT if count < FROM else BOOTSTRAP
    if spread(sample) == 0:
        return Interval(mean, mean, mean, level, method, count)
    low, high = bounds(sample[np.newaxis], level)
    return Interval(mean, float(low[0]), float(high[0]), level, method, count)


def bounds(samples: Array, level: float = LEVEL, resamples: int = RESAMPLES) -> tuple[Array, Array]:
    """Lower and upper ends, one of each row of values."""
    import numpy as np  # noqa: PLC0415 - see above

    count = samples.shape[1]
    mean = samples.mean(axis=1, keepdims=True)
    if count < FROM:
        half = _t(level, count) * samples.std(axis=1, ddof=1) / math.sqrt(count)
        return mean[:, 0] - half, mean[:, 0] + half
    residuals = (samples - mean) * math.sqrt(count / (count - 1))
    means = _resampled_means(mean + residuals, resamples)
    alpha = (1 - expanded(level, count)) / 2
    low, high = np.quantile(means, (alpha, 1 - alpha), axis=1)
    return low, high


def _resampled_means(samples: Array, resamples: int) -> Array:
    """Of each row's values drawn with replacement, so often; in every row the same places are drawn."""
    import numpy as np  # noqa: PLC0415 - see above

    rng, count = np.random.default_rng(_SEED), samples.shape[1]
    batch = max(_BATCH // samples.size, 1)
    sizes = [min(batch, resamples - begun) for begun in range(0, resamples, batch)]
    return np.concatenate(
        [samples[:, rng.integers(0, count, (size, count))].mean(axis=2) for size in sizes], 1
    )


def spread(values: Sequence[float] | Array) -> float:
    """Standard deviation; 0 where the values differ by no more than rounding."""
    import numpy as np  # noqa: PLC0415 - see above

    sample = np.asarray(values, dtype=float)
    found = float(sample.std(ddof=1))
    return 0.0 if found <= 1e-12 * float(np.abs(sample).max()) else found


def would_be_seen(deviation: float, count: int) -> float:
    """The least mean that `count` such values show to differ from 0, `POWER` of the time."""
    from scipy import special  # noqa: PLC0415 - see above

    return (_t(LEVEL, count) + float(special.stdtrit(count - 1, POWER))) * deviation / math.sqrt(count)


def differs(mean: float, deviation: float, count: int, among: int) -> bool:
    """Whether a mean picked out of so many differs from 0. One of many that do not is picked in 5 %."""
    return abs(mean) > _t(together_at(LEVEL, among), count) * deviation / math.sqrt(count)


def together_at(level: float, among: int) -> float:
    """The level of each of so many intervals, so that all of them hold with `level` or more (Bonferroni)."""
    return 1 - (1 - level) / among


def repeats_to_see(mean: float, deviation: float) -> int | None:
    """How many values show such a mean to differ from 0, `POWER` of the time. None: above `MOST_REPEATS`."""
    if abs(mean) < would_be_seen(deviation, MOST_REPEATS):
        return None
    few, many = 1, MOST_REPEATS
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if would_be_seen(deviation, middle) <= abs(mean) else (middle, many)
    return many


def expanded(level: float, count: int) -> float:
    """The level at which a normal distribution's quantiles are those of Student's t at `level`."""
    from scipy import special  # noqa: PLC0415 - see above

    return 1 - 2 * float(special.ndtr(-_t(level, count)))


def _t(level: float, count: int) -> float:
    from scipy import special  # noqa: PLC0415 - see above

    return float(special.stdtrit(count - 1, (1 + level) / 2))
