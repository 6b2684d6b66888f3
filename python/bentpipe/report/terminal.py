"""The tables on the terminal: a row per cell, ours beside the published; below, why a run does not count.

Without lines: at 80 columns each one would cost a digit.
"""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from bentpipe.report import columns
from bentpipe.report.sheets import Sheet, sheets
from bentpipe.results.store import Results

_WHY_SHOWN = 4
_RUNS_NAMED = 3


def table(results: Results) -> RenderableType:
    """Columns that would hold nothing are left out, so that it fits 80 columns where it can."""
    parts: list[RenderableType] = [Text(results.runs[0].get("title") or "", style="bold")]
    found = sheets(results)
    for sheet in found:
        if len(found) > 1:
            parts.append(Text(f"\n{sheet.title}", style="bold underline"))
        parts.append(_Fitted(sheet))
    return Group(*parts, *_why(results))


class _Fitted:
    """A sheet as wide as the terminal at most, as long as there are columns to spare."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _sheet(self._sheet, options.max_width)


def _sheet(sheet: Sheet, room: int) -> Iterator[RenderableType]:
    """A table for each group under its name, all with the same widths."""
    widths = [max(map(len, header.split("\n"))) for header in sheet.headers]
    for row in (row for _, rows in sheet.groups for row in rows):
        widths = [max(width, len(value)) for width, value in zip(widths, row.values, strict=True)]
    kept = list(range(len(widths)))
    for column in sheet.spare:
        if sum(widths[k] + 1 for k in kept) - 1 > room:
            kept.remove(column)
    gap = 2 if sum(widths[k] + 2 for k in kept) - 2 <= room else 1
    for number, (name, rows) in enumerate(sheet.groups):
        if name:
            yield Text(f"\n{name}" if number else name, style="bold")
        drawn = Table(
            box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", show_header=number == 0
        )
        for column in kept:
            left = sheet.variants and column == 0
            drawn.add_column(
                sheet.headers[column],
                justify="left" if left else "right",
                no_wrap=True,
                min_width=widths[column],
            )
        for row in rows:
            *figures, mark = (row.values[column] for column in kept)
            drawn.add_row(*map(Text, figures), Text(mark, style="bold red" if row.doubtful else ""))
        yield drawn
    if sheet.note:
        yield Text(sheet.note, style="dim")


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
