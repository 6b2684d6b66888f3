"""Runs that vary in exactly two things (swept keys, named axes, variants), and a figure in each pair."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median
from typing import Any

from bentpipe.results.cells import counts

Record = Mapping[str, Any]
Place = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class Grid:
    """The axis with more values is that of the rows."""

    row_key: str
    rows: tuple[Any, ...]
    column_key: str
    columns: tuple[Any, ...]
    runs: Mapping[Place, Sequence[Record]]


@dataclass(frozen=True)
class Value:
    of: float
    at_least: bool = False
    """Some of it was not done when its run ended."""
    doubtful: bool = False
    """Of runs that are left out elsewhere."""


def grid(records: Iterable[Record]) -> Grid | None:
    """None where not exactly two things vary, or below 2 x 3 values of them."""
    every = list(records)
    points = [{**run.get("point", {}), "variant": run.get("variant", "as is")} for run in every]
    keys = dict.fromkeys(key for point in points for key in point)
    axes = {key: list(dict.fromkeys(_plain(point.get(key)) for point in points)) for key in keys}
    axes = {key: values for key, values in axes.items() if len(values) > 1}
    if len(axes) != 2:
        return None
    column, row = sorted(axes, key=lambda key: len(axes[key]))
    if len(axes[row]) < 3:
        return None
    runs: dict[Place, list[Record]] = {}
    for run, point in zip(every, points, strict=True):
        place = (axes[row].index(_plain(point.get(row))), axes[column].index(_plain(point.get(column))))
        runs.setdefault(place, []).append(run)
    return Grid(row, tuple(axes[row]), column, tuple(axes[column]), runs)


def values(of: Grid, measure: Callable[[Record], Sequence[Value]]) -> dict[Place, Value]:
    """The median of each place over its runs that count; where none does, of the others, as doubtful."""
    found = {}
    for place, runs in of.runs.items():
        used = [run for run in runs if counts(run)]
        each = [value for run in used or runs for value in measure(run)]
        if each:
            late = any(value.at_least for value in each)
            found[place] = Value(median(value.of for value in each), late, doubtful=not used)
    return found


def compromise(of: Grid, measured: Sequence[Mapping[Place, Value]]) -> dict[Place, Value]:
    """How far each place is from the best of its column in all that was measured: the geometric mean of its
    ratios to it, 1 being best in everything. One column more is the geometric mean over the columns.

    Places with a doubtful figure, or without one, have none.
    """
    known = [{place: v for place, v in each.items() if not v.doubtful and v.of > 0} for each in measured]
    found: dict[Place, Value] = {}
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


def _plain(value: Any) -> Any:
    """A swept value that may be compared and looked up; a table of several settings by its words."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)
