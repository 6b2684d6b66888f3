"""Text for a terminal without rich, which takes longer to load than a short command takes."""

import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Literal

from bentpipe.frozen import frozen

Style = Literal["", "bold", "dim"]
_CODES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}
_END = "\x1b[0m"
_BETWEEN = 2
"""Spaces between two columns."""
_LEAST_WIDTH = 10
"""Of what is folded."""


@frozen
class Line:
    text: str
    style: Style = ""

    def folded(self, width: int) -> "list[Line]":
        """In lines of that width, all with its indent."""
        text = self.text.lstrip(" ")
        indent = " " * (len(self.text) - len(text))
        wrapped = textwrap.wrap(text, max(width - len(indent), _LEAST_WIDTH), break_on_hyphens=False)
        return [Line(indent + each, self.style) for each in wrapped] or [Line("")]


@frozen
class Row:
    cells: Sequence[str]
    style: Style = ""


def table(rows: Sequence[Row], right: Sequence[int], width: int) -> list[Line]:
    """The rows in columns, those of the numbers `right` set to the right. The last column is folded."""
    widths = [max(len(row.cells[at]) for row in rows) for at in range(len(rows[0].cells) - 1)]
    last_at = sum(widths) + _BETWEEN * len(widths)
    found = []
    for row in rows:
        set_ = (
            cell.rjust(wide) if at in right else cell.ljust(wide)
            for at, (cell, wide) in enumerate(zip(row.cells, widths, strict=False))
        )
        head = "".join(f"{cell}{' ' * _BETWEEN}" for cell in set_)
        first, *more = Line(row.cells[-1]).folded(width - last_at)
        found += [
            Line(f"{head}{first.text}".rstrip(), row.style),
            *(Line(f"{' ' * last_at}{each.text}", row.style) for each in more),
        ]
    return found


def text(lines: Sequence[Line], *, styled: bool = False) -> str:
    """All in one text."""
    return "\n".join(
        f"{_CODES[line.style]}{line.text}{_END}" if styled and line.style else line.text for line in lines
    )


def terminal_width(otherwise: int) -> int:
    """In characters, of stdout; or what is taken where that is no terminal."""
    if not sys.stdout.isatty():
        return otherwise
    import shutil  # noqa: PLC0415 - only a terminal needs it

    return shutil.get_terminal_size().columns


def shows_styles() -> bool:
    """Whether stdout is a terminal that has them."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
