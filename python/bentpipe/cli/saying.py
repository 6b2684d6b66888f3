"""The output of commands: results on stdout, everything else on stderr.

All text from files goes through here on its way to a terminal.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bentpipe.words.printable import printable, printable_lines

if TYPE_CHECKING:
    from bentpipe.words.console import SafeConsole


def say(message: str) -> None:
    """On stderr. Further lines of a message are indented, so that none of them passes for another message."""
    first, *more = printable_lines(message).split("\n")
    indented = (line if line.startswith("  ") else f"  {line}" for line in more)
    print(first, *indented, sep="\n", file=sys.stderr, flush=True)


def tell(line: str) -> None:
    """A line of a result, on stdout."""
    print(printable(line), flush=True)


def write_lines(lines: Iterable[str]) -> None:
    """What a program may read, on stdout: as it is, save where a terminal shows it."""
    shown = map(printable_lines, lines) if sys.stdout.isatty() else lines
    sys.stdout.writelines(shown)


def width() -> int | None:
    """The terminal's, or enough for a table where stdout is not a terminal."""
    return None if sys.stdout.isatty() else 160


def console() -> "SafeConsole":
    """For tables."""
    from bentpipe.words.console import SafeConsole

    return SafeConsole(width=width(), highlight=False)


def print_table(results: Any, *, full: bool = False) -> None:
    """The table of `Results`: of a long one the first rows, unless all are asked for."""
    from bentpipe.report.terminal import table

    console().print(table(results, full=full))
