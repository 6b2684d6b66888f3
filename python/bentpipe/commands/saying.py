"""What commands say: results on stdout, all else on stderr."""

import sys
from typing import Any

from rich.console import Console


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def width() -> int | None:
    """The terminal's, or enough for a table where stdout is none."""
    return None if sys.stdout.isatty() else 160


def print_table(results: Any) -> None:
    """The table of `Results`."""
    from bentpipe.report.terminal import table  # noqa: PLC0415 - `bentpipe --help` must not wait for it

    Console(width=width()).print(table(results))
