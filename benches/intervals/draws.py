"""What is drawn in the check of the intervals: differences as comparisons of transfers may have them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bentpipe.analysis.intervals import Array

Size = tuple[int, ...]


@dataclass(frozen=True)
class Kind:
    draw: Callable[[np.random.Generator, Size], Array]
    mean: float
    """The true one."""
    about: str


def _lognormal(sigma: float) -> Kind:
    return Kind(
        lambda rng, size: np.exp(rng.normal(0, sigma, size)),
        float(np.exp(sigma**2 / 2)),
        f"lognormal, sigma {sigma:g}",
    )


def _two_modes(share: float, about: str) -> Kind:
    return Kind(lambda rng, size: rng.normal(0, 0.1, size) + (rng.random(size) < share), share, about)


KINDS: Mapping[str, Kind] = {
    "normal": Kind(lambda rng, size: rng.normal(0, 1, size), 0.0, "normal; logarithms of lognormal ratios"),
    "lognormal 0.1": _lognormal(0.1),
    "lognormal 0.8": _lognormal(0.8),
    "difference": Kind(
        lambda rng, size: np.exp(rng.normal(0, 0.8, size)) - np.exp(rng.normal(0, 0.8, size)),
        0.0,
        "difference of two lognormal ones, sigma 0.8",
    ),
    "exponential": Kind(lambda rng, size: rng.exponential(1, size), 1.0, "exponential"),
    "two modes, even": _two_modes(0.5, "half of the runs are outliers"),
    "two modes, rare": _two_modes(0.2, "every fifth run is an outlier"),
}


def points(rng: np.random.Generator, size: Size, correlation: float) -> Array:
    """(trials, points, seeds): normal, each point with its own spread; what one seed gives is correlated."""
    trials, count, seeds = size
    shared, own = rng.normal(0, 1, (trials, 1, seeds)), rng.normal(0, 1, size)
    spreads = np.geomspace(0.3, 3, count)[np.newaxis, :, np.newaxis]
    return np.asarray(spreads * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own))


def fetch_ratios(rng: np.random.Generator, size: Size, percents: tuple[int, ...]) -> list[Array]:
    """Of two runs that do not differ, for each percentile of their 100 fetches the logarithm of the ratio.

    Every tenth fetch on average takes twice as long, as one that meets an outage.
    """
    sides = []
    for _ in range(2):
        times = np.exp(rng.normal(0, 0.1, (*size, 100))) * np.where(rng.random((*size, 100)) < 0.1, 2, 1)
        sides.append(np.log(np.percentile(times, percents, axis=-1)))
    return list(np.asarray(sides[1] - sides[0]))
