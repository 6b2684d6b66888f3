"""Tables of a report as HTML. All text from files is escaped."""

from html import escape

from bentpipe.report.sheets import Sheet

_ROWS = 60


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
