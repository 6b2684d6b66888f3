"""Tables of a report as HTML. Text from files is escaped, its control and directional characters too."""

from html import escape

from bentpipe.report.sheets import Sheet
from bentpipe.words.printable import printable

_ROWS = 60


def as_html(sheet: Sheet) -> str:
    """The first rows, with what is said below them."""
    cut = sheet.first(_ROWS)
    heads = "".join(f"<th>{_lines(header)}</th>" for header in cut.headers)
    parts = [f"<table><thead><tr>{heads}</tr></thead><tbody>"]
    for name, rows in cut.groups:
        if name:
            parts.append(f'<tr><th colspan="{len(cut.headers)}">{_shown(name)}</th></tr>')
        for row in rows:
            parts.append(f"<tr>{''.join(f'<td>{_shown(value)}</td>' for value in row.values)}</tr>")
    parts.append("</tbody></table>")
    more = f"The first {_ROWS} of {sheet.length} rows. " if sheet.length > _ROWS else ""
    if words := f"{more}{cut.legend}".strip():
        parts.append(paragraph(words))
    return "".join(parts)


def paragraph(words: str) -> str:
    return f"<p>{_shown(words)}</p>"


def _lines(header: str) -> str:
    return "<br>".join(map(_shown, header.split("\n")))


def _shown(text: str) -> str:
    return escape(printable(text))
