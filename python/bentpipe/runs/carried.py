"""Moves a complete run from the folder in which it was made to the folder that keeps it.

Wherever that is, a run is there whole or not at all. A folder of this machine is renamed into place. At a URL
the record comes last: a folder without a record is not a run.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bentpipe.runs.folder import RunFolder, write_file
from bentpipe.runs.layout import RECORD
from bentpipe.runs.place import Place


def packed(run: Path) -> dict[str, bytes]:
    """A run's files by their names."""
    return {file.name: file.read_bytes() for file in sorted(run.iterdir())}


def unpack(files: Mapping[str, bytes], folder: Path, name: str, *, replaces: bool) -> None:
    """Keep a packed run in a folder of this machine."""
    staging = RunFolder.create(folder, name, replaces=replaces)
    try:
        for file, content in files.items():
            write_file(staging.path(file), content)
        staging.put_in_place()
    except BaseException:
        staging.abandon()
        raise


def carry(run: Path, place: Place) -> None:
    """Keep a run at a URL. An existing run there becomes invalid with the first file."""
    (place / RECORD).remove()
    place.make()
    for file in sorted(run.iterdir(), key=lambda file: file.name == RECORD):
        (place / file.name).write_bytes(file.read_bytes())


@contextmanager
def removed(run: Path) -> Iterator[Path]:
    """A run in a scratch folder, which is not there any more afterwards."""
    try:
        yield run
    finally:
        shutil.rmtree(run)
