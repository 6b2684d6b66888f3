"""The code of a cluster's worker: it makes runs in its own scratch folder."""

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import metadata
from pathlib import Path

from bentpipe.errors import EngineError
from bentpipe.runs.carried import packed, removed
from bentpipe.runs.place import Place
from bentpipe.runs.record import Record
from bentpipe.sweep import flock
from bentpipe.sweep.executors.base import Task, TaskOutcome, Work, tried

_LOCK = "bentpipe-live.lock"


def do(
    work: Work, batch: tuple[Task, ...], *, live: bool, version: str
) -> list[tuple[TaskOutcome, dict[str, bytes]]]:
    """Do runs and carry them to the sweep's URL; or, where that is a folder of the machine that asked, return
    each run's files. Raises EngineError on a worker that joined with another bentpipe."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    check_version(get_worker().address, metadata.version("bentpipe"), version)
    scratch = Path(get_worker().local_directory) / "runs"
    with _machine_to_itself() if live else nullcontext():
        if Place.of(work.destination).path is None:
            return [(work.attempt(task, scratch), {}) for task in batch]
        return [_packed(work, task, scratch) for task in batch]


def check_version(worker: str, found: str | None, here: str) -> None:
    """Raises EngineError if the worker's version of bentpipe differs; None: it has no bentpipe."""
    if found != here:
        raise EngineError(
            f"--cluster: the worker at {worker} has {f'bentpipe {found}' if found else 'no bentpipe'}, "
            f"and here is {here}; expected the same version on all",
            what="cluster",
            remedy=f"pip install 'bentpipe[cluster]=={here}'",
        )


def _packed(work: Work, task: Task, scratch: Path) -> tuple[TaskOutcome, dict[str, bytes]]:
    files: dict[str, bytes] = {}

    def made() -> Record:
        record = work.do(task, scratch, lambda *_: None)
        with removed(scratch / task.name) as run:
            files.update(packed(run))
        return record

    return tried(made), files


@contextmanager
def _machine_to_itself() -> Iterator[None]:
    """Live runs share a machine's cores, so that each waits for the one before, whichever worker does it."""
    file = Path(tempfile.gettempdir()) / _LOCK
    with suppress(FileExistsError):
        file.touch(exist_ok=False)
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)  # it may be another user's
    try:
        flock.locked(descriptor, math.inf)
        yield
    finally:
        os.close(descriptor)
