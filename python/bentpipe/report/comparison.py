"""Sweeps side by side: a row per workload and point, a column per sweep and variant.

Of variants that the sweeps have in common each has rows of its own instead, and a sweep one column.
"""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.charts.wording import digits, short_names, value
from bentpipe.report import columns, terminal
from bentpipe.results.cells import Cell, cells, swept_keys
from bentpipe.results.speed_up import things_tried
from bentpipe.results.store import Results

Row = tuple[str, ...]
Column = tuple[str, str]
"""Number of the sweep, and variant where that is no row."""


def table(sweeps: Sequence[Results]) -> RenderableType:
    """One table per kind of work. The first column is what the others' ratios are of.

    Things tried in one sweep are compared as its own table does: side by side, with their speed-up.
    """
    found = [(sweep, cell) for sweep in enumerate(sweeps) for cell in cells(sweep[1].runs)]
    if len(sweeps) == 1 and things_tried([cell for _, cell in found]):
        return terminal.table(sweeps[0])
    keys = swept_keys([run for sweep in sweeps for run in sweep.runs])
    kinds = dict.fromkeys(cell.kind.name for _, cell in found)
    in_rows = _variants_in_rows(sweeps)
    first = (*(["variant"] if in_rows else []), *short_names(keys).values(), "workload")
    parts: list[RenderableType] = []
    for kind in kinds:
        heads: dict[Column, str] = {}
        rows: dict[Row, dict[Column, Cell]] = {}
        for (number, sweep), cell in found:
            if cell.kind.name == kind:
                column = (str(number), "" if in_rows else cell.variant)
                names = [sweep.folder.name] if len(sweeps) > 1 else []
                heads[column] = "\n".join([*names, *([] if in_rows else [cell.variant])])
                point = (value(cell.point.get(key, "")) for key in keys)
                row = (*([cell.variant] if in_rows else []), *point, cell.workload)
                rows.setdefault(row, {})[column] = cell
        parts.append(_of_kind(rows, heads, first))
    note = "Medians; in brackets where every run of the cell failed or is unreliable."
    return Group(*parts, Text(note, style="dim"))


def _variants_in_rows(sweeps: Sequence[Results]) -> bool:
    """Whether sweeps have variants in common, of which each is then compared with itself."""
    variants = [{run.get("variant", "as is") for run in sweep.runs} for sweep in sweeps]
    return len(sweeps) > 1 and len(set.union(*variants)) > 1 and bool(set.intersection(*variants))


def _of_kind(
    rows: Mapping[Row, Mapping[Column, Cell]], heads: Mapping[Column, str], first: Sequence[str]
) -> Table:
    """All by the measure of the first cell, and in its unit."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in first:
        drawn.add_column(head, no_wrap=True)
    some = next(iter(next(iter(rows.values())).values()))
    what = some.unit if some.measure.name == "goodput" else f"{some.measure.header} {some.unit}"
    for position, head in enumerate(heads.values()):
        drawn.add_column(f"{head}\n{what}", justify="right")
        if position:
            drawn.add_column("\nratio", justify="right", style="dim")
    for row, by_column in rows.items():
        values: list[str] = []
        base = None
        for position, column in enumerate(heads):
            cell = by_column.get(column)
            ours = cell.shown(some.measure, some.unit) if cell else None
            doubtful = cell.shown(some.measure, some.unit, doubtful=True) if cell else None
            values.append(columns.median_or_doubtful(ours, doubtful) if cell else "")
            if position:
                values.append(digits(ours.median / base.median) if ours and base and base.median else "–")
            else:
                base = ours
        drawn.add_row(*map(Text, (*row, *values)))
    return drawn
