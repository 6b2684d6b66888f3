"""The speed-up of a variant compared with the plain lab, at one point and for one workload.

Runs are compared in pairs of the same seed, whose paths draw the same. The ratio and its interval are those
of `bentpipe compare` (means.py). Where one run of a pair does not count, the pair does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from bentpipe.analysis.cells import Cell
from bentpipe.analysis.figures import figure_of
from bentpipe.analysis.intervals import Interval, ratio_of
from bentpipe.analysis.means import log_ratios
from bentpipe.lab.grid.meaning import PointMeaning, point_meaning

PLAIN = "as is"

CellPlace = tuple[str, PointMeaning, str]
"""A kind, a point and a workload."""


def baselines(found: Sequence[Cell]) -> dict[CellPlace, Cell]:
    """The plain lab's cells, by kind, point and workload: `place` of any cell."""
    return {place(cell): cell for cell in found if cell.variant == PLAIN}


def place(cell: Cell) -> CellPlace:
    """What cells of several variants have in common."""
    return cell.kind.name, point_meaning(cell.point), cell.workload


def things_tried(found: Sequence[Cell]) -> bool:
    """Whether the variants of each point are to be put side by side, rather than the points of each variant.

    So it is where nothing is swept but named kinds of thing, and where variants are no fewer than points.
    """
    variants, places = {cell.variant for cell in found}, {place(cell) for cell in found}
    swept = any("." in key for cell in found for key in cell.point)
    return len(variants) > 1 and (not swept or len(variants) >= len(places))


@dataclass(frozen=True)
class SpeedUp:
    """Above 1: faster, or more of it."""

    ratio: float
    """The geometric mean over the pairs."""
    interval: Interval | None
    """None of a single pair."""
    pairs: int

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out that nothing changed."""
        return self.interval is not None and not self.interval.holds(1.0)


def speed_up(cell: Cell, plain: Cell) -> SpeedUp | None:
    """None where no pair counts."""
    ours, theirs = _by_seed(cell), _by_seed(plain)
    pairs = {seed: (theirs[seed], ours[seed]) for seed in ours if seed in theirs}
    if not cell.measure.more_is_better:
        pairs = {seed: (b, a) for seed, (a, b) in pairs.items()}
    found = log_ratios({0: pairs})
    if found is None:
        return None
    return SpeedUp(ratio_of(found.value), found.interval.exp() if found.interval else None, len(pairs))


def _by_seed(cell: Cell) -> dict[int, float]:
    """One figure per run that counts and that was done by its end."""
    left_out = {run["run"] for run in cell.left_out}
    used: list[Mapping[str, Any]] = [run for run in cell.runs if run["run"] not in left_out]
    figures = {run.get("seed", 1): figure_of(cell.measure, run, cell.workload) for run in used}
    return {seed: figure for seed, figure in figures.items() if figure is not None and isfinite(figure)}
