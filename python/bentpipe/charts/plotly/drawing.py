"""Chart descriptions as plotly figures in plain JSON, one per panel, for the page.

Only the page's script calls plotly.js; it swaps each role's colour for the one on dark ground where the
reader wants that, links the time axes of a run's panels, and draws a panel when it is opened.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.charts.description import Axis, Chart, Dash, Mark, Panel, Series, Symbol
from bentpipe.charts.palette import DARK, LIGHT
from bentpipe.charts.plotly import cells, rows
from bentpipe.charts.plotly.decimate import envelope, indices
from bentpipe.charts.plotly.values import levels, plain, scale, short, shorts
from bentpipe.charts.ranges import Range, break_place, log_ticks, x_range, y_range
from bentpipe.words.digits import digits

_DASHES = {Dash.SOLID: "solid", Dash.DASHED: "dash", Dash.DOTTED: "dot", Dash.DASH_DOT: "dashdot"}
_SYMBOLS = {
    Symbol.CIRCLE: "circle",
    Symbol.SQUARE: "square",
    Symbol.TRIANGLE: "triangle-up",
    Symbol.CROSS: "x",
    Symbol.DIAMOND: "diamond",
    Symbol.STROKE: "line-ns",
    Symbol.BEYOND: "triangle-right",
}
_SIGNS = {
    False: dict(zip(Symbol, "●■▲✖◆", strict=False)),
    True: dict(zip(Symbol, "○□△×◇", strict=False)),
}
_STROKES = dict(zip(Dash, ("───", "╌╌╌", "···", "─·─"), strict=True))
PIXELS = 900
"""Long series are thinned for a chart this wide; zooming in shows what was kept."""
_PIXELS_FINE = 300
"""Below this, curves are thinned as coarsely as their outline allows."""
_SERIES_WHOLE = 6
_SHARE_LEAST = 2 / 15
"""Where a panel has more series than the former, each is thinned further, down to the latter's share of the
pixels, so that a page of many connections stays small."""

DARK_FOR_LIGHT: Mapping[str, str] = {LIGHT[role]: DARK[role] for role in LIGHT}


def figures(chart: Chart, pixels: int = PIXELS) -> list[dict[str, Any]]:
    """One figure for each panel, in order, or for each row of panels of categories. Panels side by side share
    their y range. `pixels`: for which width series are thinned."""
    if chart.of_cells:
        return cells.figures(chart)
    if chart.of_categories:
        return rows.figures(chart)
    shared = y_range(chart.panels) if chart.side_by_side else None
    drawing = _Drawing(chart, pixels)
    return [_figure(drawing, panel, shared or y_range([panel])) for panel in chart.panels]


def keys(chart: Chart) -> list[list[str]]:
    """One legend for all panels: label, colour on light and on dark ground, a sign like marks or dashes."""
    series = {each.label: each for panel in chart.panels for each in panel.series if each.in_legend}
    return [[label, LIGHT[each.role], DARK[each.role], _sign(each)] for label, each in series.items()]


def _sign(series: Series) -> str:
    return _STROKES[series.dash] if series.mark is Mark.LINE else _SIGNS[series.hollow].get(series.symbol, "")


class _Drawing:
    """A chart for a width in pixels. Series that share their x and keep the same points share the list of it
    too, which is then made, and packed, once."""

    def __init__(self, chart: Chart, pixels: int) -> None:
        self.chart = chart
        self.pixels = pixels
        self.across = x_range(chart)
        self._values: dict[int, tuple[Sequence[float], NDArray[np.float64]]] = {}
        self._short: dict[bytes, list[float | None]] = {}

    def x(self, series: Series) -> NDArray[np.float64]:
        x = series.x
        # The sequence is held, so that no other takes its id.
        return self._values.setdefault(id(x), (x, np.asarray(x, dtype=np.float64)))[1]

    def short_x(self, values: NDArray[np.float64]) -> list[float | None]:
        key = values.tobytes()
        if key not in self._short:
            self._short[key] = _rounded(self.chart.x, values)
        return self._short[key]


def _rounded(axis: Axis, values: NDArray[np.float64]) -> list[float | None]:
    placed = values if axis.zero is None else np.where(values == 0, axis.zero, values)
    return shorts(placed) if axis.log else levels(placed)


def _figure(drawing: _Drawing, panel: Panel, heights: Range) -> dict[str, Any]:
    chart, across = drawing.chart, drawing.across
    bands = [_band(series, panel, chart) for series in panel.series if series.band]
    traces = [*bands, *(_trace(series, panel, drawing) for series in panel.series)]
    for level in panel.levels:
        line = {"color": LIGHT[level.role], "width": 1.2, "dash": "8px,5px"}
        ends = [short(across[0]), short(across[1])]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": plain(level.label),
                "x": ends,
                "y": [short(level.value)] * 2,
                "line": line,
                "hoverinfo": "skip",
            }
        )
    x = {"title": {"text": plain(chart.x.title)}, **scale(across, chart.x.log), **_ticks(chart.x, across)}
    y = {"title": {"text": plain(panel.y.title)}, **scale(heights, panel.y.log), **_ticks(panel.y, heights)}
    layout = {"xaxis": x, "yaxis": y, "hovermode": _hover(chart)}
    breaks = [_break(axis, name) for axis, name in ((chart.x, "x"), (panel.y, "y")) if axis.zero is not None]
    return {"data": traces, "layout": layout | ({"shapes": breaks} if breaks else {})}


def _ticks(axis: Axis, ends: Range) -> dict[str, Any]:
    if axis.ticks is not None:
        words = axis.tick_words or [f"{tick:g}" for tick in axis.ticks]
        places = [short(axis.at(tick)) for tick in axis.ticks]
        return {"tickvals": places, "ticktext": [plain(word) for word in words]}
    if axis.log:
        ticks = log_ticks(ends, axis)
        zero = [] if axis.zero is None else [short(axis.zero)]
        return {"tickvals": [*zero, *ticks], "ticktext": [*(["0"] if zero else []), *map(digits, ticks)]}
    return {}


def _break(axis: Axis, name: str) -> dict[str, Any]:
    """A dotted line across the panel."""
    at, along = break_place(axis), "y" if name == "x" else "x"
    ends = {f"{name}0": at, f"{name}1": at, f"{along}0": 0, f"{along}1": 1, f"{along}ref": "paper"}
    return {"type": "line", **ends, "line": {"width": 1, "dash": "dot"}}


def _hover(chart: Chart) -> str:
    return "closest" if chart.side_by_side else "x unified"


def _trace(series: Series, panel: Panel, drawing: _Drawing) -> dict[str, Any]:
    chart = drawing.chart
    pixels = int(drawing.pixels * max(min(1.0, _SERIES_WHOLE / len(panel.series)), _SHARE_LEAST))
    x, y = _thinned(series, drawing.x(series), pixels)
    colour = LIGHT[series.role]
    trace: dict[str, Any] = {
        "name": plain(series.label),
        "x": drawing.short_x(x),
        "y": _rounded(panel.y, y),
        "showlegend": series.in_legend,
        "opacity": 0.75 if series.faint else 1,
        "hovertemplate": f"%{{y:.4~g}} {panel.y.unit}<extra>%{{fullData.name}}</extra>"
        if not chart.side_by_side
        else f"%{{x:.4~g}} {chart.x.unit}: %{{y:.4~g}} {panel.y.unit}<extra>%{{fullData.name}}</extra>",
    }
    if series.mark is Mark.BARS:
        pattern = {"shape": "" if series.dash is Dash.SOLID else "/"}
        trace |= {"type": "bar", "width": series.bar_width}
        return trace | {"marker": {"color": colour, "pattern": pattern, "line": {"width": 0}}}
    lines = series.mark is not Mark.POINTS
    points = series.mark in {Mark.POINTS, Mark.LINE_AND_POINTS}
    trace |= {
        "type": "scatter",
        "mode": "+".join([*(["lines"] if lines else []), *(["markers"] if points else [])]),
        "connectgaps": False,
    }
    if lines:
        shape = "hv" if series.mark is Mark.STEPS else "linear"
        width = 1.2 if series.faint else 1.9
        trace["line"] = {"color": colour, "dash": _DASHES[series.dash], "width": width, "shape": shape}
    if points:
        size = 9 if series.mark is Mark.LINE_AND_POINTS or x.size < 20 else 6
        trace["marker"] = {"color": colour, "symbol": _SYMBOLS[series.symbol], "size": size}
        if series.hollow:
            trace["marker"]["symbol"] += "-open"
    if series.low is not None and series.high is not None and not series.band:
        low, high = ([panel.y.at(end) for end in ends] for ends in (series.low, series.high))
        trace["error_y"] = _error_bars(trace["y"], low, high, colour)
    if series.words:
        trace |= {
            "text": [plain(words) for words in series.words],
            "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
        }
    if series.runs:
        trace["customdata"] = [list(runs) for runs in series.runs]
    return trace


def _band(series: Series, panel: Panel, chart: Chart) -> dict[str, Any]:
    """The outline of the interval along the line, filled."""
    x = [short(chart.x.at(value)) for value in series.x]
    low, high = ([short(panel.y.at(end)) for end in ends or ()] for ends in (series.low, series.high))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*x, *reversed(x)],
        "y": [*low, *reversed(high)],
        "fill": "toself",
        "fillcolor": LIGHT[series.role],
        "opacity": 0.16,
        "line": {"width": 0, "color": LIGHT[series.role]},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _thinned(
    series: Series, x: NDArray[np.float64], pixels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    y = np.asarray(series.y, dtype=np.float64)
    if pixels < _PIXELS_FINE and series.mark in {Mark.LINE, Mark.STEPS}:
        return envelope(x, y, max(pixels, 1))
    kept = indices(y, max(pixels, 1))
    return x[kept], y[kept]


def _error_bars(
    y: Sequence[float | None], low: Sequence[float], high: Sequence[float], colour: str
) -> dict[str, Any]:
    below = [short(max((v or 0) - end, 0)) for v, end in zip(y, low, strict=True)]
    above = [short(max(end - (v or 0), 0)) for v, end in zip(y, high, strict=True)]
    return {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }
