"""A command that is run while its sockets are watched."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from bentpipe.doctor.watching import Watched
from bentpipe.errors import EngineError

_SIGNALLED = 128


def own_children() -> Watched:
    """All that this process starts."""
    return Watched("the command's connections", processes=[os.getpid()])


def start(command: Sequence[str], stdout: IO[bytes] | int | None = None) -> "subprocess.Popen[bytes]":
    """With this process's own input and streams. Raises `EngineError` where it cannot be started."""
    sys.stdout.flush()
    try:
        return subprocess.Popen(command, stdout=stdout)
    except OSError as error:
        raise EngineError(f"--exec: {command[0]}: {error.strerror or error}") from None


@contextmanager
def passing_on(command: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Within it a SIGTERM goes to the command, which ends by it. For the main thread."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: command.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_status(ended: int) -> int:
    """As a shell has it: 128 and the signal's number for a command that a signal ended."""
    return _SIGNALLED - ended if ended < 0 else ended
