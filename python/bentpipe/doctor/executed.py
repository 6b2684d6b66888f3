"""A command that is run while its sockets are watched."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from bentpipe.doctor.watching import Watched

_NOT_STARTED, _NOT_FOUND, _SIGNALLED = 126, 127, 128


def own_children() -> Watched:
    """All that this process starts."""
    return Watched("the command's connections", processes=[os.getpid()])


def start(command: Sequence[str], stdout: IO[bytes] | int | None = None) -> "subprocess.Popen[bytes]":
    """With this process's own input and streams. Raises `OSError` where it cannot be started."""
    sys.stdout.flush()
    return subprocess.Popen(command, stdout=stdout)


@contextmanager
def passing_on(command: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Within it a SIGTERM goes to the command, which ends by it. For the main thread."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: command.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def status_of(error: OSError) -> int:
    """As a shell has it for a command that cannot be started."""
    return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_STARTED


def exit_status(ended: int) -> int:
    """As a shell has it: 128 and the signal's number for a command that a signal ended."""
    return _SIGNALLED - ended if ended < 0 else ended
