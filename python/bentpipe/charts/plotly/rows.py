"""Panels of categories as plotly figures: one per row of panels, which share their categories."""

from collections.abc import Sequence
from typing import Any

from bentpipe.charts.description import Axis, Chart, Mark, Panel, Series, Symbol
from bentpipe.charts.palette import LIGHT
from bentpipe.charts.plotly.values import plain, scale, short
from bentpipe.charts.ranges import across, log_ticks
from bentpipe.words.digits import digits

_SYMBOLS = {
    Symbol.CIRCLE: "circle",
    Symbol.DIAMOND: "diamond",
    Symbol.STROKE: "line-ns",
    Symbol.BEYOND: "triangle-right",
}
_FIRST_WIDTH = 2.4
_GAP = 0.03
_ROW_PIXELS = 21
_AROUND_PIXELS = 84
_STACKED = {"around": 82, "gap": 76}
"""Pixels of the margins and between two panels that stand below each other, with titles of two lines."""


def figures(chart: Chart) -> list[dict[str, Any]]:
    """One figure for each row of panels, in order."""
    rows = [chart.panels[at : at + chart.columns] for at in range(0, len(chart.panels), chart.columns)]
    return [_figure(chart, row) for row in rows]


def _figure(chart: Chart, row: Sequence[Panel]) -> dict[str, Any]:
    names, headings = row[0].y.categories, row[0].y.headings
    labels = [f"<b>{plain(name)}</b>" if n in headings else plain(name) for n, name in enumerate(names)]
    y = {
        "title": {"text": ""},
        "tickvals": list(range(len(names))),
        "ticktext": labels,
        "range": [len(names) - 0.4, -0.6],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }
    layout: dict[str, Any] = {
        "yaxis": y,
        "hovermode": "closest",
        "height": _AROUND_PIXELS + _ROW_PIXELS * len(names),
        "categories": True,
        "stackable": _STACKED,
    }
    traces: list[dict[str, Any]] = []
    weights = [_FIRST_WIDTH, *[1.0] * (len(row) - 1)]
    for number, panel in enumerate(row):
        suffix = "" if number == 0 else str(number + 1)
        start, width = sum(weights[:number]) / sum(weights), weights[number] / sum(weights)
        domain = [start, start + width - (_GAP if number < len(row) - 1 else 0.0)]
        layout[f"xaxis{suffix}"] = _x_axis(panel.x or chart.x, across(chart, panel.x or chart.x), domain)
        traces += [_trace(series, panel, panel.x or chart.x, f"x{suffix}") for series in panel.series]
        traces += [
            {
                "type": "scatter",
                "mode": "lines",
                "name": plain(level.label),
                "x": [level.value] * 2,
                "y": [-0.6, len(names) - 0.4],
                "xaxis": f"x{suffix}",
                "line": {"color": LIGHT[level.role], "width": 1.2, "dash": "8px,5px"},
                "hoverinfo": "skip",
                "showlegend": False,
            }
            for level in panel.levels
        ]
    return {"data": traces, "layout": layout}


def _x_axis(x: Axis, ends: tuple[float, float], domain: list[float]) -> dict[str, Any]:
    found = {"title": {"text": plain(x.title)}, "domain": domain, "zeroline": False, **scale(ends, x.log)}
    if not x.log:
        return found | {"nticks": 6}
    ticks = log_ticks(ends, x)
    return found | {"tickvals": ticks, "ticktext": [digits(value) for value in ticks]}


def _trace(series: Series, panel: Panel, x: Axis, axis: str) -> dict[str, Any]:
    colour = LIGHT[series.role]
    names = [plain(panel.y.categories[int(y)]) for y in series.y if y is not None]
    trace: dict[str, Any] = {
        "name": plain(series.label),
        "y": list(series.y),
        "xaxis": axis,
        "text": names,
        "showlegend": series.in_legend,
        "opacity": 0.5 if series.faint else 1,
    }
    if series.mark is Mark.SPANS and series.low is not None and series.high is not None:
        ends = list(zip(series.low, series.high, strict=True))
        return trace | {
            "type": "bar",
            "orientation": "h",
            "textposition": "none",
            "base": [short(low) for low, _ in ends],
            "x": [short(high - low) for low, high in ends],
            "marker": {
                "color": "rgba(0,0,0,0)" if series.hollow else colour,
                "line": {"color": colour, "width": 1},
            },
            "hovertemplate": f"%{{text}}: %{{x:.3~g}} {x.unit}<extra>%{{fullData.name}}</extra>",
        }
    if series.runs:
        trace["customdata"] = [list(runs) for runs in series.runs]
    marker: dict[str, Any] = {"color": colour, "symbol": _SYMBOLS[series.symbol], "size": 9}
    if series.symbol is Symbol.STROKE:
        marker["line"] = {"color": colour, "width": 1.5}
    if series.hollow:
        marker["symbol"] += "-open"
    trace |= {
        "type": "scatter",
        "mode": "markers",
        "x": [short(value) for value in series.x],
        "marker": marker,
        "hovertemplate": f"%{{text}}: %{{x:.3~g}} {x.unit}<extra>%{{fullData.name}}</extra>",
    }
    if series.low is not None and series.high is not None:
        pairs = list(zip(series.x, series.low, series.high, strict=True))
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [short(max(high - value, 0)) for value, _, high in pairs],
            "arrayminus": [short(max(value - low, 0)) for value, low, _ in pairs],
            "color": colour,
            "thickness": 1.2,
            "width": 3,
        }
    return trace
