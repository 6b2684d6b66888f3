"""Files that a command writes where its user says: whole or not at all.

A regular file is written beside its name and renamed, so that no reader ever finds half of it. A symbolic
link stays, and what it leads to is replaced. Devices and pipes are written to directly: a rename would put a
regular file in their place. So is what is named below /dev, such as /dev/stdout, whatever it leads to.
"""

import os
import stat
import tempfile
from pathlib import Path


def write_whole(file: Path, content: bytes, mode: int | None = None) -> None:
    """`mode`: the file's permissions. Default: those that it has, or a new file's.

    Raises OSError, with the file's name.
    """
    try:
        if is_written_through(file):
            with file.open("ab") as into:
                into.write(content)
        else:
            _replace(file.resolve(), content, _mode(file) if mode is None else mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error


def is_written_through(file: Path) -> bool:
    """Whether it is there and no regular file, or a descriptor of this process."""
    before = _mode(file)
    if before is None:
        return False
    return not stat.S_ISREG(before) or file.absolute().is_relative_to("/dev")


def _mode(file: Path) -> int | None:
    """Of what a link leads to; None where nothing is there."""
    try:
        return file.stat().st_mode
    except FileNotFoundError:
        return None


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
