"""Heat maps of runs that vary in two things or more: a cell for each pair of values, its figure written in
it, and a map for each combination of what else varies.

There is one of each figure. Where small flows share a queue with a download of a size, the best compromise
between the three times that a queue decides comes first.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite, log
from typing import Any

from bentpipe.analysis.cells import cells
from bentpipe.analysis.grid import CellIndex, Grid, Record, Value, compromise, grids, values
from bentpipe.charts.build.sweep_figures import Figure, figures
from bentpipe.charts.build.sweep_layout import panel_words
from bentpipe.charts.description import Axis, Cells, Chart, Panel
from bentpipe.runs.asked import base_rtt_s, direction_of, workload_spec
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.wording import listed, short_names, slug, value

_MAPS = 12
_CELLS_IN_A_ROW = 16
"""How many columns of cells may stand beside each other."""


def build(results: Results) -> dict[str, Chart]:
    """By what they show; empty where nothing varies in two things, or no work has a figure in two cells."""
    found = grids(results.records)[:_MAPS]
    charts: dict[str, Chart] = {}
    if not found:
        return charts
    row_name, column_name = _names(found[0])
    over = f"over {row_name} and {column_name}"
    if len(found) == 1 and (panels := _compromise(results.records[0], found[0])):
        title = f"The best compromise {over}"
        x = panels[0].x or Axis("", "")
        charts["the best compromise"] = Chart("heat-map", title, "", x, panels, columns=len(panels))
    for figure in figures(cells(results.records)):
        if panels := _maps(figure, found):
            charts[figure.title] = Chart(
                name=slug(f"heat-map-{figure.name}"),
                title=f"{figure.name} {over}",
                sentence="",
                x=panels[0].x or Axis("", ""),
                panels=panels,
                columns=max(min(_CELLS_IN_A_ROW // len(found[0].columns), len(panels)), 1),
            )
    return charts


def _maps(figure: Figure, found: Sequence[Grid]) -> tuple[Panel, ...]:
    """One for each grid that has the figure, all with the same shades; none where it is nowhere different."""
    measure, subject = figure.measure, figure.cells[0].workload
    subjects = figure.cells[0].kind.subjects

    def of_run(run: Record) -> list[Value]:
        return [Value(of) for of in measure.values(run, subject)] if subject in subjects(run) else []

    measured = [(grid, known) for grid in found if (known := values(grid, of_run))]
    sure = {
        (number, cell): v.of
        for number, (_, known) in enumerate(measured)
        for cell, v in known.items()
        if not v.doubtful
    }
    done = {at: of for at, of in sure.items() if isfinite(of)}
    if len(done) < 2 or len(set(done.values())) < 2:
        return ()
    more = measure.more_is_better
    low, high = (min(done, key=lambda at: done[at]), max(done, key=lambda at: done[at]))
    ends = [
        f"{digits(done[at])} {figure.unit}".rstrip() + f" at {_where(measured[at[0]][0], at[1])}"
        for at in (low, high)
    ]
    sentence = f"From {ends[0]} to {ends[1]}. Light is good; the best is framed."
    framed = high if more else low
    return tuple(
        _panel(
            slug(f"{subject}-{panel_words(grid.rest)}"),
            panel_words(grid.rest) or figure.title,
            "" if number else sentence,
            grid,
            known,
            best=frozenset({framed[1]} if framed[0] == number else ()),
            more_is_better=more,
            shaded=list(sure.values()),
        )
        for number, (grid, known) in enumerate(measured)
    )


def _compromise(first: Record, found: Grid) -> tuple[Panel, ...]:
    """Three figures and what they come to; empty where one of them is missing."""
    work = {name: entry.get("kind") for name, entry in first.get("workloads", {}).items()}
    download = next((name for name in work if work[name] == "bulk" and _sized(first, name)), None)
    channels = next((name for name, kind in work.items() if kind == "channels"), None)
    base_s = base_rtt_s(first)
    if download is None or channels is None or base_s is None:
        return ()
    pipe = direction_of(first, download) or "down"
    time_s = values(found, lambda run: _completion(run, download))
    p95_s = values(found, lambda run: _known(run.get("workloads", {}), channels, "small_flows", "p95_s"))
    delay_s = values(found, lambda run: _known(run.get("queue", {}), pipe, "delay_s_mean"))
    if not (time_s and p95_s and delay_s):
        return ()
    delay_ms = {at: Value(v.of * 1000, v.at_least, v.doubtful) for at, v in delay_s.items()}
    trip_s = values(
        found,
        lambda run: [
            Value((base_rtt_s(run) or 0.0) + v.of) for v in _known(run.get("queue", {}), pipe, "delay_s_mean")
        ],
    )
    ratio = compromise(found, (time_s, p95_s, trip_s))
    return (
        _panel("compromise-download", f"{download}, time (s)", _sentence(found, ratio), found, time_s),
        _panel("small-flows", "small flows, 95th perc. (s)", "", found, p95_s),
        _panel("queue-delay", "queue delay, mean (ms)", "", found, delay_ms),
        _panel("compromise", "compromise (ratio)", "", found, ratio, more_columns=("all",)),
    )


def _sentence(found: Grid, ratio: Mapping[CellIndex, Value]) -> str:
    row_name, column_name = _names(found)
    parts = []
    for row, column in sorted(_best_of_columns(ratio), key=lambda cell: cell[1]):
        over_all = column == len(found.columns)
        where = "over all" if over_all else f"at {value(found.columns[column])} {column_name}"
        parts.append(f"{where} {value(found.rows[row])} ({digits(ratio[row, column].of)})")
    what = f"The best {row_name}: {listed(parts)}. " if parts else ""
    return (
        f"{what}The compromise{' (in brackets)' if parts else ''} is the geometric mean of three ratios, "
        "each to the best of its column: the download's time, small flows' 95th percentile, and the round "
        "trip with the queue's mean delay in it. 1 would be the best in all three. Light is good; the best "
        "of each column is framed."
    )


def _panel(
    name: str,
    title: str,
    sentence: str,
    found: Grid,
    measured: Mapping[CellIndex, Value],
    *,
    more_columns: tuple[str, ...] = (),
    best: frozenset[CellIndex] | None = None,
    more_is_better: bool = False,
    shaded: Sequence[float] = (),
) -> Panel:
    """Without `best` the least of each column is marked; without `shaded` its own figures set the shades."""
    row_name, column_name = _names(found)
    columns = (*map(value, found.columns), *more_columns)
    rows = [[measured.get((row, column)) for column in range(len(columns))] for row in range(len(found.rows))]
    shade = _shades(shaded or [v.of for v in measured.values() if not v.doubtful], more_is_better)
    return Panel(
        name,
        title,
        sentence,
        Axis(row_name, "", categories=tuple(map(value, found.rows))),
        (),
        x=Axis(column_name, "", categories=columns),
        cells=Cells(
            tuple(tuple(_words(v) for v in row) for row in rows),
            tuple(tuple(None if v is None or v.doubtful else shade(v.of) for v in row) for row in rows),
            _best_of_columns(measured) if best is None else best,
            tuple(tuple(v.runs if v else () for v in row) for row in rows),
        ),
    )


def _best_of_columns(measured: Mapping[CellIndex, Value]) -> frozenset[CellIndex]:
    """The least of each column; equals share it."""
    sure = {cell: v.of for cell, v in measured.items() if not v.doubtful and not v.at_least}
    least: dict[int, float] = {}
    for (_, column), of in sure.items():
        least[column] = min(least.get(column, of), of)
    return frozenset(cell for cell, of in sure.items() if of == least[cell[1]])


def _shades(known: Sequence[float], more_is_better: bool) -> Callable[[float], float]:
    """By the logarithm: twice as much is as many shades anywhere. What is 0 is as the least above it."""
    above = [of for of in known if 0 < of < inf]
    if not above or min(above) == max(above):
        return lambda _: 0.0
    low, high = min(above), max(above)

    def shade(of: float) -> float:
        share = log(min(max(of, low), high) / low) / log(high / low)
        return 1 - share if more_is_better else share

    return shade


def _words(of: Value | None) -> str:
    if of is None:
        return ""
    text = digits(of.of) if isfinite(of.of) else "not done"
    text = f"> {text}" if of.at_least else text
    return f"({text})" if of.doubtful else text


def _names(found: Grid) -> tuple[str, str]:
    names = short_names([found.row_key, found.column_key])
    return names[found.row_key], names[found.column_key]


def _where(found: Grid, cell: CellIndex) -> str:
    row_name, column_name = _names(found)
    row, column = value(found.rows[cell[0]]), value(found.columns[cell[1]])
    rest = panel_words(found.rest)
    return f"{row_name} {row} and {column_name} {column}{f' ({rest})' if rest else ''}"


def _sized(record: Record, workload: str) -> bool:
    return bool(workload_spec(record, workload).get("size_bytes"))


def _completion(record: Record, workload: str) -> list[Value]:
    """Of one that was not done: the time that it had until the run's end."""
    entry = record.get("workloads", {}).get(workload, {})
    if entry.get("completion_s") is not None:
        return [Value(entry["completion_s"])]
    start_s = (workload_spec(record, workload).get("start_ns") or 0) / 1e9
    duration_s = record.get("spec", {}).get("duration_s")
    return [Value(duration_s - start_s, at_least=True)] if entry and duration_s else []


def _known(record: Record, *keys: str) -> list[Value]:
    """The figure at the end of these keys; nothing where one of them is not there."""
    at: Any = record
    for key in keys:
        at = at.get(key) if isinstance(at, Mapping) else None
    return [] if at is None else [Value(float(at))]
