"""The intervals checked with runs, not distributions: a variant compared with itself, and with another."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from bentpipe import Results
from bentpipe.analysis.comparisons import compare_all
from bentpipe.analysis.intervals import Array
from bentpipe.report.verdicts import place

Ends = tuple[Array, Array]


def measured(
    folder: Path, counts: Sequence[int], trials: int, ends: Callable[[Array], Ends], rng: np.random.Generator
) -> Iterator[tuple[str, list[float]]]:
    """By what was done, in how many of the trials something was said, a share by number of pairs.

    `folder` holds one point of `as is` and of another variant, and many seeds: what all give is the truth.
    """
    both = next(each for each in compare_all([Results.open(folder)]) if each.metric.role == "first")
    pairs = [pair for at in both.at for pair in at.by_seed.values()]
    for side, name in enumerate((both.thing.baseline, both.name)):
        values = np.log([pair[side] for pair in pairs])
        shares = []
        for count in counts:
            drawn = np.array([rng.permutation(values)[: 2 * count] for _ in range(trials)])
            low, high = ends(drawn[:, :count] - drawn[:, count:])
            shares.append(float(((low > 0) | (high < 0)).mean()))
        yield f"{name} and itself: said to differ", shares
    ratios = np.log([ours / theirs for theirs, ours in pairs])
    held = []
    for count in counts:
        low, high = ends(rng.choice(ratios, (trials, count)))
        held.append(float(((low <= fmean(ratios)) & (fmean(ratios) <= high)).mean()))
    yield f"{both.name} and {both.thing.baseline}: the ratio of all {len(pairs)} pairs was included", held


def correlations(folders: Sequence[Path]) -> Iterator[tuple[str, list[float]]]:
    """By point, the correlation of the log ratios that seeds give there with those that they give at each."""
    compared = compare_all([Results.open(folder) for folder in folders])
    both = next(each for each in compared if each.metric.role == "first")
    ratios = [[np.log(ours / theirs) for theirs, ours in at.by_seed.values()] for at in both.at]
    points = [each for each in compared if each.metric is both.metric and each.point is not None]
    for of, row in zip(points, np.corrcoef(ratios), strict=True):
        yield place(of, points), [float(value) for value in row]
