"""Tables of a report as text and as HTML. All text from files is escaped."""

import io
from html import escape

from rich.console import RenderableType

from bentpipe.console import SafeConsole
from bentpipe.report.sheets import Sheet

_WIDTH = 110
_ROWS = 60


def as_text(shown: RenderableType) -> str:
    """As on a terminal, without colours."""
    # In a notebook rich would show it there and then, instead of writing it.
    console = SafeConsole(
        file=io.StringIO(), width=_WIDTH, highlight=False, force_terminal=False, force_jupyter=False
    )
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().rstrip()


def as_html(sheet: Sheet) -> str:
    """The first rows, with what is said below them."""
    cut = sheet.first(_ROWS)
    heads = "".join(f"<th>{_lines(header)}</th>" for header in cut.headers)
    parts = [f"<table><thead><tr>{heads}</tr></thead><tbody>"]
    for name, rows in cut.groups:
        if name:
            parts.append(f'<tr><th colspan="{len(cut.headers)}">{escape(name)}</th></tr>')
        for row in rows:
            parts.append(f"<tr>{''.join(f'<td>{escape(value)}</td>' for value in row.values)}</tr>")
    parts.append("</tbody></table>")
    more = f"The first {_ROWS} of {sheet.length} rows. " if sheet.length > _ROWS else ""
    if words := f"{more}{cut.legend}".strip():
        parts.append(paragraph(words))
    return "".join(parts)


def paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def _lines(header: str) -> str:
    return "<br>".join(escape(line) for line in header.split("\n"))
