"""Turns errors into a message on stderr and an exit status."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from bentpipe import interruption
from bentpipe.cli.saying import say
from bentpipe.errors import (
    ComparisonError,
    EngineError,
    EngineFaultError,
    ExecutorError,
    LabError,
    MissingExtraError,
    StoreError,
    TuneError,
)

FAILED = 1
WRONG = 2


_WRONG_FILES = (PermissionError, FileNotFoundError, IsADirectoryError, NotADirectoryError)


@contextmanager
def to_errors(command: str | None) -> Iterator[None]:
    """Handles the errors that a command raises."""
    try:
        yield
    except (EngineFaultError, ExecutorError) as error:
        fail(f"bentpipe: {error}", FAILED)
    except (LabError, EngineError, StoreError, ComparisonError, TuneError, MissingExtraError) as error:
        fail(f"bentpipe: {error}", WRONG)
    except KeyboardInterrupt:
        fail(interruption.said(), interruption.INTERRUPTED)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # whoever read our output has gone: the end is quiet
        place = f"{error.filename}: " if error.filename else ""
        lost = (
            "; the run under way is discarded, those that were finished are kept" if command == "run" else ""
        )
        # 1 says that `doctor --expect` does not hold.
        status = WRONG if command == "doctor" and isinstance(error, _WRONG_FILES) else FAILED
        fail(f"bentpipe: {place}{error.strerror or error}{lost}", status)


@contextmanager
def to_the_end() -> Iterator[None]:
    """Ends as typer does if the reader of our output has gone, or if a question gets no answer."""
    try:
        yield
    except EOFError:
        print("\nAborted!", file=sys.stderr)
        sys.exit(FAILED)
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        sys.exit(FAILED)


def fail(message: str, status: int) -> NoReturn:
    say(message)
    sys.exit(status)
