"""The runs' parts of a page, drawn by a process for each core.

A process draws one group of runs after another and gives back what the page holds of it, so that no more than
a few runs' samples are in memory at once.
"""

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing.connection import wait
from typing import Any

from bentpipe.charts.description import Chart
from bentpipe.errors import ExecutorError
from bentpipe.fresh_process import FreshContext, FreshProcess, ignore_ctrl_c
from bentpipe.report import run_part, what_if
from bentpipe.report.packing import SAMPLED_RUNS, Map
from bentpipe.runs.record import Record
from bentpipe.runs.store import Results
from bentpipe.words.printable import printable_lines

_WORTH_PROCESSES = 2 * SAMPLED_RUNS
"""Runs from which on it takes less time to begin processes than to draw alone."""


class Parts:
    """Each run's part at a width in pixels; 0: without charts over time. A process opens the folder anew, but
    has the records from its parent (`mapping`)."""

    def __init__(self, results: Results, records: Sequence[Record], *, with_what_if: bool = False) -> None:
        self._results = results
        self._records = records
        self._with_what_if = with_what_if
        self._charts = lru_cache(maxsize=SAMPLED_RUNS)(self._built)

    def __reduce__(self) -> tuple[Any, tuple[str, bool]]:
        return _opened, (str(self._results.folder), self._with_what_if)

    def __call__(self, number: int, pixels: int) -> dict[str, Any]:
        record = self._records[number]
        drawn = (
            run_part.drawn(self._charts(number), pixels)
            if pixels
            else run_part.drawn(run_part.of_engine(record), 1)
        )
        question = {"what_if": what_if.of_run(record) if self._with_what_if else None}
        return {**all_shown(run_part.words(record)), **drawn, **question}

    def _built(self, number: int) -> list[Chart]:
        return run_part.charts(self._results, self._records[number])


@lru_cache(maxsize=1)
def _opened(folder: str, with_what_if: bool) -> Parts:
    """Once in each process."""
    return Parts(Results.open(folder), _inherited, with_what_if=with_what_if)


_inherited: list[Record] = []
"""A process's records, as its parent read and checked them."""


@contextmanager
def mapping(records: Sequence[Record]) -> Iterator[Map]:
    """Maps a function over groups of runs, in order: here for few runs, else in processes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(records) < _WORTH_PROCESSES or cores == 1:
        yield map
        return
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(cores, mp_context=FreshContext(), initializer=_begin, initargs=(records,))
    try:
        for _ in range(cores):  # they begin while this one goes on
            pool.submit(_ready)
        yield pool.map
    except BaseException as error:
        for process in multiprocessing.active_children():
            if process not in others and isinstance(process, FreshProcess):
                process.terminate()
        pool.shutdown(cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            words = "a process that drew runs of the page died; was it killed, or is memory short?"
            raise ExecutorError(words) from error
        raise
    pool.shutdown()


def shown(value: Any) -> Any:
    """A text from outside, printable; markup of our own as it is."""
    return printable_lines(value) if type(value) is str else value


def all_shown(value: Any) -> Any:
    """The same for every text in it."""
    if isinstance(value, dict):
        return {key: all_shown(inner) for key, inner in value.items()}
    return list(map(all_shown, value)) if isinstance(value, list | tuple) else shown(value)


def _ready() -> None:
    """What a process does first: nothing, after its imports."""


def _begin(records: Sequence[Record]) -> None:
    """One thread of polars for each process; the parent answers Ctrl-C, and none outlives it."""
    _inherited[:] = records
    os.environ["POLARS_MAX_THREADS"] = "1"
    ignore_ctrl_c()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
