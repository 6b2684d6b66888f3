"""The range of an axis: that of the measured values, with a small margin."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bentpipe.charts.description import Axis, Chart, Panel

Range = tuple[float, float]
_STEP_TO_ZERO = 4.0
_DECADE = 9.999
"""Ten, whatever the last bits of the values are."""
_TICKS = 3


def y_range(panels: Iterable[Panel]) -> Range:
    """One range for these panels: from 0 where linear, round what is above 0 where logarithmic."""
    several = list(panels)
    values = [v for panel in several for v in _heights(panel)]
    if several[0].y.log:
        above = [v for v in map(several[0].y.at, values) if v > 0]
        return (min(above) / 1.6, max(above) * 1.6) if above else (0.1, 10.0)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if several[0].y.from_zero:
        return (min(0.0, low), high * 1.08 or 1.0)
    room = max(0.08 * (high - low), 0.01 * abs(high))
    return (low - room, high + room)


def x_range(chart: Chart) -> Range:
    """One range for all of a chart's panels, so that what stands above each other happened together."""
    shown = {id(series.x): series.x for panel in chart.panels for series in panel.series if series.sets_range}
    values = [end for x in shown.values() for end in _extremes(x, chart.x)]
    if chart.x.log:
        above = [v for v in map(chart.x.at, values) if v > 0]
        return (min(above) / 1.4, max(above) * 1.4) if above else (0.1, 10.0)
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.02 * (high - low) or 1.0
    return (low - room, high + room)


def across(chart: Chart, axis: Axis) -> Range:
    """One range for all panels of categories that have this x axis, so that they may be compared."""
    panels = [panel for panel in chart.panels if (panel.x or chart.x) == axis]
    values = [level.value for panel in panels for level in panel.levels]
    for series in (series for panel in panels for series in panel.series):
        values += [*series.x, *(series.low or ()), *(series.high or ())]
    if axis.log:
        above = [value for value in values if value > 0]
        return (min(above) / 1.25, max(above) * 1.25) if above else (0.1, 10.0)
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = min(0.0, low)
    room = 0.04 * (high - low) or 1.0
    return (low - room, high + room)


def _heights(panel: Panel) -> list[float]:
    found = [level.value for level in panel.levels]
    for series in panel.series:
        if series.sets_range:
            found += _extremes(series.y, panel.y)
            found += _extremes(series.high or (), panel.y)
            found += _extremes(series.low or (), panel.y) if series.band else []
    return found


def _extremes(values: Sequence[float | None], axis: Axis) -> list[float]:
    """The lowest and the highest, and where the axis is logarithmic the lowest above 0. None is no value."""
    known = np.array(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    return [*_ends(known), *(_ends(known[known > 0]) if axis.log else [])]


def _ends(values: NDArray[np.float64]) -> list[float]:
    return [float(values.min()), float(values.max())] if values.size else []


def zero_place(values: Iterable[float]) -> float | None:
    """Where 0 may stand on a logarithmic axis of these: below the least, a step apart. None: none is 0."""
    known = list(values)
    above = [value for value in known if value > 0]
    return min(above) / _STEP_TO_ZERO if above and len(above) < len(known) else None


def break_place(axis: Axis) -> float | None:
    """Where the axis breaks off between its 0 and the rest."""
    return axis.zero * math.sqrt(_STEP_TO_ZERO) if axis.zero is not None else None


def spans_a_decade(values: Iterable[float]) -> bool:
    """Or more, of those above 0: a linear axis would press the small ones together."""
    above = [value for value in values if value > 0]
    return bool(above) and max(above) >= _DECADE * min(above)


def log_ticks(ends: Range, axis: Axis) -> list[float]:
    """Round numbers in a logarithmic axis' range, above its break: decades where there are enough of them."""
    least = break_place(axis) or ends[0]
    for firsts in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), *_FINER):
        found = [first * 10.0**power for power in range(-9, 13) for first in firsts]
        found = [float(f"{value:.6g}") for value in found if least <= value <= ends[1]]
        if len(found) >= _TICKS:
            break
    return found


_FINER = tuple(tuple(n / steps for n in range(steps, 10 * steps)) for steps in (5, 10, 20, 100))
"""Steps of 0.2, 0.1, 0.05 and 0.01 between 1 and 10: on a short axis they are almost even."""


def apart(axis: Axis, values: Sequence[float], share: float) -> list[int]:
    """Which of these, from the least, may have words at their ticks: that share of the axis apart, or more.

    The first and the last one always have.
    """
    places = [math.log(axis.at(value)) if axis.log else value for value in values]
    least = share * (places[-1] - places[0])
    kept = [len(places) - 1]
    for number in range(len(places) - 2, -1, -1):
        last = number == 0
        while last and len(kept) > 1 and places[kept[-1]] - places[0] < least:
            kept.pop()
        if last or places[kept[-1]] - places[number] >= least:
            kept.append(number)
    return kept[::-1]
