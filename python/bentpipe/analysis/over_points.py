"""One value per seed out of the values at several points.

The points of a sweep are chosen, the seeds are drawn; and a seed draws the same losses at every point, so
that what it gives at 80 ms and at 120 ms is nearly the same chance twice: correlations of up to 0.98 were
measured. Pairs of all points taken as so many independent ones would give intervals that are far too narrow.
So an interval over all points is one over seeds: each is worth the mean of what it gives.
"""

import math
from collections.abc import Mapping
from statistics import fmean


def over_points(values: Mapping[int, Mapping[int, float]]) -> list[float]:
    """One value per seed, of `values` by point and seed. Their mean is that of the points' means.

    Where a seed is missing at some points (its run was unreliable), what it has at the others counts by how
    far it is from their means, rescaled for how few there are. A point with one seed has no deviation to
    give, and would make the interval too narrow: leave it out before, unless all are so.
    """
    means = {point: fmean(by_seed.values()) for point, by_seed in values.items()}
    seeds = sorted({seed for by_seed in values.values() for seed in by_seed})
    overall, several = fmean(means.values()), len(seeds)
    found = []
    for seed in seeds:
        away = 0.0
        for point, by_seed in values.items():
            count = len(by_seed)
            if seed in by_seed and count > 1:
                away += (by_seed[seed] - means[point]) / count * math.sqrt(count / (count - 1))
        found.append(overall + away * several / len(values) * math.sqrt((several - 1) / several))
    return found
