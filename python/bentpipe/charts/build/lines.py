"""Each figure of a sweep over each number that was swept: a line for each value of another axis or variant, a
band for the interval over seeds, and small panels for whatever else varies.

The band is that of analysis/statistics.py: it holds the true median of the seeds' figures with the
probability that the chart's sentence names.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bentpipe.analysis.cells import cells, typical_first
from bentpipe.analysis.statistics import LEAST_COUNT, Estimate
from bentpipe.analysis.swept import SweptAxis, coordinates, of_numbers, swept_axes
from bentpipe.charts.build.sweep_figures import Figure, figures
from bentpipe.charts.build.sweep_layout import Layout, Line, laid_out, panel_words
from bentpipe.charts.description import Axis, Chart, Mark, Panel, Series
from bentpipe.charts.ranges import apart, spans_a_decade, zero_place
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.wording import listed, plural, short_names, slug, value

_FEWEST = 3
"""Numbers that make a line."""
_AXES = 2
"""Over how many of the swept numbers there are charts: those with the most values."""
_TICKS_APART, _TICKS_APART_SMALL = 0.05, 0.16


@dataclass(frozen=True)
class _Point:
    x: float
    x_value: Any
    of: Estimate
    doubtful: bool
    """Of runs that do not count."""
    runs: tuple[str, ...]


@dataclass(frozen=True)
class LinesOver:
    name: str
    """Of the number that they are over."""
    key: str
    charts: Mapping[str, Chart]
    """By the figure's title."""
    finding: str
    """How the first figure goes with the number, in its first line."""


def build(results: Results) -> list[LinesOver]:
    """Empty where no number was swept with three values or more."""
    runs = results.records
    every = swept_axes(coordinates(run.get("point", {}), run.get("variant", "as is")) for run in runs)
    names = short_names([axis.key for axis in every])
    whole = {axis.key: axis for axis in every}
    over = [axis for axis in map(of_numbers, every) if axis and len(axis.values) >= _FEWEST]
    over.sort(key=lambda axis: -len(axis.values))
    drawn = figures(cells(runs)) if over else []
    found = []
    for x in over[:_AXES]:
        charts: dict[str, Chart] = {}
        finding = ""
        for figure in drawn:
            axes = swept_axes(coordinates(cell.point, cell.variant) for cell in figure.cells)
            layout = laid_out(x, axes, figure.name)
            if words := _not_drawn(whole[x.key], x, names[x.key]):
                layout = replace(layout, left_out=" ".join(filter(None, (words, layout.left_out))))
            lines = _points(figure, layout, x, axes)
            if any(len(points) > 1 for points in lines.values()):
                finding = finding or _finding(figure, layout, lines, names[x.key])
                charts[figure.title] = _chart(figure, layout, lines, x, names[x.key])
        if charts:
            found.append(LinesOver(names[x.key], x.key, charts, finding))
    return found


def _not_drawn(axis: SweptAxis, drawn: SweptAxis, name: str) -> str:
    words = [value(each) for each in axis.values if each not in drawn.values]
    if not words:
        return ""
    why = "it is not a number" if len(words) == 1 else "they are not numbers"
    return f"Not drawn: {name} {listed(words)}, because {why}. The table has the figures."


_Lines = Mapping[tuple[int, int], Sequence[_Point]]
"""By the numbers of the panel and of the line."""


def _points(figure: Figure, layout: Layout, over: SweptAxis, axes: Sequence[SweptAxis]) -> _Lines:
    """From the least x. What was not done has no place, though an interval may reach there."""
    keys = [axis.key for axis in axes]
    at = {_place(coordinates(cell.point, cell.variant), keys): cell for cell in figure.cells}
    found: dict[tuple[int, int], list[_Point]] = {}
    for number, panel in enumerate(layout.panels):
        for n, line in enumerate(layout.lines):
            here = found.setdefault((number, n), [])
            for x, of in zip(over.numbers or (), over.values, strict=True):
                cell = at.get(_place({**panel, **line.at, over.key: of}, keys))
                known = cell and (cell.figures or cell.doubtful).get(figure.measure.name)
                if cell and known and math.isfinite(known.median):
                    runs = typical_first(cell, figure.measure)
                    here.append(_Point(x, of, known, not cell.figures, runs))
    return found


def _place(where: Mapping[str, Any], keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(where.get(key) for key in keys)


def _chart(figure: Figure, layout: Layout, lines: _Lines, over: SweptAxis, name: str) -> Chart:
    numbers = range(len(layout.lines))
    shown = [at for at in range(len(layout.panels)) if any(lines[at, n] for n in numbers)]
    points = [point for found in lines.values() for point in found]
    x, y = _x_axis(over, points, name, small=len(shown) > 2), _y_axis(figure, points)
    top = max(end for point in points for end in (point.of.median, point.of.high) if math.isfinite(end))
    return Chart(
        name=slug(f"lines-{name}-{figure.name}"),
        title=f"{figure.name} over {name}",
        sentence=" ".join(filter(None, (_band_words(figure, points), _zero_words(x, y), layout.left_out))),
        x=x,
        panels=tuple(
            Panel(
                slug(panel_words(layout.panels[at]) or figure.name),
                panel_words(layout.panels[at]) or figure.title,
                "",
                y,
                tuple(
                    series
                    for n in numbers
                    for series in _series(figure, layout.lines[n], lines[at, n], x, top)
                    if series.x
                ),
            )
            for at in shown
        ),
        side_by_side=True,
    )


def _series(figure: Figure, line: Line, points: Sequence[_Point], x: Axis, top: float) -> Iterator[Series]:
    """The line; apart from it, what is 0 on a logarithmic axis, and what does not count."""
    sure = [point for point in points if not point.doubtful]
    beyond = [point for point in sure if x.zero is not None and point.x == 0]
    joined = [point for point in sure if point not in beyond]
    yield _drawn(figure, line, joined, Mark.LINE_AND_POINTS, top, band=len(joined) > 1)
    yield _drawn(figure, line, beyond, Mark.LINE_AND_POINTS, top, in_legend=not joined)
    doubtful = [point for point in points if point.doubtful]
    yield _drawn(figure, line, doubtful, Mark.POINTS, top, label=f"{line.label}, unreliable", hollow=True)


def _drawn(
    figure: Figure,
    line: Line,
    points: Sequence[_Point],
    mark: Mark,
    top: float,
    *,
    label: str = "",
    band: bool = False,
    hollow: bool = False,
    in_legend: bool = True,
) -> Series:
    several = any(point.of.count > 1 for point in points) and not hollow
    return Series(
        label or line.label,
        [point.x for point in points],
        [point.of.median for point in points],
        line.role,
        mark,
        dash=line.dash,
        symbol=line.symbol,
        low=[point.of.low for point in points] if several else None,
        high=[min(point.of.high, top) for point in points] if several else None,
        band=band and several,
        hollow=hollow,
        in_legend=in_legend,
        words=[_words(figure, point) for point in points],
        runs=[point.runs for point in points],
    )


def _words(figure: Figure, point: _Point) -> str:
    unit = f" {figure.unit}" if figure.unit else ""
    of = point.of
    span = f", {digits(of.low)} to {digits(of.high)} in {plural(of.count, figure.measure.each)}"
    return f"{value(point.x_value)}: {digits(of.median)}{unit}{span if of.count > 1 else ''}"


def _x_axis(over: SweptAxis, points: Sequence[_Point], name: str, *, small: bool) -> Axis:
    numbers = [x for x in over.numbers or () if any(point.x == x for point in points)]
    log = spans_a_decade(numbers)
    axis = Axis(name, over.unit, log, zero=zero_place(numbers) if log else None)
    shown = apart(axis, numbers, _TICKS_APART_SMALL if small else _TICKS_APART)
    ticks = tuple(numbers[at] for at in shown)
    return replace(axis, ticks=ticks, tick_words=tuple(digits(tick) for tick in ticks))


def _y_axis(figure: Figure, points: Sequence[_Point]) -> Axis:
    medians = [point.of.median for point in points]
    lows = [point.of.low for point in points]
    log = spans_a_decade(medians)
    return Axis(figure.header, figure.unit, log, zero=zero_place([*medians, *lows]) if log else None)


def _band_words(figure: Figure, points: Sequence[_Point]) -> str:
    several = [point.of for point in points if point.of.count > 1]
    each = figure.measure.each
    if not several:
        return f"One {each} for each point, so that nothing is said of chance."
    least = min(several, key=lambda of: of.coverage)
    endless = sum(not math.isfinite(of.high) for of in several)
    known = [
        cell.figures[figure.measure.name] for cell in figure.cells if figure.measure.name in cell.figures
    ]
    undone = sum(not math.isfinite(of.median) for of in known)
    verbs = ["has" if endless == 1 else "have", "is" if undone == 1 else "are"]
    return " ".join(
        [
            f"A line joins medians of {plural(least.count, each)} or more; its band is "
            + (
                "the interval that holds the true median with a probability of "
                f"{digits(least.coverage * 100, 2)} % or more, "
                "by order statistics."
                if least.has_interval
                else f"from the lowest to the highest, no interval: that takes {LEAST_COUNT}."
            ),
            *(
                [f"{plural(endless, 'interval')} {verbs[0]} no upper end: some were not done."]
                if endless
                else []
            ),
            *(
                [f"{plural(undone, 'point')} {verbs[1]} left out: half or more were not done."]
                if undone
                else []
            ),
        ]
    )


def _zero_words(x: Axis, y: Axis) -> str:
    if x.zero is None and y.zero is None:
        return ""
    return "A logarithmic axis has no zero: what is 0 stands beyond the dotted break."


def _finding(figure: Figure, layout: Layout, lines: _Lines, name: str) -> str:
    """How far the first line goes."""
    points = [point for point in lines[0, 0] if not point.doubtful]
    if len(points) < 2:
        return ""
    first, last = points[0], points[-1]
    line = layout.lines[0]
    where = ", ".join(filter(None, (panel_words(layout.panels[0]), line.label if line.at else "")))
    ends = f"{digits(first.of.median)} to {digits(last.of.median)} {figure.unit}".rstrip()
    return (
        f"From {name} {value(first.x_value)} to {value(last.x_value)}, the {figure.header} of {figure.whose} "
        f"goes from {ends}{f' ({where})' if where else ''}."
    )
