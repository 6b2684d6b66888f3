"""Panels of cells as plotly figures: one per row of panels, which share their rows of cells."""

from collections.abc import Sequence
from typing import Any

from bentpipe.charts.description import Axis, Cells, Chart, Panel, Role
from bentpipe.charts.heat_words import column_words
from bentpipe.charts.palette import CELLS, FRAME, LIGHT, ink
from bentpipe.charts.plotly.values import plain, short

_GAP = 0.02
_ROW_PIXELS = 25
_AROUND_PIXELS = 112
_LINE_PIXELS = 15
_LABELS_PIXELS, _LEAST_CELL_PIXELS = 120, 34
"""Widths of the rows' names and of a cell where panels stand below each other."""
_SCALE = [[number / (len(CELLS) - 1), colour] for number, colour in enumerate(CELLS)]


def figures(chart: Chart) -> list[dict[str, Any]]:
    """One figure for each row of panels, in order."""
    rows = [chart.panels[at : at + chart.columns] for at in range(0, len(chart.panels), chart.columns)]
    return [_figure(chart, row) for row in rows]


def _figure(chart: Chart, row: Sequence[Panel]) -> dict[str, Any]:
    names = row[0].y.categories
    y = {
        "title": {"text": plain(row[0].y.title)},
        "tickvals": list(range(len(names))),
        "ticktext": [plain(name) for name in names],
        "range": [len(names) - 0.5, -0.5],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }
    axes = [panel.x or chart.x for panel in row]
    weights = [len(x.categories) for x in axes]
    words = [column_words(x.categories, sum(weights)) for x in axes]
    lines = max(len(lines) for of in words for lines in of)
    around = _AROUND_PIXELS + _LINE_PIXELS * (lines - 1)
    layout: dict[str, Any] = {
        "yaxis": y,
        "hovermode": "closest",
        "height": around + _ROW_PIXELS * len(names),
        "categories": True,
        "stackable": {
            "around": around,
            "gap": around - 16,
            "least_width": _LABELS_PIXELS + _LEAST_CELL_PIXELS * max(weights),
        },
    }
    traces: list[dict[str, Any]] = []
    for number, (panel, x) in enumerate(zip(row, axes, strict=True)):
        suffix = "" if number == 0 else str(number + 1)
        start, width = sum(weights[:number]) / sum(weights), weights[number] / sum(weights)
        domain = [start, start + width - (_GAP if number < len(row) - 1 else 0.0)]
        layout[f"xaxis{suffix}"] = _x_axis(panel, x, domain, words[number])
        if panel.cells:
            traces += _cells(panel.cells, panel, x, f"x{suffix}")
    return {"data": traces, "layout": layout}


def _x_axis(panel: Panel, x: Axis, domain: list[float], words: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Above the cells, so that its title is the panel's too."""
    return {
        "title": {"text": f"<b>{plain(panel.title)}</b><br>{plain(x.title)}"},
        "side": "top",
        "domain": domain,
        "tickvals": list(range(len(x.categories))),
        "ticktext": ["<br>".join(map(plain, lines)) for lines in words],
        "tickangle": 0,
        "range": [-0.5, len(x.categories) - 0.5],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def _cells(cells: Cells, panel: Panel, x: Axis, axis: str) -> list[dict[str, Any]]:
    """The cells, and a frame round each that is marked."""
    words, hover = [], []
    for row, (texts, shades) in enumerate(zip(cells.words, cells.shades, strict=True)):
        where = f"{plain(panel.y.title)} {plain(panel.y.categories[row])}, {plain(x.title)} "
        hover.append([f"{where}{plain(x.categories[c])}: {plain(text)}" for c, text in enumerate(texts)])
        words.append(
            [_written(plain(text), shades[c], (row, c) in cells.best) for c, text in enumerate(texts)]
        )
    heat: dict[str, Any] = {
        "type": "heatmap",
        "name": plain(panel.title),
        "z": [[short(shade) for shade in shades] for shades in cells.shades],
        "zmin": 0,
        "zmax": 1,
        "colorscale": _SCALE,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "text": words,
        "texttemplate": "%{text}",
        "textfont": {"size": 11},
        "hovertext": hover,
        "customdata": [[list(runs) for runs in row] for row in cells.runs],
        "hoverongaps": False,
        "hovertemplate": "%{hovertext}<extra>%{fullData.name}</extra>",
        "xaxis": axis,
    }
    frames = []
    for row, column in sorted(cells.best):
        left, right, top, bottom = column - 0.47, column + 0.47, row - 0.45, row + 0.45
        frames += [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [left, right, right, left, left],
                "y": [top, top, bottom, bottom, top],
                "line": {"color": colour, "width": width},
                "hoverinfo": "skip",
                "showlegend": False,
                "xaxis": axis,
            }
            for width, colour in zip((4, 2), FRAME, strict=True)
        ]
    return [heat, *_without_shade(cells, axis), *frames]


def _without_shade(cells: Cells, axis: str) -> list[dict[str, Any]]:
    """Figures that have no colour, and so no words in the heat map: on the page's own ground."""
    places = [
        (row, column)
        for row, shades in enumerate(cells.shades)
        for column, shade in enumerate(shades)
        if shade is None
    ]
    if not places:
        return []
    trace = {
        "type": "scatter",
        "mode": "text",
        "x": [column for _, column in places],
        "y": [row for row, _ in places],
        "text": [plain(cells.words[row][column]) or "–" for row, column in places],
        "textfont": {"size": 11, "color": LIGHT[Role.CAPACITY]},
        "customdata": [list(cells.runs[row][column]) if cells.runs else [] for row, column in places],
        "hoverinfo": "text",
        "showlegend": False,
        "xaxis": axis,
    }
    return [trace]


def _written(text: str, shade: float | None, best: bool) -> str:
    words = f"<b>{text}</b>" if best else text
    return f'<span style="color:{ink(shade)}">{words}</span>' if text else ""
