"""Files that a command writes where its user says: whole or not at all.

A regular file is written beside its name and renamed, so that no reader ever finds half of it. A symbolic
link stays, and what it leads to is replaced. Devices and pipes are written to directly: a rename would put a
regular file in their place. So is the file that is this process's standard output or error, as `/dev/stdout`
may be: what the process prints later would be lost with the old file.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def write_whole(file: Path, content: bytes, mode: int | None = None) -> None:
    """`mode`: the file's permissions. Default: those that it has, or a new file's.

    Raises OSError, with the file's name.
    """
    try:
        before = _status(file)
        if before is None or _may_be_replaced(before):
            kept = None if before is None else before.st_mode
            _replace(file.resolve(), content, kept if mode is None else mode)
        else:
            with _opened(file, before) as into:
                into.write(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error


def is_written_through(file: Path) -> bool:
    """Whether it is there and is written to as it is."""
    before = _status(file)
    return before is not None and not _may_be_replaced(before)


def _status(file: Path) -> os.stat_result | None:
    """Of what a link leads to; None where nothing is there."""
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _may_be_replaced(of: os.stat_result) -> bool:
    return stat.S_ISREG(of.st_mode) and _own_descriptor(of) is None


def _own_descriptor(of: os.stat_result) -> int | None:
    """The standard output or error, if this file is one of them."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(of, os.fstat(descriptor)):
                return descriptor
    return None


def _opened(file: Path, of: os.stat_result) -> BinaryIO:
    """An own descriptor goes on where the process is in it."""
    own = _own_descriptor(of)
    return file.open("wb") if own is None else os.fdopen(os.dup(own), "wb")


def _replace(file: Path, content: bytes, mode: int | None) -> None:
    # Nobody else can know its name before it is there.
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:100]}.", suffix=".part")
    part = Path(name)
    try:
        os.close(descriptor)
        part.write_bytes(content)
        part.chmod(_new_files_mode() if mode is None else stat.S_IMODE(mode))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _new_files_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
