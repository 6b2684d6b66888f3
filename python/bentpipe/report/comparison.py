"""Sweeps side by side: a row per workload and point, a column per sweep and variant."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.charts.wording import digits, short_names, value
from bentpipe.report import columns
from bentpipe.results.cells import Cell, cells, swept_keys
from bentpipe.results.store import Results

Row = tuple[str, ...]
Column = tuple[str, str]
"""Number of the sweep, and variant."""


def table(sweeps: Sequence[Results]) -> RenderableType:
    """One table per kind of work. The first column is what the others' ratios are of."""
    found = [(sweep, cell) for sweep in enumerate(sweeps) for cell in cells(sweep[1].runs)]
    keys = swept_keys([run for sweep in sweeps for run in sweep.runs])
    kinds = dict.fromkeys(cell.kind.name for _, cell in found)
    parts: list[RenderableType] = []
    for kind in kinds:
        several = len(sweeps) > 1
        heads: dict[Column, str] = {}
        rows: dict[Row, dict[Column, Cell]] = {}
        for (number, sweep), cell in found:
            if cell.kind.name == kind:
                column = (str(number), cell.variant)
                heads[column] = f"{sweep.folder.name}\n{cell.variant}" if several else cell.variant
                row = (*(value(cell.point.get(key, "")) for key in keys), cell.workload)
                rows.setdefault(row, {})[column] = cell
        parts.append(_of_kind(rows, heads, (*short_names(keys).values(), "workload")))
    note = "Medians; in brackets where every run of the cell failed or is unreliable."
    return Group(*parts, Text(note, style="dim"))


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
