"""Panels of cells as figures: two axes of categories, a colour for each pair and its figure in it."""

import textwrap

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bentpipe.charts.description import Cells, Chart, Panel
from bentpipe.charts.heat_words import column_words
from bentpipe.charts.matplotlib.rows import bold
from bentpipe.charts.palette import CELLS, FRAME, UNKNOWN, ink

_ROW_IN = 0.25
_ROUND_PANEL_IN = 0.75
_LINE_IN = 0.16
_WRAP = 165


def draw(chart: Chart, width_in: float) -> Figure:
    """A figure without its heading."""
    rows = [chart.panels[at : at + chart.columns] for at in range(0, len(chart.panels), chart.columns)]
    sentences = [textwrap.wrap(row[0].sentence, _WRAP) for row in rows]
    heights = [
        _ROUND_PANEL_IN + _LINE_IN * len(words) + _ROW_IN * len(row[0].y.categories)
        for row, words in zip(rows, sentences, strict=True)
    ]
    drawn = Figure(figsize=(width_in, 0.4 + sum(heights)), layout="constrained")
    parts = drawn.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    for row, words, part in zip(rows, sentences, parts, strict=True):
        widths = [len(panel.x.categories if panel.x else ()) for panel in row]
        axes = part.subplots(1, len(row), squeeze=False, width_ratios=widths)[0]
        part.suptitle("\n".join(words), x=0.012, ha="left", fontsize=8, linespacing=1.4)
        for number, (panel, place) in enumerate(zip(row, axes, strict=True)):
            _panel(place, chart, panel, sum(widths), first=number == 0)
    return drawn


def _panel(place: Axes, chart: Chart, panel: Panel, in_row: int, *, first: bool) -> None:
    """`in_row`: how many columns stand beside each other."""
    x = panel.x or chart.x
    rows, columns = panel.y.categories, x.categories
    if panel.cells:
        _cells(place, panel.cells)
    place.set_xlim(-0.5, len(columns) - 0.5)
    place.set_ylim(len(rows) - 0.5, -0.5)
    place.grid(visible=False)
    place.tick_params(length=0, labelsize=8)
    words = column_words(columns, in_row)
    place.set_xticks(range(len(columns)), ["\n".join(lines) for lines in words])
    place.set_yticks(range(len(rows)), rows if first else [""] * len(rows))
    place.set_xlabel(x.title, fontsize=8)
    if first:
        place.set_ylabel(panel.y.title, fontsize=8)
    place.set_title(bold(panel.title), loc="left", fontsize=8, parse_math=True)
    for spine in place.spines.values():
        spine.set_visible(False)


def _cells(place: Axes, cells: Cells) -> None:
    scale = LinearSegmentedColormap.from_list("cells", CELLS)
    for row, (words, shades) in enumerate(zip(cells.words, cells.shades, strict=True)):
        for column, (text, shade) in enumerate(zip(words, shades, strict=True)):
            best = (row, column) in cells.best
            colour = UNKNOWN if shade is None else scale(shade)
            corner = (column - 0.5, row - 0.5)
            place.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
            weight = "bold" if best else "normal"
            place.text(
                column,
                row,
                text or "–",
                ha="center",
                va="center",
                fontsize=7.5,
                color=ink(shade),
                fontweight=weight,
            )
            if best:
                inner = (column - 0.46, row - 0.44)
                for width, line in zip((3.2, 1.4), FRAME, strict=True):
                    place.add_patch(
                        Rectangle(inner, 0.92, 0.88, fill=False, edgecolor=line, linewidth=width, zorder=3)
                    )
