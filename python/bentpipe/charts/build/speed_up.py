"""What helps, and what it costs: a row per thing tried; beside its speed-up against the plain lab, the share
of payload sent again, the queueing delay, and what is left to a rival flow.

Each value of the first named axis (a path) has a row of panels; what was done on it stands under headings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe.analysis.cells import Cell, cells, typical_first
from bentpipe.analysis.kinds.costs import LEFT, QUEUE_DELAY, SENT_AGAIN, is_rival
from bentpipe.analysis.kinds.measure import Measure
from bentpipe.analysis.speed_up import PLAIN, CellPlace, SpeedUp, baselines, place, speed_up, things_tried
from bentpipe.analysis.statistics import Estimate
from bentpipe.charts.description import Axis, Chart, Level, Mark, Panel, Role, Series, Symbol
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.wording import TOO_WIDE, listed, point_words, ratio_interval


@dataclass(frozen=True)
class _Row:
    """A heading, or a cell with its speed-up."""

    label: str
    cell: Cell | None = None
    faster: SpeedUp | None = None


def build(results: Results) -> Chart | None:
    """None where nothing is tried beside the plain lab, or nothing that was tried can be set against it."""
    found = [c for c in cells(results.records) if c.kind.costs and not is_rival(c.runs[0], c.workload)]
    plain = baselines(found)
    if not plain or not things_tried(found):
        return None
    points = [run.get("point", {}) for run in results.records]
    sections: dict[str, list[_Row]] = {}
    for name, places in _by_first_axis(found, points).items():
        rows = []
        headings = _headings([cells_[0] for cells_ in places.values()])
        for cells_, heading in zip(places.values(), headings, strict=True):
            theirs = plain.get(place(cells_[0]))
            rows += [_Row(heading)] if heading else []
            rows += [
                _Row(c.variant, c, speed_up(c, theirs) if theirs and c is not theirs else None)
                for c in cells_
            ]
        sections[name] = rows
    if not any(row.faster for rows in sections.values() for row in rows):
        return None
    costs = [
        (measure, axis, role)
        for measure, axis, role in _COSTS
        if any(row.cell and measure.name in row.cell.figures for rows in sections.values() for row in rows)
    ]
    panels = [panel for name, rows in sections.items() for panel in _panels(name, rows, costs)]
    return Chart(
        name="speed-up",
        title="What helps, and what it costs",
        sentence="",
        x=_SPEED_UP,
        panels=tuple(panels),
        columns=1 + len(costs),
    )


_DRAWN = 30.0
"""What is faster by more, as a cache's hit is, would press all else together: its figure is by its name."""
_SPEED_UP = Axis("times as fast as the plain lab", "", log=True)
_COSTS: Sequence[tuple[Measure, Axis, Role]] = (
    (SENT_AGAIN, Axis("sent again", "% of payload"), Role.DROPS),
    (QUEUE_DELAY, Axis("queueing delay", "ms"), Role.PING),
    (LEFT, Axis("left to a rival", "% of both"), Role.RIVAL),
)


def _by_first_axis(found: Sequence[Cell], points: Sequence[Any]) -> dict[str, dict[CellPlace, list[Cell]]]:
    """Cells by the first part of their point, then by place; in the order of `points`, of whatever kind."""
    grouped: dict[str, dict[CellPlace, list[Cell]]] = {}
    for cell in sorted(found, key=lambda c: points.index(c.point)):
        grouped.setdefault(_path(cell), {}).setdefault(place(cell), []).append(cell)
    return grouped


def _path(cell: Cell) -> str:
    return next(iter(point_words(cell.point)), "")


def _headings(found: Sequence[Cell]) -> list[str]:
    """What is apart from the first axis, with the workload where two have the same. A single one has none."""
    rest = [", ".join(point_words(cell.point)[1:]) for cell in found]
    return [
        ", ".join(filter(None, (words, cell.workload if rest.count(words) > 1 else "")))
        for words, cell in zip(rest, found, strict=True)
    ]


def _panels(name: str, rows: Sequence[_Row], costs: Sequence[tuple[Measure, Axis, Role]]) -> list[Panel]:
    axis = Axis(
        "",
        "",
        categories=tuple(_label(row) for row in rows),
        headings=frozenset(number for number, row in enumerate(rows) if row.cell is None),
    )
    role = Role(next((row.cell.direction for row in rows if row.cell), "down"))
    faster = [(number, row.faster) for number, row in enumerate(rows) if row.faster]
    series = (
        _points("speed-up", [(n, _as_drawn(e)) for n, e in faster if e.ratio <= _DRAWN], role, rows),
        Series(
            "beyond the axis",
            [_DRAWN for _, e in faster if e.ratio > _DRAWN],
            [n for n, e in faster if e.ratio > _DRAWN],
            role,
            Mark.POINTS,
            symbol=Symbol.BEYOND,
            in_legend=False,
            runs=[_runs(rows[n]) for n, e in faster if e.ratio > _DRAWN],
        ),
    )
    slug = name.replace(" ", "-") or "all"
    as_is = Level(1.0, PLAIN, Role.CAPACITY)
    answers = _answers(rows)
    words = tuple(str(each) for each in answers)
    of_speed = (_sentence(answers), axis, series, (as_is,), _SPEED_UP)
    found = [Panel(f"speed-up-{slug}", name, *of_speed, answers=words)]
    for measure, x, role in costs:
        known = [
            (number, _as_drawn(row.cell.figures[measure.name]))
            for number, row in enumerate(rows)
            if row.cell and measure.name in row.cell.figures
        ]
        found.append(
            Panel(f"{measure.name}-{slug}", x.label, "", axis, (_points(x.label, known, role, rows),), x=x)
        )
    return found


def _label(row: _Row) -> str:
    """With its figure where that lies beyond the axis."""
    if row.faster is None or row.faster.ratio <= _DRAWN:
        return row.label
    return f"{row.label}, {digits(row.faster.ratio)} times"


def _runs(row: _Row) -> tuple[str, ...]:
    return typical_first(row.cell, row.cell.measure) if row.cell else ()


@dataclass(frozen=True)
class _Drawn:
    """A point of a row and, where it has one, its interval."""

    value: float
    ends: tuple[float, float] | None


def _as_drawn(of: SpeedUp | Estimate) -> _Drawn:
    if isinstance(of, SpeedUp):
        if of.interval is None:
            return _Drawn(of.ratio, None)
        return _Drawn(of.ratio, (max(of.interval.low, 1 / _DRAWN), min(of.interval.high, _DRAWN)))
    return _Drawn(of.median, (of.low, of.high) if of.has_interval else None)


def _points(label: str, known: Sequence[tuple[int, _Drawn]], role: Role, rows: Sequence[_Row]) -> Series:
    """By row, each with its interval where there is one."""
    ends = [drawn.ends or (drawn.value, drawn.value) for _, drawn in known]
    several = any(drawn.ends for _, drawn in known)
    return Series(
        label,
        [drawn.value for _, drawn in known],
        [number for number, _ in known],
        role,
        Mark.POINTS,
        low=[low for low, _ in ends] if several else None,
        high=[high for _, high in ends] if several else None,
        in_legend=False,
        runs=[_runs(rows[number]) for number, _ in known],
    )


@dataclass(frozen=True)
class _Answer:
    """What helped most with one piece of work."""

    work: str
    """Empty where there is one."""
    helps: str
    more: str
    """What it costs, and what may help as much."""

    def __str__(self) -> str:
        return _told(self.work, self.helps + self.more)


def _told(work: str, words: str) -> str:
    return f"{work}: {words}." if work else f"{words[:1].upper()}{words[1:]}."


def _answers(rows: Sequence[_Row]) -> list[_Answer]:
    heading = ""
    groups: dict[str, list[tuple[_Row, SpeedUp]]] = {}
    plain: dict[str, Cell] = {}
    for row in rows:
        heading = row.label if row.cell is None else heading
        if row.faster:
            groups.setdefault(heading, []).append((row, row.faster))
        elif row.cell:
            plain[heading] = row.cell
    found = []
    for name, tried in groups.items():
        far = [f'"{row.label}" is {digits(of.ratio)} times as fast' for row, of in tried if of.ratio > _DRAWN]
        rest = [pair for pair in tried if pair[1].ratio <= _DRAWN]
        best = more = ""
        if rest:
            (row, faster), *others = sorted(rest, key=lambda pair: -pair[1].ratio)
            best = _helps(row.label, faster)
            costs = _costs(row.cell, plain.get(name)) if _may_help(faster) else []
            more = f"; it {listed(costs)}" if costs else ""
            more += _as_good(faster, *others[0]) if others else ""
        words = ", and of the others ".join(filter(None, [", ".join(far), best]))
        found.append(_Answer(name, words, more))
    return found


def _sentence(answers: Sequence[_Answer]) -> str:
    """Of several pieces of work without the costs, which the panels beside show."""
    if len(answers) == 1:
        return str(answers[0])
    return " ".join(_told(each.work, each.helps) for each in answers)


def _may_help(faster: SpeedUp) -> bool:
    return faster.ratio > 1.0 and (faster.interval is None or faster.sure)


def _helps(name: str, faster: SpeedUp) -> str:
    """What was fastest, and how far chance may have made it so."""
    if faster.ratio <= 1.0:
        return "nothing is faster"
    times = digits(faster.ratio)
    if faster.interval is None:
        return (
            f'"{name}" is fastest, {times} times as fast in one pair of runs (it may be chance: use --repeat)'
        )
    told = ratio_interval(faster.interval.low, faster.interval.high)
    ends = f"an interval {told}" if told == TOO_WIDE else told.replace("–", " to ")
    if not faster.sure:
        return f'nothing is surely faster: "{name}" comes nearest, {times} times ({ends})'
    in_brackets = "" if ends == f"{times} to {times}" else f" ({ends})"
    return f'"{name}" helps most, {times} times as fast{in_brackets}'


def _as_good(best: SpeedUp, second: _Row, faster: SpeedUp) -> str:
    """The second, where the interval of the best includes it: it may be cheaper to have."""
    if not (best.sure and faster.sure and best.interval and best.interval.holds(faster.ratio)):
        return ""
    return f'. "{second.label}" may help as much, {digits(faster.ratio)} times'


_WORTH_A_WORD = {SENT_AGAIN.name: 1.0, QUEUE_DELAY.name: 10.0}
"""Smaller costs, in percent of the payload and in milliseconds, are left to the chart."""


def _costs(tried: Cell | None, plain: Cell | None) -> list[str]:
    """What it costs beside the plain lab: what is sent again, the queue's delay, another flow's share."""
    found = []
    for measure, words in (
        (SENT_AGAIN, "sends {} % of the payload again instead of {} %"),
        (QUEUE_DELAY, "makes packets wait {} ms in the queue instead of {} ms"),
        (LEFT, "leaves another flow on the link {} % of what both carry instead of {} %"),
    ):
        both = [cell.figures.get(measure.name) for cell in (tried, plain) if cell]
        medians = [each.median for each in both if each]
        if len(medians) < 2 or medians[0] - medians[1] < _WORTH_A_WORD.get(measure.name, -math.inf):
            continue
        found.append(words.format(*(digits(each, measure.digits) for each in medians)))
    return found
