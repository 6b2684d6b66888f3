"""Files that tune writes, atomically: a crash leaves each file complete or absent.

A file is written beside its place, flushed to the disk (fsync), and renamed; then its folder is flushed.
"""

import fcntl
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bentpipe.errors import TuneError
from bentpipe.tune.settings import HELD

ROOT_VARIABLE = "BENTPIPE_TUNE_ROOT"
_BESIDE = ".new"
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Places:
    """The files of tune, below a folder that is `/` except in tests."""

    root: Path
    is_option: bool = False
    """Whether `--root` named it. Commands that a message proposes then have that option too."""

    @classmethod
    def below(cls, root: str | None) -> "Places":
        return cls(Path(root or os.environ.get(ROOT_VARIABLE) or "/").absolute(), bool(root))

    def command(self, options: str) -> str:
        """`bentpipe tune` with these options, for the same files."""
        root = f" --root {shlex.quote(str(self.root))}" if self.is_option else ""
        return f"bentpipe tune {options}{root}"

    @property
    def is_redirected(self) -> bool:
        return self.root != Path("/")

    @property
    def drop_in(self) -> Path:
        """Read last of its folder, so that what other files there set does not undo it."""
        return self.root / "etc/sysctl.d/99-zz-bentpipe-tune.conf"

    @property
    def folder(self) -> Path:
        return self.root / "var/lib/bentpipe-tune"

    @property
    def journal(self) -> Path:
        return self.folder / "journal.json"


def write_whole(file: Path, content: bytes, mode: int = 0o644) -> None:
    beside = file.with_name(file.name + _BESIDE)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(descriptor, mode)
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)
    beside.replace(file)
    flush_folder(file.parent)


def remove(file: Path) -> None:
    """The file, and what an interrupted writing left beside it."""
    for each in (file.with_name(file.name + _BESIDE), file):
        each.unlink(missing_ok=True)
    if file.parent.is_dir():
        flush_folder(file.parent)


def remove_unfinished(file: Path) -> None:
    file.with_name(file.name + _BESIDE).unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """The folder and those above it. Raises TuneError where one cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TuneError(f"{folder}: cannot make this folder: {error.strerror}") from error


def missing_folders(folder: Path) -> list[Path]:
    """Those on the way to it that are not there, the deepest first."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    return missing


@contextmanager
def only_one(places: Places, wait_s: float = 0.0) -> Iterator[None]:
    """Holds tune's folder. The lock ends with this process and with what it started (settings.HELD).

    The folder is removed at the end if it is empty. Raises TuneError where another process still holds it
    after `wait_s`.
    """
    folder, end = places.folder, time.monotonic() + wait_s
    while True:
        make_folder(folder)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # another process removed it just now
        except OSError as error:
            raise TuneError(f"{folder}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() < end:
                time.sleep(_LOOK_EVERY_S)
                continue
            raise TuneError(
                "another bentpipe tune is at work on this host; wait until it has ended"
            ) from None
        with suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == folder.stat().st_ino:
                break
        os.close(descriptor)
    HELD.add(descriptor)
    try:
        yield
    finally:
        HELD.discard(descriptor)
        with suppress(OSError):
            folder.rmdir()
        os.close(descriptor)
