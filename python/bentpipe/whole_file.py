"""Files that a command writes where its user says: whole or not at all.

A regular file is written beside its name and renamed, so that no reader ever finds half of it. A symbolic
link stays, and what it leads to is replaced. Devices and pipes are written to directly: a rename would put a
regular file in their place.
"""

import os
import stat
from pathlib import Path


def write_whole(file: Path, content: bytes, mode: int | None = None) -> None:
    """`mode`: the file's permissions. Default: those that it has, or a new file's.

    Raises OSError, with the file's name.
    """
    try:
        before = _mode(file)
        if before is not None and not stat.S_ISREG(before):
            file.write_bytes(content)
        else:
            _replace(file.resolve(), content, before if mode is None else mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error


def is_written_through(file: Path) -> bool:
    """Whether it is there and no regular file."""
    before = _mode(file)
    return before is not None and not stat.S_ISREG(before)


def _mode(file: Path) -> int | None:
    """Of what a link leads to; None where nothing is there."""
    try:
        return file.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(file: Path, content: bytes, mode: int | None) -> None:
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
