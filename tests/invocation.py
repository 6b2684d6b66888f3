"""The command line as a user meets it: called in this process, or started as a process of its own.

A call costs a fiftieth of a start, and runs the same code from the parsing of arguments on. A claim about a
process (its streams, its signals, what it loads) starts one.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unittest import mock

from bentpipe.cli.app import app
from waiting import LONG_S

PLAIN = """
title = "A plain lab"
until = "done"
[path]
rtt = "20 ms"
rate = "20 Mbit/s"
[[workload]]
name = "rtt"
kind = "ping"
count = 3
interval = "50 ms"
"""
_UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""Warnings that Python shows nobody who has not asked for them."""


@dataclass(frozen=True)
class Said:
    status: int
    stdout: str
    stderr: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.stdout.splitlines()]


Command = Callable[..., Said]


def started(
    arguments: Sequence[str], folder: Path, by: Sequence[str] = ("-m", "bentpipe"), **more: Any
) -> Said:
    """`bentpipe` as a process of its own. `by`: what Python is to run."""
    ended = subprocess.run(
        [sys.executable, *by, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
        **more,
    )
    return Said(ended.returncode, ended.stdout, ended.stderr)


def called(arguments: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Said:
    """`bentpipe` in this process. An exception that no command answers comes out of it."""
    with ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(2))
        stack.enter_context(chdir(folder))
        stack.enter_context(mock.patch.dict(os.environ, os.environ if env is None else env, clear=True))
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        stack.enter_context(_streams(out, err))
        status = _status(arguments)
        for each in warned:
            if not issubclass(each.category, _UNSEEN):
                print(
                    warnings.formatwarning(each.message, each.category, each.filename, each.lineno), file=err
                )
        return Said(status, *(_whole(stream) for stream in (out, err)))


def _status(arguments: Sequence[str]) -> int:
    try:
        app(list(arguments), prog_name="bentpipe")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


@contextmanager
def _streams(out: IO[str], err: IO[str]) -> Iterator[None]:
    """The three standard streams of the process, descriptors too: what it starts writes there as well."""
    kept = [os.dup(number) for number in range(3)]
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        try:
            for number, stream in enumerate((nothing, out, err)):
                os.dup2(stream.fileno(), number)
            with mock.patch("sys.stdin", nothing), redirect_stdout(out), redirect_stderr(err):
                yield
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _whole(stream: IO[str]) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
