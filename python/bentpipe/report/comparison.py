"""Sweeps side by side: a row per workload and point, a column per sweep and variant."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.charts.wording import digits
from bentpipe.report import columns
from bentpipe.results.cells import Cell, cells, swept_keys
from bentpipe.results.store import Results

Row = tuple[str, ...]
Column = tuple[str, str]


def table(sweeps: Sequence[Results]) -> RenderableType:
    """The first column is what the others' ratios are of."""
    found: dict[Row, dict[Column, Cell]] = {}
    keys = swept_keys([run for sweep in sweeps for run in sweep.runs])
    heads: dict[Column, str] = {}
    for number, sweep in enumerate(sweeps):
        for cell in cells(sweep.runs):
            column = (str(number), cell.variant)
            heads[column] = f"{sweep.folder.name}\n{cell.variant}" if len(sweeps) > 1 else cell.variant
            row = (*(columns.value(cell.point.get(key, "")) for key in keys), cell.workload)
            found.setdefault(row, {})[column] = cell
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in (*columns.short_names(keys).values(), "workload"):
        drawn.add_column(head, no_wrap=True)
    for position, head in enumerate(heads.values()):
        drawn.add_column(f"{head}\nMbit/s", justify="right")
        if position:
            drawn.add_column("\nratio", justify="right", style="dim")
    first = next(iter(heads), None)
    for row, by_column in found.items():
        base = by_column[first].goodput_mbit_s if first in by_column else None
        values: list[str] = []
        for position, column in enumerate(heads):
            measured = by_column.get(column)
            values.append(columns.goodput(measured) if measured else "")
            if position:
                ours = measured.goodput_mbit_s if measured else None
                values.append(digits(ours.median / base.median) if ours and base and base.median else "–")
        drawn.add_row(*map(Text, (*row, *values)))
    note = "Medians; in brackets where every run of the cell failed or is unreliable."
    return Group(drawn, Text(note, style="dim"))
