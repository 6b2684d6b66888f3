"""The range of an axis: what was measured decides it, with a little room."""

import math
from collections.abc import Iterable

from bentpipe.charts.description import Axis, Chart, Panel

Range = tuple[float, float]


def y_range(panels: Iterable[Panel]) -> Range:
    """One range for these panels: from 0 where linear, round what is above 0 where logarithmic."""
    several = list(panels)
    values = [v for panel in several for v in _heights(panel)]
    if several[0].y.log:
        above = [v for v in values if v > 0]
        return (min(above) / 1.6, max(above) * 1.6) if above else (0.1, 10.0)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if several[0].y.from_zero:
        return (min(0.0, low), high * 1.08 or 1.0)
    room = max(0.08 * (high - low), 0.01 * abs(high))
    return (low - room, high + room)


def x_range(chart: Chart) -> Range:
    """One range for all of a chart's panels, so that what stands above each other happened together."""
    values = [x for panel in chart.panels for series in panel.series if series.sets_range for x in series.x]
    if chart.x.log:
        above = [v for v in values if v > 0]
        return (min(above) / 1.4, max(above) * 1.4) if above else (0.1, 10.0)
    low, high = min(values), max(values)
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
            found += [y for y in series.y if y is not None and math.isfinite(y)]
            found += [y for y in series.high or () if math.isfinite(y)]
    return found
