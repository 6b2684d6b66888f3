"""Sweeps or variants compared: a verdict for each thing tried, then a table per kind of work.

In a table a group is a thing tried and a row a point, the one over all points first; where nothing is swept a
row is a thing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.analysis.cells import is_imported
from bentpipe.analysis.comparisons import IDENTICAL, NO_DIFFERENCE, NO_PAIR, Comparison
from bentpipe.analysis.intervals import LEVEL, Interval, together_at
from bentpipe.analysis.kinds import KINDS
from bentpipe.analysis.pairs import LeftOut, matched, together
from bentpipe.report.sheets import Row as SheetRow
from bentpipe.report.sheets import Sheet
from bentpipe.report.terminal import Fitted
from bentpipe.report.verdicts import exceeds, faster, place, signed, span, speed, verdict
from bentpipe.runs.called import called_in_all
from bentpipe.words.digits import digits
from bentpipe.words.printable import printable
from bentpipe.words.wording import TOO_WIDE, TOO_WIDE_NOTE, plural, ratio_interval

_SAME = "="
_NOT_SEEN = "≈"
_NOTHING = "±0"
"""Below a thousandth, of the figure or of its unit."""
_QUIET = {_SAME, _NOT_SEEN, _NOTHING, "–"}
_POINTS = "pp"
"""What shares differ by."""
_NAME = 12
_REASONS = {
    "failed": "that failed",
    "unreliable": "that are unreliable",
    "without_partner": "of either side without a partner of the same point and {each}",
}


@dataclass(frozen=True)
class Row:
    """One thing at one point, or over all."""

    first: Comparison
    beside: Mapping[str, Comparison]
    """By the metric's dotted name."""


def render(compared: Sequence[Comparison]) -> RenderableType:
    parts: list[RenderableType] = []
    blocks = _blocks([each for each in compared if not each.one_sided])
    several = len(blocks) > 1
    for group, rows in blocks.items():
        if several:
            parts.append(Text(_title(group, rows), style="bold underline"))
        parts.append(_verdicts(rows))
    parts.append(Text(_pairs_words(compared), style="dim"))
    for group, rows in blocks.items():
        parts += [Text(f"\n{_title(group, rows)}", style="bold underline"), Fitted(_sheet(rows))]
    if note := _note(compared):
        parts.append(Text(note, style="dim"))
    return Group(*parts, *_left_out(compared))


@dataclass(frozen=True)
class Told:
    """What was found of one kind of work."""

    title: str
    verdicts: Sequence[tuple[str, str]]
    """Of each thing tried that changed something, its name and what it changed."""
    unchanged: Sequence[tuple[str, str]]
    """The same for variants without a visible difference in any figure, over all points or at one."""
    sheet: Sheet
    """Ratios and intervals, at each point."""


def told(compared: Sequence[Comparison]) -> list[Told]:
    """The same as data, for a page."""
    blocks = _blocks([each for each in compared if not each.one_sided])
    found = []
    for group, rows in blocks.items():
        words, quiet = _verdict_words(rows), {name for name, of_thing in rows.items() if _is_quiet(of_thing)}
        changed = [each for each in words if each[0] not in quiet]
        unchanged = [each for each in words if each[0] in quiet]
        found.append(Told(_title(group, rows), changed, unchanged, _sheet(rows)))
    return found


def _is_quiet(rows: Sequence[Row]) -> bool:
    """Whether no figure of a thing is seen to differ."""
    unseen = (NO_DIFFERENCE, IDENTICAL)
    every = [each for row in rows for each in (row.first, *row.beside.values())]
    return rows[0].first.verdict in unseen and all(each.verdict in (*unseen, NO_PAIR) for each in every)


def how_compared(compared: Sequence[Comparison]) -> str:
    """Pairs, their baseline, and what the intervals hold."""
    return " ".join(filter(None, (_pairs_words(compared), _note(compared))))


def _blocks(compared: Sequence[Comparison]) -> dict[tuple[str, str], dict[str, list[Row]]]:
    rows: dict[tuple[tuple[str, str], str, str], Row] = {}
    for role in ("first", "beside"):
        for each in compared:
            if each.metric.role == role:
                of = (each.metric.group, each.name, repr(each.point))
                if role == "first":
                    rows[of] = Row(each, {})
                elif of in rows:
                    rows[of] = Row(rows[of].first, {**rows[of].beside, each.metric.name: each})
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for (group, name, _), row in rows.items():
        found.setdefault(group, {}).setdefault(name, []).append(row)
    return found


def _title(group: tuple[str, str], rows: Mapping[str, Sequence[Row]]) -> str:
    """The kind of work and its name, as people read it: an upload by a `download` is called an upload."""
    kind, name = group
    things = [row.first.thing for each in rows.values() for row in each]
    sides = [side for thing in things for side in (thing.theirs, thing.ours)]
    runs = {id(run): run for side in sides for run in side if name in run.get("workloads", {})}
    subject = called_in_all(runs.values(), name)
    title = next((each.title for each in KINDS if each.name == kind), "")
    return f"{title}: {subject}" if title else subject


def _verdicts(rows: Mapping[str, Sequence[Row]]) -> RenderableType:
    """A line each, which goes on beneath itself where the terminal is too narrow."""
    lines = Table.grid(padding=(0, 1, 0, 0))
    lines.add_column(no_wrap=True, style="bold")
    lines.add_column()
    for name, words in _verdict_words(rows):
        lines.add_row(Text(printable(f"{name}:")), Text(words))
    return lines


def _verdict_words(rows: Mapping[str, Sequence[Row]]) -> list[tuple[str, str]]:
    return [
        (name, verdict(overall.first, list(overall.beside.values()), [row.first for row in points]))
        for name, (overall, *points) in rows.items()
    ]


def _sheet(rows: Mapping[str, Sequence[Row]]) -> Sheet:
    """Of one group. Costs that no row shows to differ may be left out, and pairs where all are as many."""
    every = [row for of_thing in rows.values() for row in of_thing]
    swept = any(row.first.point is not None for row in every)
    beside = {name: each for row in every for name, each in row.beside.items() if each.pairs}
    points = [row.first for row in every]
    lines: dict[str, list[list[str]]] = {}
    for name, of_thing in rows.items():
        same = all(row.first.verdict == IDENTICAL for row in of_thing)
        for row in of_thing[:1] if same else of_thing:
            point = row.first.point
            words = name if not swept else place(row.first, points) if point else "all points"
            lines.setdefault(name if swept else "", []).append([words, *_cells(row, beside, swept)])
    headers = _headers(points, beside)
    drawn = [line for group in lines.values() for line in group]
    quiet = [column for column in range(6, len(headers)) if all(line[column] in _QUIET for line in drawn)]
    equal = len({row.first.pairs for row in every if row.first.point or not swept}) == 1
    groups = tuple(
        (name, tuple(SheetRow(tuple(line), doubtful=False) for line in group))
        for name, group in lines.items()
    )
    kind = next((kind for kind in KINDS if kind.name == points[0].metric.group[0]), None)
    spare = (*quiet, *([5] if equal else []))
    return Sheet("", headers, True, spare, groups, "", kind.counted if kind else "")


def _headers(points: Sequence[Comparison], beside: Mapping[str, Comparison]) -> tuple[str, ...]:
    some = points[0]
    return (
        "",
        f"{_baseline_name(points)}\n{some.metric.unit}",
        f"{_compared_name(points)}\n{some.metric.unit}",
        "times\nas fast" if faster(some) else "ratio",
        "interval",
        "pairs",
        *(
            f"{each.metric.words} {_POINTS if each.metric.unit == '%' else each.metric.unit}".strip().replace(
                " ", "\n", 1
            )
            for each in beside.values()
        ),
    )


def _baseline_name(compared: Sequence[Comparison]) -> str:
    """What heads the baseline's column."""
    baselines = {of.thing.baseline for of in compared}
    name = baselines.pop() if len(baselines) == 1 else ""
    return name if 0 < len(name) <= _NAME else "baseline"


def _compared_name(compared: Sequence[Comparison]) -> str:
    """What heads the column of what is compared with the baseline. Of several each row has its name."""
    things = [of.thing for of in compared]
    names = {thing.name for thing in things}
    name = names.pop() if len(names) == 1 else ""
    if 0 < len(name) <= _NAME:
        return name
    return "variant" if all(thing.name == thing.ours[0].get("variant") for thing in things) else "folder"


def _cells(row: Row, beside: Mapping[str, Comparison], swept: bool) -> list[str]:
    of = row.first
    values = ["", ""] if swept and of.point is None else [_mean(of, 0), _mean(of, 1)]
    cells = [*values, *_ratio(of), str(of.pairs) if of.pairs else "–"]
    for name in beside:
        each = row.beside.get(name)
        cells.append("–" if each is None or each.difference is None else _difference(each))
    return cells


def _mean(of: Comparison, side: int) -> str:
    """In brackets where no pair counts."""
    known, doubtful = of.means[side], of.doubtful[side]
    if known is not None:
        return digits(known, of.metric.digits)
    return "–" if doubtful is None else f"({digits(doubtful, of.metric.digits)})"


def _ratio(of: Comparison) -> tuple[str, str]:
    """Of what may be 0 the difference, with its sign."""
    if of.difference is None:
        return "–", ""
    if of.verdict == IDENTICAL:
        return _SAME, ""
    if of.ratio is None:
        found = of.difference.interval
        return signed(of.difference.value), span(found.low, found.high) if found else ""
    told = digits(speed(of, of.ratio))
    if of.ratio_interval is None:
        return told, ""
    return told, _interval(of)


def _interval(of: Comparison) -> str:
    """Of the ratio."""
    if of.ratio_interval is None:
        return ""
    low, high = sorted(speed(of, end) for end in (of.ratio_interval.low, of.ratio_interval.high))
    return ratio_interval(low, high)


def _difference(of: Comparison) -> str:
    if of.verdict == IDENTICAL:
        return _SAME
    if of.verdict == NO_DIFFERENCE:
        return _NOT_SEEN
    assert of.difference is not None
    return signed(of.difference.value, of.metric.digits) if exceeds(of, 0.001) else _NOTHING


def _pairs_words(compared: Sequence[Comparison]) -> str:
    """Of the figures that things are judged by."""
    judged = [each for each in compared if each.metric.role == "first"]
    points = [each for each in judged if each.point is not None] or judged
    counted = [each.pairs for each in points if each.pairs] or [0]
    least, most = min(counted), max(counted)
    pairs = plural(most, "pair") if least == most else f"{least} to {plural(most, 'pair')}"
    where = " at each point" if points is not judged else ""
    baselines = list(dict.fromkeys(each.thing.baseline for each in compared))
    to = f"with {baselines[0]}" if len(baselines) == 1 else "each with its own baseline"
    return f"Compared {to}: {pairs} of runs of the same {_alike(compared)}{where}."


def _alike(compared: Sequence[Comparison]) -> str:
    """What the two of a pair have in common. Imported runs have no seed, only a number among the repeats."""
    runs = [run for each in compared for run in (*each.thing.ours, *each.thing.theirs)]
    return "repeat number" if any(map(is_imported, runs)) else "seed"


def _intervals(compared: Sequence[Comparison]) -> list[Interval]:
    return [each.judged.interval for each in compared if each.judged and each.judged.interval]


def _note(compared: Sequence[Comparison]) -> str:
    known = _intervals(compared)
    words = []
    if any(each.pairs > 1 for each in compared):
        name = _baseline_name(compared)
        each = "each " if len({of.thing.name for of in compared}) > 1 else ""
        words.append(
            f"{name[:1].upper()}{name[1:]} and {each}{_compared_name(compared)}: means over the pairs. "
        )
    if known:
        least = min(known, key=lambda each: each.held)
        words.append(
            f"Intervals at {digits(100 * LEVEL)} % of the mean over {_alike(compared)}s; of {least.count} "
            f"their coverage can fall to {digits(100 * least.held, 2)} % if a few runs are outliers"
        )
        words.append(". ")
    tails = [each for each in compared if each.metric.tail and each.judged and each.judged.interval]
    if tails:
        most = max(each.among for each in tails)
        level = digits(100 * together_at(LEVEL, most), 4)
        if most > 1:
            words.append(f"The {most} percentiles of a thing are judged together, each at {level} %. ")
    if any(each.metric.unit == "%" and each.metric.role == "beside" and each.pairs for each in compared):
        words.append(f"{_POINTS}: percentage points. ")
    if any(_interval(each) == TOO_WIDE for each in compared if each.metric.role == "first"):
        words.append(f"{TOO_WIDE_NOTE} ")
    if any(each.verdict == NO_DIFFERENCE for each in compared):
        words.append(f"{_NOT_SEEN} no difference seen. ")
    if any(each.verdict == IDENTICAL for each in compared):
        words.append(f"{_SAME} identical in every pair. ")
    if any(each.ratio is None and each.difference for each in compared if each.metric.role == "first"):
        words.append("With a sign: a difference, where a figure that is 0 has no ratio. ")
    if any(each.metric.role != "further" and not each.pairs and any(each.doubtful) for each in compared):
        words.append("(In brackets) of runs that do not count. ")
    return "".join(words).rstrip()


def _left_out(compared: Sequence[Comparison]) -> list[RenderableType]:
    lines: list[str] = []
    by_thing = _by_thing(compared)
    for key, words in _REASONS.items():
        counts = [f"{name} {count}" for name, out in by_thing.items() if (count := getattr(out, key))]
        if counts:
            lines.append(f"Runs {words.format(each=_alike(compared))}: {', '.join(counts)}.")
    for each in compared:
        if each.point is None and each.left_out.not_finished:
            lines.append(
                f"{each.name}: {each.metric.name} was not done by the run's end in "
                f"{plural(each.left_out.not_finished, 'pair')}; the others are the quicker ones."
            )
    for each in compared:
        if each.metric.role == "first" and each.single_points:
            lines.append(
                f"{each.name}: of all points {plural(each.single_points, 'point')} with a single pair, "
                "which does not show chance."
            )
    names = dict.fromkeys(
        f"{each.metric.name} ({each.name})"
        for each in compared
        if each.point is None and each.one_sided and each.metric.role != "further"
    )
    if names:
        lines.append(f"Figures that only one of the two has: {', '.join(names)}.")
    if not lines:
        return []
    return [Text("\nLeft out", style="bold"), *(Text(line) for line in lines)]


def _by_thing(compared: Sequence[Comparison]) -> dict[str, LeftOut]:
    """Whatever the figure, so of a thing once."""
    tried = {each.thing.name: each.thing for each in compared}
    return {name: together(place.left_out for place in matched(thing)) for name, thing in tried.items()}
