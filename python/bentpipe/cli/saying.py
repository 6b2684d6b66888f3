"""The output of commands: results on stdout, everything else on stderr.

All text from files goes through here on its way to a terminal.
"""

import codecs
import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bentpipe.words.printable import printable, printable_lines

if TYPE_CHECKING:
    from bentpipe.words.console import SafeConsole


_SPACES = dict.fromkeys(map(ord, "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"), " ")


def write_what_the_encoding_lacks() -> None:
    """From here on stdout and stderr escape what their encoding lacks; no-break spaces become plain ones."""
    codecs.register_error("bentpipe", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="bentpipe")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_SPACES)
    return text.encode("ascii", "backslashreplace").decode(), error.end


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
