"""Goodput of the bulk transfers against the path's round trip: ours per variant, published, and the ceiling.

The ceiling is what the link, the buffers and the delay line allow, as `bentpipe calc` reckons it
(ceilings.py).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bentpipe.analysis.cells import Cell, cells, typical_first
from bentpipe.analysis.published import figures
from bentpipe.analysis.statistics import Estimate
from bentpipe.charts.build.ceilings import Ceiling
from bentpipe.charts.description import Axis, Chart, Dash, Mark, Panel, Role, Series, Symbol
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.direction import Direction
from bentpipe.words.wording import duration, listed, plural, rate

_DIRECTIONS = {Direction.DOWN: "Down: server to client", Direction.UP: "Up: client to server"}
_STYLES = tuple(zip(Symbol, (Dash.SOLID, Dash.DASHED, Dash.DOTTED, Dash.DASH_DOT), strict=False))
_ON_THE_AXES = ("rtt", "delay", "direction")
"""Last words of the swept keys that the axes and the panels show already."""


@dataclass(frozen=True)
class _Line:
    """Cells that differ in their round trip only, by it."""

    name: str
    symbol: Symbol
    dash: Dash
    cells: tuple[Cell, ...]

    def of(self, direction: Direction) -> "_Line":
        found = tuple(c for c in self.cells if c.direction == direction)
        return _Line(self.name, self.symbol, self.dash, found)

    @property
    def measured(self) -> list[Cell]:
        return [c for c in self.cells if _ours(c)]

    @property
    def doubtful(self) -> list[Cell]:
        return [c for c in self.cells if not _ours(c)]


def build(results: Results, log: bool) -> Chart | None:
    """None where fewer than two round trips were measured, since a single point shows no dependence;
    nor where there are more lines than can be told apart (lines.py draws some of them)."""
    drawn = [c for c in cells(results.records) if _on_a_round_trip_axis(c) and (_ours(c) or _unsure(c))]
    rtts = sorted({_rtt(c) for c in drawn})
    if len(rtts) < 2:
        return None
    lines = _lines(drawn)
    if len(lines) > len(_STYLES):
        return None
    key = next((found for run in results.records if (found := run.get("published"))), "")
    panels = []
    for direction in (d for d in _DIRECTIONS if any(c.direction == d for c in drawn)):
        here = [line for line in (line.of(direction) for line in lines) if line.cells]
        series = (*_measured(here), *_unreliable(here), *_published(key, direction), *_ceilings(here))
        title = _DIRECTIONS[direction]
        panels.append(Panel(direction, title, sentence(here), Axis("goodput", "Mbit/s", log), series))
    return Chart(
        name=f"throughput-rtt-{'log' if log else 'linear'}",
        title="Goodput against round-trip time",
        sentence=" ".join(filter(None, (_finding(lines[0]), _warning(drawn)))),
        x=Axis("base round-trip time", "ms", log, tuple(rtt * 1000 for rtt in rtts) if log else None),
        panels=tuple(panels),
        side_by_side=True,
    )


def _lines(drawn: Sequence[Cell]) -> list[_Line]:
    """One line per variant and per value of the other swept keys."""
    workloads = {(c.workload, c.direction) for c in drawn}
    several = len(workloads) > len({direction for _, direction in workloads})
    grouped: dict[str, list[Cell]] = {}
    for cell in drawn:
        last = {key.rpartition(".")[2]: value for key, value in cell.point.items()}
        rest = [f"{word} {value}" for word, value in last.items() if word not in _ON_THE_AXES]
        name = ", ".join([cell.variant, *rest, *([cell.workload] if several else [])])
        grouped.setdefault(name, []).append(cell)
    return [
        _Line(name, *_STYLES[number % len(_STYLES)], tuple(sorted(found, key=_rtt)))
        for number, (name, found) in enumerate(grouped.items())
    ]


def _finding(line: _Line) -> str:
    """The headline: how far goodput falls with the round trip, for the lab as it is."""
    falls = []
    for direction in _DIRECTIONS:
        measured = line.of(direction).measured
        if len(measured) > 1 and _goodput(measured[0]) > 0 and _goodput(measured[-1]) > 0:
            falls.append((direction, measured[0], measured[-1]))
    if not falls:
        return ""
    by_span: dict[str, list[str]] = {}
    for direction, first, last in falls:
        span = f"From {duration(_rtt(first))} to {duration(_rtt(last))} of round trip"
        by_span.setdefault(span, []).append(
            f"from {rate(_goodput(first) * 1e6)} to {rate(_goodput(last) * 1e6)} {direction}, "
            f"{digits(_goodput(first) / _goodput(last), 2)} times less"
        )
    text = ". ".join(f"{span}, goodput goes {', and '.join(parts)}" for span, parts in by_span.items())
    return text + ("; the path's rate is the same." if _same_rate(line.cells) else ".")


def _warning(drawn: Sequence[Cell]) -> str:
    count = sum(_ours(c) is None for c in drawn)
    if count == len(drawn):
        return (
            "No cell has a reliable run, so nothing is concluded; the hollow marks show what the runs gave."
        )
    verb = "does" if count == 1 else "do"
    return f"{plural(count, 'cell')} (hollow) had unreliable runs only and {verb} not count." if count else ""


def sentence(lines: Sequence[_Line]) -> str:
    """What one direction shows: the range of each line, and the ratio to the published figures."""
    parts = []
    for line in lines:
        if measured := line.measured:
            ends = measured if len(measured) == 1 else (measured[0], measured[-1])
            at = [f"{rate(_goodput(c) * 1e6)} at {duration(_rtt(c))}" for c in ends]
            parts.append(f"{line.name}: {', '.join(at)}")
    text = "; ".join(parts) + "." if parts else "No run counts."
    ratios = [c.ratio for c in lines[0].cells if c.ratio is not None]
    if ratios:
        span = " to ".join(dict.fromkeys(digits(ratio, 2) for ratio in (min(ratios), max(ratios))))
        text += f" {lines[0].name} gives {span} times the published goodput."
    return text


def _measured(lines: Sequence[_Line]) -> Iterable[Series]:
    for line in lines:
        estimates = [ours for ours in map(_ours, line.cells) if ours is not None]
        sure = any(e.has_interval for e in estimates)
        if estimates:
            yield Series(
                label=line.name,
                x=[_rtt(c) * 1000 for c in line.measured],
                y=[e.median for e in estimates],
                role=Role(line.cells[0].direction),
                mark=Mark.LINE_AND_POINTS,
                dash=line.dash,
                symbol=line.symbol,
                low=[e.ends[0] for e in estimates] if sure else None,
                high=[e.ends[1] for e in estimates] if sure else None,
                runs=[typical_first(c, c.kind.measure("goodput")) for c in line.measured],
            )


def _unreliable(lines: Sequence[_Line]) -> Iterable[Series]:
    """Not joined; each with its line's symbol, hollow."""
    for line in lines:
        if line.doubtful:
            yield Series(
                label=f"{line.name}, unreliable",
                x=[_rtt(c) * 1000 for c in line.doubtful],
                y=[unsure.median for unsure in map(_unsure, line.doubtful) if unsure],
                role=Role(line.cells[0].direction),
                mark=Mark.POINTS,
                symbol=line.symbol,
                hollow=True,
                runs=[typical_first(c, c.kind.measure("goodput")) for c in line.doubtful],
            )


def _published(key: str, direction: Direction) -> Iterable[Series]:
    found = [(f.rtt_s, f.median) for f in figures(key) if f.direction == direction and f.rtt_s]
    if found:
        yield Series(
            label="published",
            x=[rtt_s * 1000 for rtt_s, _ in found],
            y=[goodput for _, goodput in found],
            role=Role.PUBLISHED,
            mark=Mark.POINTS,
            symbol=Symbol.DIAMOND,
        )


def _ceilings(lines: Sequence[_Line]) -> Iterable[Series]:
    """What allows the same at every round trip is one line."""
    rtts = [_rtt(c) for line in lines for c in line.cells]
    if not rtts:
        return
    grid = _spaced(min(rtts), max(rtts), 60)
    found: dict[tuple[float, ...], list[tuple[_Line, Ceiling]]] = {}
    for line in lines:
        cell = line.cells[0]
        ceiling = Ceiling(cell.runs[0], cell.workload, cell.direction)
        if ceiling.is_known:
            allowed = tuple(float(f"{ceiling.goodput_bit_s(rtt_s) / 1e6:.4g}") for rtt_s in grid)
            found.setdefault(allowed, []).append((line, ceiling))
    for allowed, sharing in found.items():
        of = f", {listed([line.name for line, _ in sharing])}" if len(sharing) < len(lines) else ""
        yield Series(
            label=f"allowed by {sharing[0][1].words(grid[-1])}{of}",
            x=[rtt * 1000 for rtt in grid],
            y=list(allowed),
            role=Role.CEILING,
            dash=sharing[0][0].dash,
            sets_range=False,
            faint=True,
        )


def _spaced(low: float, high: float, count: int) -> list[float]:
    step = math.log(high / low) / (count - 1)
    return [low * math.exp(step * i) for i in range(count)]


def _rtt(cell: Cell) -> float:
    return cell.rtt_s or 0.0


def _goodput(cell: Cell) -> float:
    ours = _ours(cell)
    return ours.median if ours else 0.0


def _ours(cell: Cell) -> Estimate | None:
    """Goodput in Mbit/s."""
    return cell.figures.get("goodput")


def _unsure(cell: Cell) -> Estimate | None:
    """The same of runs that do not count."""
    return cell.doubtful.get("goodput")


def _on_a_round_trip_axis(cell: Cell) -> bool:
    """A transfer where the lab swept the round trip itself; paths that differ in more are no series."""
    swept = {key.rpartition(".")[2] for key in cell.point}
    return cell.kind.name == "bulk" and bool(cell.rtt_s) and not swept.isdisjoint({"rtt", "delay"})


def _same_rate(line: Sequence[Cell]) -> bool:
    paths = [c.runs[0].get("spec", {}).get("path", {}) for c in line]
    shapers = {repr([path.get(pipe, {}).get("shaper") for pipe in _DIRECTIONS]) for path in paths}
    return len(shapers) == 1 and "None" not in shapers.pop()
