"""Panels of categories as figures: a row per category, what it measured along x."""

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from bentpipe.charts.description import Axis, Chart, Mark, Panel, Series, Symbol
from bentpipe.charts.palette import LIGHT
from bentpipe.charts.ranges import across
from bentpipe.words.digits import digits

_ROW_IN = 0.19
_ROUND_PANEL_IN = 1.0
_FIRST_WIDTH = 2.4
"""Of the first panel of a row, the others' being 1."""
_MARKERS = {Symbol.CIRCLE: "o", Symbol.DIAMOND: "D", Symbol.STROKE: "|", Symbol.BEYOND: ">"}
_WRAP = {1: 100, 2: 76, 3: 60, 4: 50}


_MATHTEXT = {
    **{character: f"\\{character}" for character in "{}$%#&_ "},
    "\\": r"\backslash{}",
    "^": " ",
    "~": " ",
    "-": "\u2011",
    "'": "\u2019",  # otherwise a prime
}


def bold(text: str) -> str:
    """Plain words in mathtext's bold; it has no spaces of its own and gives some characters a meaning."""
    words = "".join(_MATHTEXT.get(character, character) for character in text)
    return rf"$\bf{{{words}}}$"


def literal(text: str) -> str:
    """Plain words beside mathtext."""
    return text.replace("$", r"\$")


def draw(chart: Chart, width_in: float) -> Figure:
    """A figure without its heading."""
    rows = [chart.panels[at : at + chart.columns] for at in range(0, len(chart.panels), chart.columns)]
    heights = [_ROUND_PANEL_IN + _ROW_IN * len(row[0].y.categories) for row in rows]
    drawn = Figure(figsize=(width_in, 0.5 + sum(heights)), layout="constrained")
    axes = drawn.subplots(
        len(rows),
        chart.columns,
        squeeze=False,
        height_ratios=heights,
        width_ratios=[_FIRST_WIDTH, *[1.0] * (chart.columns - 1)],
    )
    for row, places in zip(rows, axes, strict=True):
        for number, (panel, place) in enumerate(zip(row, places, strict=True)):
            _panel(place, chart, panel, first=number == 0)
    return drawn


def _panel(place: Axes, chart: Chart, panel: Panel, *, first: bool) -> None:
    for series in panel.series:
        _series(place, series)
    for level in panel.levels:
        place.axvline(
            level.value, color=LIGHT[level.role], linestyle=(0, (5, 3)), linewidth=1.0, label=level.label
        )
    x = panel.x or chart.x
    _x_axis(place, x)
    place.set_xlim(*across(chart, x))
    names = panel.y.categories
    place.set_ylim(len(names) - 0.4, -0.6)
    place.yaxis.grid(visible=False)
    place.set_axisbelow(True)
    place.tick_params(axis="y", length=0)
    place.set_yticks(range(len(names)), names if first else [""] * len(names), fontsize=8)
    for number in panel.y.headings:
        place.get_yticklabels()[number].set_fontweight("bold")
        place.axhspan(number - 0.5, number + 0.5, color="#f3f4f6", zorder=0)
    words = [bold(panel.title)] if panel.title else []
    if first:
        words += map(literal, textwrap.wrap(panel.sentence, _WRAP.get(chart.columns, 50)))
    place.set_title("\n".join(words), loc="left", fontsize=8, linespacing=1.4, parse_math=True)
    if any(series.in_legend for series in panel.series):
        place.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), handlelength=1.6)


def _x_axis(place: Axes, x: Axis) -> None:
    place.set_xlabel(x.title, fontsize=8)
    if x.log:
        place.set_xscale("log")
        place.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
        place.xaxis.set_minor_formatter(NullFormatter())
    else:
        place.xaxis.set_major_locator(MaxNLocator(5 if x.from_zero else 8))
    place.xaxis.set_major_formatter(FuncFormatter(lambda value, _: digits(value)))
    place.tick_params(axis="x", labelsize=8)


def _series(place: Axes, series: Series) -> None:
    label = series.label if series.in_legend else "_nolegend_"
    colour = LIGHT[series.role]
    if series.mark is Mark.SPANS and series.low is not None and series.high is not None:
        widths = [high - low for low, high in zip(series.low, series.high, strict=True)]
        place.barh(
            [y for y in series.y if y is not None],
            widths,
            left=list(series.low),
            height=0.72,
            label=label,
            color="white" if series.hollow else colour,
            edgecolor=colour,
            alpha=0.35 if series.faint else 1.0,
            linewidth=0.8,
        )
        return
    style: dict[str, Any] = {
        "linestyle": "none",
        "marker": _MARKERS[series.symbol],
        "markersize": 7 if series.symbol is Symbol.STROKE else 5.5,
        "color": colour,
        "label": label,
        "alpha": 0.55 if series.faint else 1.0,
        "markerfacecolor": "white" if series.hollow else colour,
        "markeredgecolor": colour if series.hollow or series.symbol is Symbol.STROKE else "white",
        "markeredgewidth": 1.2 if series.hollow or series.symbol is Symbol.STROKE else 0.5,
        "zorder": 3,
    }
    y = [float("nan") if value is None else value for value in series.y]
    if series.low is not None and series.high is not None:
        below = [max(x - low, 0) for x, low in zip(series.x, series.low, strict=True)]
        above = [max(high - x, 0) for x, high in zip(series.x, series.high, strict=True)]
        place.errorbar(series.x, y, xerr=[below, above], capsize=2.5, elinewidth=1.1, **style)
    else:
        place.plot(series.x, y, **style)
