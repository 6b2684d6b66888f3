"""The command line in this process: fast enough for very many requests.

Signals, closed streams and what is loaded at the start need a process of their own: `invocation.bentpipe`.
"""

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

from invocation import Said

from bentpipe.cli.app import app


def bentpipe(arguments: Sequence[str], folder: Path) -> Said:
    """What `bentpipe ARGUMENTS` says in this folder, with neither stdout nor stderr a terminal."""
    with _captured() as (stdout, stderr), contextlib.chdir(folder):
        status = _status(arguments)
    return Said(status, stdout.getvalue(), stderr.getvalue())


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        mock.patch("sys.stdin", io.StringIO()),
        mock.patch.dict("os.environ", {"COLUMNS": "80", "NO_COLOR": "1"}),
    ):
        yield stdout, stderr


def _status(arguments: Sequence[str]) -> int:
    try:
        app(list(arguments), prog_name="bentpipe")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
