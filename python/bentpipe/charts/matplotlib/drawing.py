"""Chart descriptions as files: PNG, SVG, PDF."""

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogFormatter,
    NullFormatter,
    NullLocator,
)

from bentpipe.charts.description import Chart, Dash, Level, Mark, Panel, Series, Symbol
from bentpipe.charts.matplotlib import cells, rows
from bentpipe.charts.matplotlib.rows import bold, literal
from bentpipe.charts.palette import LIGHT
from bentpipe.charts.ranges import Range, break_place, log_ticks, x_range, y_range
from bentpipe.words.digits import digits

_DASHES = {Dash.SOLID: "-", Dash.DASHED: "--", Dash.DOTTED: ":", Dash.DASH_DOT: "-."}
_SYMBOLS = {
    Symbol.CIRCLE: "o",
    Symbol.SQUARE: "s",
    Symbol.TRIANGLE: "^",
    Symbol.CROSS: "X",
    Symbol.DIAMOND: "D",
    Symbol.STROKE: "|",
    Symbol.BEYOND: ">",
}
_SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.edgecolor": "#8a8a8a",
    "axes.labelcolor": "#333333",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "text.parse_math": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "none",
    "svg.hashsalt": "bentpipe",
    "pdf.fonttype": 42,
}
_WIDTH_IN = 9.6
_STACKED_PANEL_IN = 2.1
_SIDE_PANEL_IN = 4.6
_SMALL_PANEL_IN = 2.0
_MULTIPLES_IN_A_ROW = 3
_WRAP_WIDE = 118
_WRAP_PANEL = 76


def figure(chart: Chart) -> Figure:
    with mpl.rc_context(_SETTINGS):
        if chart.of_cells:
            drawn = cells.draw(chart, _WIDTH_IN)
        elif chart.of_categories:
            drawn = rows.draw(chart, _WIDTH_IN)
        else:
            how = _multiples if chart.small_multiples else _side_by_side if chart.side_by_side else _stacked
            drawn = how(chart)
        drawn.suptitle(_heading(chart), x=0.012, ha="left", fontsize=10, linespacing=1.45, parse_math=True)
        return drawn


def save(chart: Chart, path: Path) -> None:
    """Write the file that the path's suffix names. The same chart gives the same bytes."""
    with mpl.rc_context(_SETTINGS):
        stamp = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix, {})
        figure(chart).savefig(path, dpi=160, metadata=stamp)


def png(chart: Chart, dpi: int = 80) -> bytes:
    """The picture as PNG."""
    content = io.BytesIO()
    with mpl.rc_context(_SETTINGS):
        figure(chart).savefig(content, format="png", dpi=dpi)
    return content.getvalue()


def _heading(chart: Chart) -> str:
    title = bold(chart.title)
    return "\n".join([title, *map(literal, textwrap.wrap(chart.sentence, _WRAP_WIDE))])


def _side_by_side(chart: Chart) -> Figure:
    drawn = Figure(figsize=(_WIDTH_IN, _SIDE_PANEL_IN), layout="constrained")
    axes = drawn.subplots(1, len(chart.panels), sharey=True, squeeze=False)[0]
    heights = y_range(chart.panels)
    for number, (panel, place) in enumerate(zip(chart.panels, axes, strict=True)):
        _draw(place, chart, panel, heights)
        _x_axis(place, chart)
        place.set_title(panel.title, loc="left", fontsize=9, fontweight="bold")
        if number == 0:
            place.set_ylabel(panel.y.title)
        _legend(place, panel, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, handlelength=3)
    return drawn


def _multiples(chart: Chart) -> Figure:
    """Small panels with the same axes, and one legend for all."""
    deep = -(-len(chart.panels) // _MULTIPLES_IN_A_ROW)
    drawn = Figure(figsize=(_WIDTH_IN, 1.1 + _SMALL_PANEL_IN * deep), layout="constrained")
    axes = drawn.subplots(deep, _MULTIPLES_IN_A_ROW, sharex=True, sharey=True, squeeze=False)
    heights = y_range(chart.panels)
    places = list(axes.flat)
    handles: dict[str, Any] = {}
    for number, (panel, place) in enumerate(zip(chart.panels, places, strict=False)):
        _draw(place, chart, panel, heights)
        _x_axis(place, chart, named=number + _MULTIPLES_IN_A_ROW >= len(chart.panels))
        place.tick_params(labelbottom=number + _MULTIPLES_IN_A_ROW >= len(chart.panels))
        place.set_title(panel.title, loc="left", fontsize=8, fontweight="bold")
        if number % _MULTIPLES_IN_A_ROW == 0:
            place.set_ylabel(panel.y.title)
        handles |= dict(zip(*reversed(place.get_legend_handles_labels()), strict=True))
    for place in places[len(chart.panels) :]:
        place.remove()
    drawn.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=6, handlelength=3)
    return drawn


def _stacked(chart: Chart) -> Figure:
    drawn = Figure(figsize=(_WIDTH_IN, 0.7 + _STACKED_PANEL_IN * len(chart.panels)), layout="constrained")
    axes = drawn.subplots(len(chart.panels), 1, sharex=True, squeeze=False)[:, 0]
    for panel, place in zip(chart.panels, axes, strict=True):
        _draw(place, chart, panel, y_range([panel]))
        place.set_ylabel(panel.y.title)
        title = bold(panel.title)
        words = "\n".join([title, *map(literal, textwrap.wrap(panel.sentence, _WRAP_PANEL + 24))])
        place.set_title(words, loc="left", fontsize=8, linespacing=1.4, parse_math=True)
        _legend(place, panel, loc="center left", bbox_to_anchor=(1.005, 0.5), handlelength=2.6)
    _x_axis(axes[-1], chart)
    return drawn


def _legend(place: Axes, panel: Panel, **where: Any) -> None:
    """Entries in the panel's own order, not sorted by how they were drawn."""
    drawn = dict(zip(*reversed(place.get_legend_handles_labels()), strict=True))
    labels = [s.label for s in panel.series if s.in_legend] + [level.label for level in panel.levels]
    place.legend([drawn[label] for label in labels], labels, **where)


def _draw(place: Axes, chart: Chart, panel: Panel, heights: Range) -> None:
    for series in panel.series:
        _draw_series(place, chart, panel, series)
    for level in panel.levels:
        _draw_level(place, level)
    if panel.y.log:
        place.set_yscale("log")
        place.yaxis.set_minor_formatter(_SmallTicks())
    place.yaxis.set_major_formatter(FuncFormatter(lambda value, _: digits(value)))
    if panel.y.zero is not None:
        ticks = log_ticks(heights, panel.y)
        _fixed_ticks(place.yaxis, [panel.y.zero, *ticks], ["0", *map(digits, ticks)])
    for axis, line in ((chart.x, place.axvline), (panel.y, place.axhline)):
        if (at := break_place(axis)) is not None:
            line(at, color="#8a8a8a", linestyle=":", linewidth=0.9)
    place.set_xlim(*x_range(chart)) if not chart.x.log else None
    place.set_ylim(*heights)


def _draw_series(place: Axes, chart: Chart, panel: Panel, series: Series) -> None:
    x = [chart.x.at(value) for value in series.x]
    y = [float("nan") if value is None else panel.y.at(value) for value in series.y]
    style: dict[str, Any] = {
        "color": LIGHT[series.role],
        "label": series.label if series.in_legend else "_nolegend_",
        "alpha": 0.75 if series.faint else 1.0,
    }
    if series.mark is Mark.BARS:
        low, high = x_range(chart)
        filled = series.dash is Dash.SOLID
        place.vlines(x, 0, y, linewidth=max(1.6, 42 / (high - low)), linestyles="-", **style)
        if not filled:
            place.plot(x, y, linestyle="none", marker="v", markersize=3, color=style["color"])
        return
    points = series.mark in {Mark.POINTS, Mark.LINE_AND_POINTS}
    lines = series.mark is not Mark.POINTS
    style |= {
        "linestyle": _DASHES[series.dash] if lines else "none",
        "linewidth": 1.0 if series.faint else 1.5,
        "marker": _SYMBOLS[series.symbol] if points else None,
        "markersize": 7 if series.mark is not Mark.POINTS else 4 if series.symbol is Symbol.CROSS else 5,
        "markerfacecolor": "white" if series.hollow else LIGHT[series.role],
        "markeredgecolor": LIGHT[series.role] if series.hollow else "white",
        "markeredgewidth": 1.4 if series.hollow else 0.3 if series.symbol is Symbol.CROSS else 0.6,
        "zorder": 4 if series.mark is Mark.POINTS else 3 if points else 2,
        "drawstyle": "steps-post" if series.mark is Mark.STEPS else "default",
    }
    if series.low is not None and series.high is not None and not series.band:
        below = [max(v - panel.y.at(low), 0) for v, low in zip(y, series.low, strict=True)]
        above = [max(high - v, 0) for v, high in zip(y, series.high, strict=True)]
        place.errorbar(x, y, yerr=[below, above], capsize=3, elinewidth=1, **style)
        return
    place.plot(x, y, **style)
    if series.low is not None and series.high is not None:
        lows, highs = ([panel.y.at(value) for value in ends] for ends in (series.low, series.high))
        place.fill_between(x, lows, highs, color=LIGHT[series.role], alpha=0.16, linewidth=0)


def _draw_level(place: Axes, level: Level) -> None:
    place.axhline(
        level.value, color=LIGHT[level.role], linestyle=(0, (5, 3)), linewidth=1.0, label=level.label
    )


def _x_axis(place: Axes, chart: Chart, *, named: bool = True) -> None:
    if named:
        place.set_xlabel(chart.x.title)
    if chart.x.log:
        place.set_xscale("log")
        place.xaxis.set_major_formatter(FuncFormatter(lambda value, _: digits(value)))
        place.xaxis.set_minor_formatter(_SmallTicks())
        place.set_xlim(*x_range(chart))
    if chart.x.ticks is not None:
        words = chart.x.tick_words or [digits(tick) for tick in chart.x.ticks]
        _fixed_ticks(place.xaxis, [chart.x.at(tick) for tick in chart.x.ticks], words)


class _SmallTicks(LogFormatter):
    """Of a logarithmic axis, the ticks between powers of ten. They have words where the axis is short."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return digits(x) if super().__call__(x, pos) else ""


def _fixed_ticks(axis: XAxis | YAxis, ticks: Sequence[float], words: Sequence[str]) -> None:
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FixedFormatter(list(words)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
