"""The answer to a question in SQL: a table for the terminal, CSV, or one JSON object per line."""

import csv
import datetime
import io
import json
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from bentpipe.query.questions import Answer, Column
from bentpipe.words.printable import printable, printable_json

_ROWS_SHOWN = 100
_LONGEST = 40
_LEAST_OF_LAST = 8
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "U", "FLOAT", "DOUBLE", "DECIMAL")
_NOTHING = "–"


class Table:
    """Limits an answer to a readable number of rows and columns, with a line on what is omitted."""

    def __init__(self, answer: Answer) -> None:
        self._columns = answer.columns
        self._names = [printable(column.name) for column in answer.columns]
        rows = list(islice(answer.rows(), _ROWS_SHOWN + 1))
        self._more = len(rows) > _ROWS_SHOWN
        self._rows = [[cell(value) for value in row] for row in rows[:_ROWS_SHOWN]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [
            min(max([len(name), *(len(row[k]) for row in self._rows)]), _LONGEST)
            for k, name in enumerate(self._names)
        ]
        kept = _fitting(widths, options.max_width)
        yield self._line(self._names, kept, "dim")
        yield from (self._line(row, kept) for row in self._rows)
        if not self._rows:
            yield Text("No rows.", style="dim")
        left_out = self._names[len(kept) :]
        if left_out:
            yield Text(f"Not shown, for want of width: {', '.join(left_out)}.", style="dim")
        if self._more:
            yield Text(f"The first {_ROWS_SHOWN} rows; --csv or --json gives all.", style="dim")

    def _line(self, cells: Sequence[str], widths: Sequence[int], style: str = "") -> Text:
        """Of the first columns, as many as there are widths."""
        shown = zip(map(_cut, cells, widths), widths, self._columns, strict=False)
        padded = (
            cell.rjust(width) if column.type.startswith(_NUMBERS) else cell.ljust(width)
            for cell, width, column in shown
        )
        return Text("  ".join(padded).rstrip(), style=style, no_wrap=True, overflow="ellipsis")


def csv_lines(answer: Answer) -> Iterator[str]:
    """With a header. Empty: null. A list or an object is JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in _with_first([column.name for column in answer.columns], answer.rows()):
        writer.writerow([_csv(value) for value in row])
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def json_lines(answer: Answer) -> Iterator[str]:
    names = _distinct(answer.columns)
    for row in answer.rows():
        values = {name: _plain(value) for name, value in zip(names, row, strict=True)}
        yield printable_json(values) + "\n"


def _with_first(first: Sequence[Any], rest: Iterator[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    yield first
    yield from rest


def _fitting(widths: Sequence[int], room: int) -> list[int]:
    """The widths of the first columns, as many as there is room for; the last one may be made narrower."""
    kept: list[int] = []
    for width in widths:
        left = room - sum(kept) - 2 * len(kept)
        if width > left and (kept and left < _LEAST_OF_LAST):
            break
        kept.append(min(width, max(left, 1)))
    return kept


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def cell(value: Any) -> str:
    """A value for a reader, on one line."""
    if value is None:
        return _NOTHING
    if isinstance(value, float):
        return _number(value)
    return printable(_csv(value).replace("\n", " "))


def _number(value: float) -> str:
    """Six digits, and all before the point."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"


def _csv(value: Any) -> str:
    if value is None:
        return ""
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(of) for key, of in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(of) for of in value]
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _distinct(columns: Sequence[Column]) -> list[str]:
    """A second column of the same name is `name_1`, as DuckDB calls it."""
    found: list[str] = []
    for column in columns:
        name, number = column.name, 0
        while name in found:
            number += 1
            name = f"{column.name}_{number}"
        found.append(name)
    return found
