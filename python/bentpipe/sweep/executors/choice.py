"""Chooses the executor of a sweep by the user's request, the engine and the place of the runs."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bentpipe.engines.base import Engine
from bentpipe.errors import StoreError
from bentpipe.runs.layout import STAGING_SUFFIX
from bentpipe.sweep.executors.base import Executor, Work
from bentpipe.sweep.executors.one_by_one import OneByOne
from bentpipe.sweep.folder import Claim
from bentpipe.sweep.watching import Watcher

_CLUSTER_SCRATCH = f".cluster{STAGING_SUFFIX}"


@dataclass(frozen=True)
class Where:
    """Where the user wants the runs to be done."""

    jobs: int = 1
    """How many at once on this machine."""
    cluster: str | None = None
    """The address of a Dask scheduler, or `local:4`."""


@contextmanager
def chosen(
    where: Where, work: Work, engine: Engine, claim: Claim, *, runs: int, watcher: Watcher
) -> Iterator[Executor]:
    """The executor for so many runs, as long as this lasts."""
    folder = claim.place.path
    if (where.cluster or where.jobs > 1) and str(claim.place).startswith("memory:"):
        raise StoreError(f"{claim.place}: each process has a memory of its own; use --jobs 1")
    with ExitStack() as stack:
        if where.cluster and runs:
            from bentpipe.sweep.executors.cluster import joined  # noqa: PLC0415 - Dask is an extra, and slow to load

            scratch = folder / _CLUSTER_SCRATCH if folder else _temporary(stack)
            live = not engine.beside_others
            yield stack.enter_context(
                joined(where.cluster, work, live=live, scratch=scratch, watcher=watcher)
            )
            return
        jobs = min(where.jobs, runs)
        if jobs > 1 and not engine.beside_others:
            watcher.say(
                f"{work.engine} does one run at a time: others beside it would share this machine's cores"
            )
            jobs = 1
        # What goes to a URL is made here first.
        carried_from = None if folder else _temporary(stack)
        if jobs <= 1:
            yield OneByOne(work, carried_from)
            return
        from bentpipe.sweep.executors.processes import Processes  # noqa: PLC0415 - loads multiprocessing

        yield Processes(work, carried_from, jobs, claim.lock)


def _temporary(stack: ExitStack) -> Path:
    return Path(
        stack.enter_context(tempfile.TemporaryDirectory(prefix="bentpipe-", ignore_cleanup_errors=True))
    )
