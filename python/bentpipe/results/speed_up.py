"""How many times faster a variant is than the plain lab, at one point and for one piece of work.

Runs are compared in pairs of the same seed, whose paths draw the same; the estimate is over the pairs' ratios
(statistics.py says of what kind its interval is). Where one run of a pair does not count, the pair does not.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import median
from typing import Any

from bentpipe.results.cells import Cell
from bentpipe.results.statistics import Estimate, estimate

PLAIN = "as is"


def baselines(found: Sequence[Cell]) -> dict[tuple[str, str, str], Cell]:
    """The plain lab's cells, by kind, point and workload: `place` of any cell."""
    return {place(cell): cell for cell in found if cell.variant == PLAIN}


def place(cell: Cell) -> tuple[str, str, str]:
    """What cells of several variants have in common."""
    return cell.kind.name, repr(sorted(cell.point.items())), cell.workload


def things_tried(found: Sequence[Cell]) -> bool:
    """Whether the variants of each point are to be put side by side, rather than the points of each variant.

    So it is where nothing is swept but named kinds of thing, and where variants are no fewer than points.
    """
    variants, places = {cell.variant for cell in found}, {place(cell) for cell in found}
    swept = any("." in key for cell in found for key in cell.point)
    return len(variants) > 1 and (not swept or len(variants) >= len(places))


def speed_up(cell: Cell, plain: Cell) -> Estimate | None:
    """Above 1: faster, or more of it. None where no pair counts."""
    ours, theirs = _by_seed(cell), _by_seed(plain)
    ratios = [ours[seed] / theirs[seed] for seed in ours if theirs.get(seed) and ours[seed]]
    return estimate(ratios if cell.measure.more_is_better else [1 / ratio for ratio in ratios])


def _by_seed(cell: Cell) -> dict[int, float]:
    """One figure per run that counts and that was done by its end."""
    left_out = {run["run"] for run in cell.left_out}
    used: list[Mapping[str, Any]] = [run for run in cell.runs if run["run"] not in left_out]
    values = {run.get("seed", 1): cell.measure.values(run, cell.workload) for run in used}
    figures = {seed: median(found) for seed, found in values.items() if found}
    return {seed: figure for seed, figure in figures.items() if isfinite(figure)}
