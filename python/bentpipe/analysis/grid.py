"""A figure for each pair of values of two axes (swept keys, named axes, variants)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isnan, log
from statistics import median
from typing import Any

from bentpipe.analysis.cells import counts
from bentpipe.analysis.swept import coordinates, swept_axes

Record = Mapping[str, Any]
CellIndex = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class Grid:
    """The axis with more values is that of the rows."""

    row_key: str
    rows: tuple[Any, ...]
    column_key: str
    columns: tuple[Any, ...]
    rest: Mapping[str, Any]
    """Where it stands on the axes that are neither rows nor columns."""
    runs: Mapping[CellIndex, Sequence[Record]]


@dataclass(frozen=True)
class Value:
    of: float
    at_least: bool = False
    """Some of it was not done when its run ended."""
    doubtful: bool = False
    """Of runs that are left out elsewhere."""
    runs: tuple[str, ...] = ()
    """Of which it is the median, from the nearest to it."""


def grids(records: Iterable[Record]) -> list[Grid]:
    """Over the two axes with the most values, one grid for each combination of the others. Empty below 2 x 3
    values, and where more than two axes vary but fewer than two of them are swept keys: kinds of thing are
    no plane.
    """
    every = list(records)
    points = [coordinates(run.get("point", {}), run.get("variant", "as is")) for run in every]
    axes = swept_axes(points)
    if len(axes) < 2 or (len(axes) > 2 and sum("." in axis.key for axis in axes) < 2):
        return []
    row, column, *others = sorted(axes, key=lambda axis: -len(axis.values))
    if len(row.values) < 3:
        return []
    found: dict[tuple[Any, ...], dict[CellIndex, list[Record]]] = {}
    for run, point in zip(every, points, strict=True):
        panel = tuple(axis.values.index(point.get(axis.key)) for axis in others)
        at = (row.values.index(point.get(row.key)), column.values.index(point.get(column.key)))
        found.setdefault(panel, {}).setdefault(at, []).append(run)
    return [
        Grid(
            row.key,
            row.values,
            column.key,
            column.values,
            {axis.key: axis.values[number] for axis, number in zip(others, panel, strict=True)},
            runs,
        )
        for panel, runs in sorted(found.items())
    ]


def values(of: Grid, measure: Callable[[Record], Sequence[Value]]) -> dict[CellIndex, Value]:
    """The median of each cell over its runs that count; where none does, of the others, as doubtful."""
    found = {}
    for cell, runs in of.runs.items():
        used = [run for run in runs if counts(run)] or runs
        known = {run["run"]: of_run for run in used if (of_run := measure(run))}
        if known:
            middle = median(value.of for each in known.values() for value in each)
            late = any(value.at_least for each in known.values() for value in each)
            away = {name: abs(median(v.of for v in each) - middle) for name, each in known.items()}
            names = tuple(sorted(away, key=lambda name: (isnan(away[name]), away[name])))
            found[cell] = Value(middle, late, not counts(used[0]), names)
    return found


def compromise(of: Grid, measured: Sequence[Mapping[CellIndex, Value]]) -> dict[CellIndex, Value]:
    """How far each cell is from the best of its column in all that was measured: the geometric mean of its
    ratios to it, 1 being best in everything. One column more is the geometric mean over the columns.

    Cells with a doubtful figure, or without one, have none.
    """
    known = [{cell: v for cell, v in each.items() if not v.doubtful and v.of > 0} for each in measured]
    found: dict[CellIndex, Value] = {}
    for column in range(len(of.columns)):
        best = [min((v.of for (_, c), v in each.items() if c == column), default=0.0) for each in known]
        for row in range(len(of.rows)):
            here = [each[row, column] for each in known if (row, column) in each]
            if len(here) == len(known):
                ratios = [v.of / least for v, least in zip(here, best, strict=True)]
                found[row, column] = Value(_geometric_mean(ratios), any(v.at_least for v in here))
    for row in range(len(of.rows)):
        along = [found[row, column] for column in range(len(of.columns)) if (row, column) in found]
        if len(along) == len(of.columns):
            mean = _geometric_mean([v.of for v in along])
            found[row, len(of.columns)] = Value(mean, any(v.at_least for v in along))
    return found


def _geometric_mean(ratios: Sequence[float]) -> float:
    return exp(sum(log(ratio) for ratio in ratios) / len(ratios))
