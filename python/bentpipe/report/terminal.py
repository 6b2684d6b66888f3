"""The table on the terminal: a row per cell, ours beside the published; below, why a run does not count."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bentpipe.charts.wording import digits
from bentpipe.report import columns
from bentpipe.results.cells import Cell, cells, swept_keys
from bentpipe.results.store import Results

_WHY_SHOWN = 4
_RUNS_NAMED = 3


def table(results: Results) -> RenderableType:
    """Columns that would hold nothing are left out, so that it fits 80 columns where it can."""
    title = Text(results.runs[0].get("title") or "", style="bold")
    found = cells(results.runs)
    measured = _by_variant(found, swept_keys(results.runs)) if found else [_by_run(results)]
    note = columns.coverage(found)
    return Group(title, *measured, *([Text(note, style="dim")] if note else []), *_why(results))


def _by_variant(found: Sequence[Cell], keys: Sequence[str]) -> list[RenderableType]:
    """A table for each variant under its name, all with the same widths."""
    variants = list(dict.fromkeys(c.variant for c in found))
    headers = columns.headers(found, keys)
    rows = {id(cell): columns.row(cell, headers, keys) for cell in found}
    widths = [max(len(line) for line in header.split("\n")) for header in headers.values()]
    for row in rows.values():
        widths = [max(width, len(value)) for width, value in zip(widths, row, strict=True)]
    parts: list[RenderableType] = []
    for number, variant in enumerate(variants):
        if len(variants) > 1:
            parts.append(Text(f"\n{variant}" if number else variant, style="bold"))
        drawn = _table(gap=1 if "interval" in headers else 2, header=number == 0)
        for header, width in zip(headers.values(), widths, strict=True):
            drawn.add_column(header, justify="right", no_wrap=True, min_width=width)
        for cell in found:
            if cell.variant == variant:
                *figures, mark = rows[id(cell)]
                drawn.add_row(*map(Text, figures), Text(mark, style="bold red" if cell.left_out else ""))
        parts.append(drawn)
    return parts


def _table(gap: int, header: bool = True) -> Table:
    """Without lines: at 80 columns each one would cost a digit."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", show_header=header)


def _by_run(results: Results) -> Table:
    """For a lab without a bulk transfer: every workload's own figures, run by run."""
    drawn = _table(gap=2)
    drawn.add_column("run")
    drawn.add_column("workload")
    for header in ("sent", "lost", "min\nms", "median\nms", "max\nms"):
        drawn.add_column(header, justify="right", no_wrap=True)
    for run in results.runs:
        for name, figures in run.get("workloads", {}).items():
            values = [figures.get(key) for key in ("sent", "lost", "min_ms", "median_ms", "max_ms")]
            shown = ["–" if value is None else digits(float(value), 4) for value in values]
            drawn.add_row(*map(Text, (run["run"], name, *shown)))
    return drawn


def _why(results: Results) -> list[RenderableType]:
    reasons = columns.reasons(results.runs)
    if not reasons:
        return []
    lines: list[RenderableType] = [Text("")]
    for why, names in reasons[:_WHY_SHOWN]:
        more = f" and {len(names) - _RUNS_NAMED} more" if len(names) > _RUNS_NAMED else ""
        who = ", ".join(names[:_RUNS_NAMED]) + more
        lines.append(Text.assemble(("! ", "bold red"), (f"{who}: ", "bold"), why))
    if len(reasons) > _WHY_SHOWN:
        lines.append(
            Text(f"! {len(reasons) - _WHY_SHOWN} other reasons; the page of `bentpipe report` has all")
        )
    lines.append(
        Text(
            "Runs that failed or are unreliable count in no figure; (in brackets) what they gave.",
            style="dim",
        )
    )
    return lines
