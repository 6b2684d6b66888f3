"""Heat maps of runs that vary in two things: a cell for each pair of values, its figure written in it.

Where small flows share a queue with a download of a size, they ask for the best compromise between the
three times that a queue decides. Else there is a map for each piece of work, of the figure by which its kind
is compared.
"""

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any

from bentpipe.charts.description import Axis, Cells, Chart, Panel
from bentpipe.charts.wording import digits, listed, short_names, value
from bentpipe.results.asked import base_rtt_s, direction_of, workload_spec
from bentpipe.results.cells import cells
from bentpipe.results.grid import Grid, Place, Record, Value, compromise, grid, values
from bentpipe.results.kinds import Measure
from bentpipe.results.store import Results

_SIDE_KINDS = {"ping", "pipe", "exec"}
"""What is measured beside the work."""


def build(results: Results) -> Chart | None:
    """None where not exactly two things vary, or no work has a figure in two of their cells."""
    found = grid(results.runs)
    if found is None:
        return None
    panels = _compromise(results.runs[0], found) or tuple(_by_work(results.runs, found))
    if not panels:
        return None
    row_name, column_name = _names(found)
    of_three = panels[0].name == "compromise-download"
    return Chart(
        name="heat-map",
        title=f"{'The best compromise' if of_three else 'Heat map'} over {row_name} and {column_name}",
        sentence="",
        x=panels[0].x or Axis("", ""),
        panels=panels,
        columns=len(panels) if of_three else 1,
    )


def _by_work(runs: Sequence[Record], found: Grid) -> list[Panel]:
    """A panel for each piece of work whose kind is compared by a figure."""
    panels = []
    work = {(cell.kind.name, cell.workload): cell for cell in cells(runs)}
    for (kind, workload), cell in work.items():
        if kind in _SIDE_KINDS:
            continue
        measure = cell.measure

        def of_run(run: Record, workload: str = workload, measure: Measure = measure) -> list[Value]:
            has = workload in run.get("workloads", {})
            return [Value(each) for each in measure.values(run, workload)] if has else []

        measured = values(found, of_run)
        more = measure.more_is_better
        known = {place: v for place, v in measured.items() if not v.doubtful}
        if len(known) < 2:
            continue
        ordered = sorted(known, key=lambda place: known[place].of)
        low, high = ordered[0], ordered[-1]
        header = measure.header.replace("\n", " ")
        title = f"{workload}, {header} ({measure.unit})" if measure.unit else f"{workload}, {header}"
        span = " to ".join(
            [f"{digits(known[at].of)} {measure.unit} at {_where(found, at)}" for at in (low, high)]
        )
        sentence = f"From {span}. Light is good; the best is framed."
        best = frozenset({high if more else low})
        panels.append(_panel(workload, title, sentence, found, measured, best=best, more_is_better=more))
    return panels


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


def _sentence(found: Grid, ratio: Mapping[Place, Value]) -> str:
    row_name, column_name = _names(found)
    parts = []
    for row, column in sorted(_best_of_columns(ratio), key=lambda place: place[1]):
        over_all = column == len(found.columns)
        where = "over all" if over_all else f"at {value(found.columns[column])} {column_name}"
        parts.append(f"{where} {value(found.rows[row])} ({digits(ratio[row, column].of)})")
    what = f"The best {row_name}: {listed(parts)}. " if parts else ""
    return (
        f"{what}In brackets the compromise, the geometric mean of three ratios, each to the best of its "
        "column: the download's time, small flows' 95th percentile, and the round trip with the queue's mean "
        "delay in it. 1 would be the best in all three. Light is good; the best of each column is framed."
    )


def _panel(
    name: str,
    title: str,
    sentence: str,
    found: Grid,
    measured: Mapping[Place, Value],
    *,
    more_columns: tuple[str, ...] = (),
    best: frozenset[Place] | None = None,
    more_is_better: bool = False,
) -> Panel:
    """Without `best` the least of each column is marked."""
    row_name, column_name = _names(found)
    columns = (*map(value, found.columns), *more_columns)
    places = [
        [measured.get((row, column)) for column in range(len(columns))] for row in range(len(found.rows))
    ]
    shade = _shades([v.of for v in measured.values() if not v.doubtful], more_is_better)
    return Panel(
        name,
        title,
        sentence,
        Axis(row_name, "", categories=tuple(map(value, found.rows))),
        (),
        x=Axis(column_name, "", categories=columns),
        cells=Cells(
            tuple(tuple(_words(v) for v in row) for row in places),
            tuple(tuple(None if v is None or v.doubtful else shade(v.of) for v in row) for row in places),
            _best_of_columns(measured) if best is None else best,
        ),
    )


def _best_of_columns(measured: Mapping[Place, Value]) -> frozenset[Place]:
    """The least of each column; equals share it."""
    sure = {place: v.of for place, v in measured.items() if not v.doubtful and not v.at_least}
    least: dict[int, float] = {}
    for (_, column), of in sure.items():
        least[column] = min(least.get(column, of), of)
    return frozenset(place for place, of in sure.items() if of == least[place[1]])


def _shades(known: Sequence[float], more_is_better: bool) -> Callable[[float], float]:
    """By the logarithm: twice as much is as many shades anywhere. What is 0 is as the least above it."""
    above = [of for of in known if of > 0]
    if not above or min(above) == max(above):
        return lambda _: 0.0
    low, high = min(above), max(above)

    def shade(of: float) -> float:
        share = log(max(of, low) / low) / log(high / low)
        return 1 - share if more_is_better else share

    return shade


def _words(of: Value | None) -> str:
    if of is None:
        return ""
    text = f"> {digits(of.of)}" if of.at_least else digits(of.of)
    return f"({text})" if of.doubtful else text


def _names(found: Grid) -> tuple[str, str]:
    names = short_names([found.row_key, found.column_key])
    return names[found.row_key], names[found.column_key]


def _where(found: Grid, place: Place) -> str:
    row_name, column_name = _names(found)
    return f"{row_name} {value(found.rows[place[0]])} and {column_name} {value(found.columns[place[1]])}"


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
