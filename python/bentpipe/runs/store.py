"""Reading one run or a whole sweep. Reading never writes."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import polars as pl
from polars.io.plugins import register_io_source

from bentpipe.errors import StoreError
from bentpipe.runs.index import Runs
from bentpipe.runs.layout import LAB, RECORD, STAGING_SUFFIX
from bentpipe.runs.place import Place
from bentpipe.runs.record import Record, SweepRecord
from bentpipe.runs.record_shape import LARGEST
from bentpipe.runs.records import read_object
from bentpipe.runs.runs_table import RUNS, flat
from bentpipe.runs.schema import LINK, SOCKETS, Table, table_named

_FILE = "file"
_PARQUET = b"PAR1"
_PARQUET_END = 8
"""Bytes behind a Parquet file's footer: the footer's length, and `PAR1`."""
_TIME = "time_s"
_OF_SAMPLES = (LINK.name, SOCKETS.name)
"""Tables of samples: each has a time. When a ping was sent may be unknown."""
_SMALLEST = 1e-100
"""Of a table's figures but 0: ratios of smaller ones may be infinite."""
_SMALL_BYTES = 1 << 20
"""A file up to this size takes polars less time as bytes than by its path."""


class Results:
    """One run or the runs of a sweep. Nothing is read before it is asked for, but that the runs are there;
    `scan` reads lazily."""

    def __init__(self, folder: Place, runs: Runs) -> None:
        self.folder = folder
        self._runs = runs

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | Place) -> Self:
        """Open a run's folder or one that holds runs' folders, here or at a URL that fsspec knows."""
        place = Place.of(folder)
        if not place.exists():
            raise StoreError(f"{place}: no such folder")
        if not place.is_folder():
            run_it = f"; to run a lab: bentpipe run {place}" if place.name.endswith(".toml") else ""
            raise StoreError(f"{place}: found a file; expected a run's folder, or a folder of runs{run_it}")
        runs = Runs(place)
        if not runs.names:
            started = any(name.startswith(".") and name.endswith(STAGING_SUFFIX) for name in place.names())
            found = "only unfinished runs" if started else f"no {RECORD} in this folder or its subfolders"
            raise StoreError(f"{place}: found {found}; expected a run's folder, or a folder of runs")
        return cls(place, runs)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """A row per run, in the order of their names, and a column for each figure by its dotted name:
        `point.path.rtt`, `workload.download.goodput_mbit_s`, `pipe.down.drops.tail` (docs/results.md)."""
        return flat(self._table_of_runs)

    @cached_property
    def records(self) -> list[Record]:
        """Every run's record (run.json), with `run`, the folder's name, in the order of the names. What many
        have in common is one object: records are not to be changed."""
        return self._runs.records()

    @property
    def names(self) -> list[str]:
        """Of the runs."""
        return self._runs.names

    @cached_property
    def lab(self) -> SweepRecord:
        """lab.json of a sweep's folder; empty where there is none, as for a single run."""
        place = self.folder / LAB
        read: Any = read_object(place) if place.exists() else {}
        found: SweepRecord = read
        return found

    def scan(self, name: str) -> pl.LazyFrame:
        """A table over all runs, lazily, with the column `run` first; `runs` is the table of runs itself."""
        if name == RUNS.name:
            return self._table_of_runs.lazy()
        table = table_named(name)
        files = self.files(name)
        if self.folder.path is None:
            return _scan_remote(table, files)
        paths = {str(place): run for run, place in files.items()}
        frame = pl.scan_parquet(
            list(paths),
            schema=dict(table.schema),
            glob=False,
            hive_partitioning=False,
            missing_columns="insert",
            include_file_paths=_FILE,
        )
        run = pl.col(_FILE).replace_strict(paths, return_dtype=pl.String).alias("run")
        return frame.select(run, *table.names)

    def files(self, name: str) -> dict[str, Place]:
        """The Parquet file of that table, by run. Raises StoreError where one is missing."""
        file = f"{table_named(name).name}.parquet"
        there = None if self.folder.path is None else self.folder.stamps(file)
        places = {run: self._runs.folder(run) / file for run in self.names}
        for run, place in places.items():
            if there is not None and run not in there:
                _check_file(place)
        return places

    def written_by_older(self, name: str) -> bool:
        """Whether an older bentpipe wrote some run's table, without columns that it has today. As far as the
        run that was written first and the one that was written last tell: a folder grows."""
        table = table_named(name)
        stamps = {place: stamp for place in self.files(name).values() if (stamp := place.stamp())}
        times = [stamp.changed for stamp in stamps.values()]
        ends = {min(times), max(times)} if times else set()  # several may have been written within one tick
        return any(
            _lacks_columns(table, place, stamp.size_bytes)
            for place, stamp in stamps.items()
            if stamp.changed in ends
        )

    def of_run(self, run: str, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """One run's table, or those columns of it, without the column `run`."""
        table = table_named(name)
        if run not in self._names:
            raise StoreError(f"{self.folder} holds no run {run!r}")
        place = self._runs.folder(run) / f"{table.name}.parquet"
        if place.path:
            _check_file(place)
        is_large = place.path and place.path.stat().st_size > _SMALL_BYTES
        file = place.path if place.path and is_large else place.read_bytes()
        wanted = list(columns or table.names)
        try:
            frame = _read(table, file, wanted)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise StoreError(_damaged(place, error)) from error
        _check(place, table, frame)
        return frame

    @cached_property
    def link(self) -> pl.DataFrame:
        return self._collected("link")

    @cached_property
    def sockets(self) -> pl.DataFrame:
        return self._collected("sockets")

    @cached_property
    def flows(self) -> pl.DataFrame:
        return self._collected("flows")

    @cached_property
    def pings(self) -> pl.DataFrame:
        return self._collected("pings")

    @cached_property
    def tools(self) -> pl.DataFrame:
        return self._collected("tools")

    def collect(self, name: str, asked: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """What is asked of a table over all runs (`scan`). Raises StoreError, naming a damaged table."""
        try:
            return asked(self.scan(name)).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            for run in self.names:
                self.of_run(run, name)  # The one that is damaged says so.
            raise StoreError(_damaged(f"{self.folder}, table {name}", error)) from error

    def _collected(self, name: str) -> pl.DataFrame:
        return self.collect(name, lambda table: table)

    @cached_property
    def _table_of_runs(self) -> pl.DataFrame:
        return self._runs.table()

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.names)


def _scan_remote(table: Table, files: dict[str, Place]) -> pl.LazyFrame:
    """File by file, each fetched whole when its turn comes: of a Python file object Polars reads everything,
    whatever columns are asked for."""

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        for run, place in files.items():
            frame = _whole(table, pl.read_parquet(place.read_bytes()), table.names)
            frame = frame.insert_column(
                0, pl.repeat(run, frame.height, dtype=pl.String, eager=True).alias("run")
            )
            found = frame if predicate is None else frame.filter(predicate)
            if columns is not None:
                found = found.select(columns)
            if rows is not None:
                found = found.head(rows)
                rows -= found.height
            yield found
            if rows == 0:
                return

    return register_io_source(frames, schema={"run": pl.String()} | dict(table.schema))


def _read(table: Table, file: Path | bytes, wanted: Sequence[str]) -> pl.DataFrame:
    try:
        return _whole(table, pl.read_parquet(file, columns=list(wanted), glob=False), wanted)
    except pl.exceptions.ColumnNotFoundError:
        frame = pl.read_parquet(file, glob=False)
        if not set(table.names) & set(frame.columns):
            raise
        return _whole(table, frame, wanted)


def _check_file(place: Place) -> None:
    """Raises StoreError where there is no file; a pipe would be waited for."""
    if not place.exists():
        raise StoreError(f"{place} is missing")
    if place.stamp() is None:
        raise StoreError(f"{place} is not a file")


def _check(place: Place, table: Table, frame: pl.DataFrame) -> None:
    """Raises StoreError for a column of another type, a sample without a time, and a number that nothing
    measured can have."""
    for name, dtype in frame.schema.items():
        if dtype != table.schema[name]:
            raise StoreError(f"{place}: column {name}: found {dtype}; expected {table.schema[name]}")
    for column in frame.get_columns():
        if table.name in _OF_SAMPLES and column.name == _TIME and column.null_count():
            raise StoreError(f"{place}: column {_TIME}: found null; expected the time of each sample")
        if column.dtype == pl.Float64 and (found := _implausible(column)) is not None:
            raise StoreError(
                f"{place}: column {column.name}: found {found:g}; expected 0, or a number between "
                f"{_SMALLEST:g} and {LARGEST:g}"
            )


def _implausible(column: pl.Series) -> float | None:
    """The first number that is not finite, larger than a record may hold, or so small that its inverse is."""
    import numpy as np  # noqa: PLC0415 - slow to load, and a run that was just done is not read again

    values = column.to_numpy() if not column.null_count() else column.drop_nulls().to_numpy()
    size = np.abs(values)
    wrong = ~((size <= LARGEST) & ((size >= _SMALLEST) | (size == 0)))
    return float(values[wrong.argmax()]) if wrong.any() else None


def _damaged(place: Place | str, error: BaseException) -> str:
    return f"{place} cannot be read: {error}; expected the Parquet file that a run leaves"


def _lacks_columns(table: Table, place: Place, size_bytes: int) -> bool:
    """By the file's last bytes. A damaged file lacks nothing: who reads it says what is wrong with it."""
    try:
        file, _ = place.open()
        with file:
            end = file.read_at(max(size_bytes - _PARQUET_END, 0), _PARQUET_END)
            footer_bytes = int.from_bytes(end[:4], "little") + _PARQUET_END
            footer = file.read_at(max(size_bytes - footer_bytes, 0), min(footer_bytes, size_bytes))
        schema = pl.read_parquet_schema(io.BytesIO(_PARQUET + footer))
    except (StoreError, OSError, pl.exceptions.PolarsError):
        return False
    return any(name not in schema for name in table.names)


def _whole(table: Table, frame: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame:
    """With the columns that an older bentpipe did not write, as nulls."""
    if frame.columns == list(wanted):
        return frame
    missing = [pl.lit(None, c.dtype).alias(c.name) for c in table.columns if c.name not in frame.columns]
    return frame.with_columns(missing).select(wanted)
