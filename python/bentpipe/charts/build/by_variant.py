"""The figures of each variant beside the published ones: a row per variant, a mark per value."""

from collections.abc import Sequence
from math import isfinite

from bentpipe.analysis.cells import Cell, cells, typical_first
from bentpipe.analysis.speed_up import CellPlace, place, things_tried
from bentpipe.analysis.units import per_unit
from bentpipe.charts.description import Axis, Chart, Mark, Panel, Role, Series, Symbol
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.wording import point_words


def build(results: Results) -> list[Chart]:
    """One chart per kind of work of which figures were published, where variants stand side by side."""
    found = [cell for cell in cells(results.records) if cell.ours or cell.ours_doubtful]
    kinds = dict.fromkeys(cell.kind.name for cell in found if cell.published)
    charts = []
    for kind in kinds:
        here = [cell for cell in found if cell.kind.name == kind]
        if things_tried(here):
            charts.append(_chart(here))
    return charts


def _chart(found: Sequence[Cell]) -> Chart:
    places: dict[CellPlace, list[Cell]] = {}
    for cell in found:
        places.setdefault(place(cell), []).append(cell)
    first = found[0]
    what = {"fetch": "Time of a fetch", "goodput": "Goodput"}.get(first.measure.name, first.measure.header)
    return Chart(
        name=f"by-variant-{first.kind.name}",
        title=f"{what}, ours and published",
        sentence="",
        x=Axis(what.lower(), first.unit),
        panels=tuple(_panel(cells_, several=len(places) > 1) for cells_ in places.values()),
    )


def _panel(found: Sequence[Cell], several: bool) -> Panel:
    title = ", ".join([*point_words(found[0].point), found[0].workload]) if several else ""
    rows = Axis("", "", categories=tuple(cell.variant for cell in found))
    series = (_published(found), *_ours(found))
    return Panel(
        f"{found[0].workload}-{title}", title, _sentence(found), rows, tuple(s for s in series if s.x)
    )


def _ours(found: Sequence[Cell]) -> list[Series]:
    """Each value, and the median with its interval."""
    each: list[tuple[float, int, str]] = []
    unsure: list[tuple[float, int, str]] = []
    for row, cell in enumerate(found):
        factor = per_unit(cell.measure.unit, cell.unit)
        for run in cell.runs:
            measured = cell.measure.values(run, cell.workload)
            values = [(value * factor, row, run["run"]) for value in measured if isfinite(value)]
            (unsure if run in cell.left_out else each).extend(values)
    known = [(row, cell.ours) for row, cell in enumerate(found) if cell.ours and cell.ours.bounded]
    many = any(ours.count > 1 for _, ours in known)
    sure = any(ours.has_interval for _, ours in known)
    role = Role(found[0].direction)
    return [
        Series(
            f"ours, median of {'fetches' if found[0].measure.each == 'fetch' else 'runs'}"
            if many
            else "ours",
            [ours.median for _, ours in known],
            [row for row, _ in known],
            role,
            Mark.POINTS,
            low=[ours.ends[0] for _, ours in known] if sure else None,
            high=[ours.ends[1] for _, ours in known] if sure else None,
            runs=[typical_first(found[row], found[row].measure) for row, _ in known],
        ),
        Series(
            f"each {found[0].measure.each}",
            [x for x, *_ in each] if many else [],
            [row for _, row, _ in each] if many else [],
            role,
            Mark.POINTS,
            symbol=Symbol.STROKE,
            faint=True,
            runs=[(run,) for *_, run in each] if many else [],
        ),
        Series(
            "unreliable",
            [x for x, *_ in unsure],
            [row for _, row, _ in unsure],
            role,
            Mark.POINTS,
            hollow=True,
            runs=[(run,) for *_, run in unsure],
        ),
    ]


def _published(found: Sequence[Cell]) -> Series:
    points = [
        (value, row) for row, cell in enumerate(found) if cell.published for value in cell.published.values
    ]
    return Series(
        "published",
        [x for x, _ in points],
        [row for _, row in points],
        Role.PUBLISHED,
        Mark.POINTS,
        symbol=Symbol.DIAMOND,
    )


def _sentence(found: Sequence[Cell]) -> str:
    """Which published figure is matched, and by how much the others are missed."""
    parts = []
    for cell in found:
        if cell.published and cell.ours and cell.ratio is not None:
            inside = cell.published.low <= cell.ours.median <= cell.published.high
            how = "within the published range" if inside else f"{digits(cell.ratio, 2)} times the published"
            parts.append(f"{cell.variant}: {digits(cell.ours.median)} {cell.unit}, {how}")
    return "; ".join(parts) + "." if parts else "None of these was published."
