"""A lab that can be run from Python."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from bentpipe import engines
from bentpipe.engines.base import EngineOptions
from bentpipe.errors import StoreError
from bentpipe.lab import load
from bentpipe.notebook.results import Results
from bentpipe.runs.memory_place import MemoryPlace
from bentpipe.sweep.executors.choice import Where
from bentpipe.sweep.run import execute


class Lab(load.Lab):
    """A lab that can be run: `Lab.load(path).run()`."""

    def run(
        self,
        engine: engines.Name = engines.DEFAULT,
        out: str | Path | None = None,
        jobs: int = 1,
        cluster: str | None = None,
        *,
        seeds: Iterable[int] | None = None,
        keep: str | Path | None = None,
        allow_exec: bool = False,
    ) -> Results:
        """Run every point and return the results.

        Args:
            engine: `sim`, in virtual time on any machine, or `live`, on this machine's kernel (Linux).
            out: `keep` by its older name.
            jobs: how many runs at once on this machine; `live` does one at a time.
            cluster: a Dask scheduler's address, or `local:4`.
            seeds: run each point once with each of these, instead of `repeat` times from the lab's seed on.
            keep: the folder or URL that keeps the runs; an interrupted sweep of the lab in it goes on. None:
                they are in this process's memory, and gone with the results.
            allow_exec: the lab may run its commands (`exec`).

        Raises:
            LabError: for seeds that are none.
            EngineError: for what the engine or this machine cannot do.
            StoreError: for a folder that cannot be used, or holds something else.
            ExecutorError: where the runs can no longer be done.

        What fails within a run raises nothing: its record says so (`status`, `why`).
        """
        if keep is not None and out is not None:
            raise StoreError(f"found keep={str(keep)!r} and out={str(out)!r}; expected one of them")
        the_lab = self if seeds is None else self.with_seeds(seeds)

        def executed(folder: str | Path) -> Results:
            execute(
                the_lab,
                engine=engine,
                out=folder,
                where=Where(jobs, cluster),
                options=EngineOptions(allow_exec=allow_exec),
                on_left_out=lambda variant, why: warnings.warn(
                    f'variant "{variant}" is left out: {why}', stacklevel=5
                ),
                on_warning=lambda words: warnings.warn(words, stacklevel=5),
            )
            return Results.open(folder)

        folder = out if keep is None else keep
        if folder is not None:
            return executed(folder)
        with TemporaryDirectory(prefix="bentpipe-", ignore_cleanup_errors=True) as scratch:
            made = Path(scratch) / self.name
            executed(made)
            return Results.open(MemoryPlace.read(made, self.name))
