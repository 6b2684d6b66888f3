"""The columns of a cell, with the same words in the terminal's tables and on the page."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from bentpipe.analysis.cells import Cell, counts, is_imported
from bentpipe.analysis.intervals import LEVEL
from bentpipe.analysis.speed_up import CellPlace, SpeedUp, place, speed_up
from bentpipe.analysis.statistics import LEAST_COUNT, Estimate
from bentpipe.words.digits import digits
from bentpipe.words.wording import TOO_WIDE, TOO_WIDE_NOTE, plural, ratio_interval, value

Plain = Mapping[CellPlace, Cell]
SPARE = ("range", "measure goodput", "measure sent again", "measure queue delay", "measure retransmits")
"""Columns that a narrow terminal or screen may leave out, the first one first."""


_DELAYS = ("ping", "interactive", "call")
"""Kinds that measure delays themselves."""


def headers(found: Sequence[Cell], first: Mapping[str, str], plain: Plain) -> dict[str, str]:
    """Column to header, in order; the unit is on a line of its own. Of cells of one kind.

    `first` are the columns that say which cell a row is. Where there are `plain` cells to be compared with, a
    row's speed-up and its interval take the place of the figure's own.
    """
    measure, unit = found[0].measure, found[0].unit
    published = [c.published for c in found if c.published]
    titles = dict(first) | {"ours": _header("ours" if published else measure.header, unit)}
    if not plain and any(c.ours and c.ours.has_interval for c in found):
        titles |= {"interval": _header("interval", unit)}
    if published:
        titles |= {"published": _header("published", unit)}
        if any(len(figure.values) > 1 for figure in published):
            titles |= {"range": _header("range", unit)}
        titles |= {"ratio": "ratio"}
    if plain:
        titles |= {"speed-up": f"times\n{_as(found)}"}
        if any(len(c.runs) > 1 for c in found):
            titles |= {"speed-up interval": "interval"}
    others = found[0].kind.measures
    if plain and found[0].kind.costs:  # the share sent again says it better than a count
        others = (*(each for each in others if each.name != "retransmits"), *found[0].kind.costs)
    for other in others:
        if other is not measure and any(other.name in {**c.figures, **c.doubtful} for c in found):
            titles |= {f"measure {other.name}": _header(other.header, other.unit)}
        if any(other.name in c.also_published for c in found):
            titles |= {f"published {other.name}": _header("published", other.unit)}
    if (
        not plain
        and any(c.ping_ms for c in found)
        and found[0].kind.name not in ("ping", "interactive", "call")
    ):
        titles |= {"ping": "ping\nms"}
    return titles | {"reliable": "reliable"}


def row(cell: Cell, titles: Mapping[str, str], plain: Cell | None) -> list[str]:
    published = cell.published
    faster = speed_up(cell, plain) if plain and plain is not cell else None
    values = {key: value(of) for key, of in cell.point.items()} | {
        "variant": cell.variant,
        "workload": cell.workload,
        "ours": median_or_doubtful(cell.ours, cell.ours_doubtful, cell.measure.digits),
        "interval": interval(cell.ours),
        "published": digits(published.median) if published else "–",
        "range": _span(published.low, published.high) if published and len(published.values) > 1 else "",
        "ratio": digits(cell.ratio) if cell.ratio is not None else "–",
        "speed-up": "1" if plain is cell and cell.ours else digits(faster.ratio) if faster else "–",
        "speed-up interval": ratio_interval(faster.interval.low, faster.interval.high)
        if faster and faster.interval
        else "",
        "ping": median(cell.ping_ms, 4),
        "reliable": mark(cell),
    }
    for measure in cell.kind.every_measure:
        found, doubtful = cell.figures.get(measure.name), cell.doubtful.get(measure.name)
        values[f"measure {measure.name}"] = median_or_doubtful(found, doubtful, measure.digits)
        others = cell.also_published.get(measure.name)
        values[f"published {measure.name}"] = digits(others.median) if others else "–"
    return [values.get(column, "") for column in titles]


def median_or_doubtful(of: Estimate | None, doubtful: Estimate | None, count: int = 3) -> str:
    """In brackets where all of a cell's runs are left out."""
    return f"({figure(doubtful.median, count)})" if of is None and doubtful else median(of, count)


def median(of: Estimate | None, count: int = 3) -> str:
    return "–" if of is None else figure(of.median, count)


def interval(of: Estimate | None) -> str:
    return "" if of is None or not of.has_interval else _span(of.low, of.high)


def coverage(found: Sequence[Cell], plain: Plain) -> str:
    """How to read the intervals, or why there is none."""
    if plain:
        pairs = [speed_up(cell, plain[place(cell)]) for cell in found if place(cell) in plain]
        ratios = _of_speed_ups(pairs, _as(found))
        return " ".join(filter(None, (_of_medians(found), ratios)))
    several = [c.ours for c in found if c.ours and c.ours.count > 1]
    if not several:
        return ""
    each = {"run": "runs", "fetch": "fetches"}[found[0].measure.each]
    least = min(several, key=lambda e: e.count)
    shown = [of for of in several if of.has_interval]
    words = f"Ours is the median of {least.count} or more {each}"
    if not shown:
        return f"{words}; an interval needs {LEAST_COUNT}."
    held = min(of.coverage for of in shown)
    probability = f"a probability of {digits(held * 100, 2)} % or more"
    return f"{words}; the interval holds the true median with {probability}."


def _as(found: Sequence[Cell]) -> str:
    """What a ratio to the plain lab says: the score of a call is no speed."""
    return "as good" if found[0].kind.name == "call" else "as fast"


def _of_medians(found: Sequence[Cell]) -> str:
    """Which of the runs' figures a table shows; compare's are means."""
    counts = [len(cell.runs) - len(cell.left_out) for cell in found]
    return f"Figures are medians over {plural(max(counts), 'run')}." if max(counts) > 1 else ""


def _of_speed_ups(found: Sequence[SpeedUp | None], times_as: str) -> str:
    known = [of for of in found if of]
    if not known:
        return ""
    least = min(of.pairs for of in known)
    words = f"Times {times_as} is the geometric mean over {least} or more pairs of runs"
    if not any(of.interval for of in known):
        return f"Times {times_as} is from one pair of runs, which does not show chance; use --repeat."
    known_intervals = [of.interval for of in known if of.interval]
    wide = any(ratio_interval(each.low, each.high) == TOO_WIDE for each in known_intervals)
    more = f" {TOO_WIDE_NOTE}" if wide else ""
    return f"{words}, with its interval at {digits(LEVEL * 100)} %, as in `bentpipe compare`.{more}"


def mark(cell: Cell) -> str:
    """yes, no, or how many of the runs are reliable; of other programs' measurements it is not known."""
    good = len(cell.runs) - len(cell.left_out)
    if good and all(is_imported(run) for run in cell.runs):
        return "imported" if not cell.left_out else f"{good} of {len(cell.runs)}, imported"
    return "yes" if not cell.left_out else "NO" if not good else f"{good} of {len(cell.runs)}"


def reasons(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """(why, names of the runs) for what failed or is unreliable, in the order of the first of each."""
    grouped: dict[str, list[str]] = {}
    for run in runs:
        if not counts(run):
            why = " ".join(map(_sentence, run.get("why", []))) or "It failed."
            grouped.setdefault(why, []).append(run["run"])
    return list(grouped.items())


def _header(words: str, unit: str) -> str:
    """The unit, or the words' own second line, below."""
    return f"{words}\n{unit}" if unit else words


def _span(low: float, high: float) -> str:
    return f"{digits(low)}–" if isfinite(low) and not isfinite(high) else f"{figure(low)}–{figure(high)}"


def figure(value: float, count: int = 3) -> str:
    return digits(value, count) if isfinite(value) else "not done"


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
