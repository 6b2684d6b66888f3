"""The tables on the terminal: a row per cell, beside published figures; below, why runs are excluded.

Without lines: at 80 columns each one would cost a digit.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from bentpipe.report import columns, gateway_words, split_words, tunnel_words
from bentpipe.report.sheets import Sheet, sheets
from bentpipe.runs.store import Results
from bentpipe.words.printable import printable

_WHY_SHOWN = 4
_RUNS_NAMED = 3
_ROWS_ALL = 40
"""More rows, of all tables together, are printed only when asked for."""
_ROWS_FIRST = 8


def table(results: Results, *, full: bool = True) -> RenderableType:
    """Columns that would hold nothing are left out, so that it fits 80 columns where it can.

    Unless `full`, each of several long tables is cut after its first rows, and says so.
    """
    parts: list[RenderableType] = [Text(printable(results.records[0].get("title") or ""), style="bold")]
    found = sheets(results)
    short = not full and sum(sheet.length for sheet in found) > _ROWS_ALL
    for sheet in found:
        if len(found) > 1:
            parts.append(Text(f"\n{sheet.title}", style="bold underline"))
        parts.append(Fitted(sheet.first(_ROWS_FIRST) if short else sheet))
        if short and sheet.length > _ROWS_FIRST:
            parts.append(Text(f"The first {_ROWS_FIRST} of {sheet.length} rows.", style="dim"))
    if short:
        parts.append(
            Text(f"\nAll rows: bentpipe report {printable(str(results.folder))} --full", style="bold")
        )
    for words in (tunnel_words, split_words, gateway_words):
        if said := words.sentence(results.records):
            parts.append(Text(f"\n{said}"))
    return Group(*parts, *_why(results))


class Fitted:
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
    gap = "  " if sum(widths[k] + 2 for k in kept) - 2 <= room else " "
    left = {0} if sheet.variants else set[int]()

    def line(values: Sequence[str]) -> str:
        cells = ((values[k].ljust if k in left else values[k].rjust)(widths[k]) for k in kept)
        return gap.join(cells).rstrip()

    for number, (name, rows) in enumerate(sheet.groups):
        if name:
            yield _line(f"\n{name}" if number else name, style="bold")
        if number == 0:
            yield from (_line(line(words), style="dim") for words in _header_lines(sheet))
        for row in rows:
            drawn = _line(line(row.values))
            if row.doubtful:
                drawn.stylize("bold red", len(drawn) - len(row.values[kept[-1]]))
            yield drawn
    if sheet.legend:
        yield Text(sheet.legend, style="dim")


def _header_lines(sheet: Sheet) -> Iterator[tuple[str, ...]]:
    """As many as the longest header has; the others stand at the bottom."""
    headers = [header.split("\n") for header in sheet.headers]
    most = max(map(len, headers))
    yield from zip(*([""] * (most - len(header)) + header for header in headers), strict=True)


def _line(words: str, style: str = "") -> Text:
    return Text(words, style=style, no_wrap=True, overflow="ellipsis")


def _why(results: Results) -> list[RenderableType]:
    reasons = columns.reasons(results.records)
    if not reasons:
        return []
    lines: list[RenderableType] = [Text("")]
    for why, names in reasons[:_WHY_SHOWN]:
        more = f" and {len(names) - _RUNS_NAMED} more" if len(names) > _RUNS_NAMED else ""
        who = printable(", ".join(names[:_RUNS_NAMED]) + more)
        lines.append(Text.assemble(("! ", "bold red"), (f"{who}: ", "bold"), printable(why)))
    if len(reasons) > _WHY_SHOWN:
        lines.append(
            Text(f"! {len(reasons) - _WHY_SHOWN} other reasons; the page of `bentpipe report` has all")
        )
    lines.append(
        Text(
            "Runs that failed or are unreliable are excluded; their values are in (brackets).",
            style="dim",
        )
    )
    return lines
