"""Reading one run or a whole sweep. Reading never writes."""

import json
from collections.abc import Iterable
from functools import cached_property
from os import PathLike
from typing import Any, Self

import polars as pl

from bentpipe.results.errors import StoreError
from bentpipe.results.layout import LAB, RECORD, STAGING_SUFFIX, by_number
from bentpipe.results.place import Place
from bentpipe.results.schema import table_named


def finished_runs(out: Place) -> list[str]:
    """The names of the finished runs in `out`, numbers by value."""
    return sorted(out.stamps(RECORD), key=by_number)


class Results:
    """One run or the runs of a sweep. Tables are read when asked for; `scan` reads lazily."""

    def __init__(self, folder: Place, runs: Iterable[dict[str, Any]], folders: Iterable[Place]) -> None:
        self.folder = folder
        self.runs = list(runs)
        """Every run's record (run.json), with `run`, the folder's name."""
        self._folders = list(folders)

    @classmethod
    def open(cls, folder: str | PathLike[str] | Place) -> Self:
        """Open a run's folder or one that holds runs' folders, here or at an fsspec URL."""
        place = Place.of(folder)
        if not place.exists():
            raise StoreError(f"{place}: there is no such folder")
        if not place.is_folder():
            raise StoreError(f"{place} is a file; a run leaves a folder")
        single = (place / RECORD).exists()
        folders = [place] if single else [place / name for name in finished_runs(place)]
        if not folders:
            started = any(name.startswith(".") and name.endswith(STAGING_SUFFIX) for name in place.names())
            found = (
                "only runs that were not finished" if started else f"no {RECORD} in it or in a folder in it"
            )
            raise StoreError(f"{place} is not a run's folder and holds none: {found}")
        return cls(place, [_read_record(f) for f in folders], folders)

    @cached_property
    def lab(self) -> dict[str, Any]:
        """lab.json of a sweep's folder; empty where there is none, as for a single run."""
        place = self.folder / LAB
        return _read_object(place) if place.exists() else {}

    def scan(self, name: str) -> pl.LazyFrame:
        """A table over all runs, lazily, with the column `run` first."""
        table = table_named(name)
        frames = []
        for record, folder in zip(self.runs, self._folders, strict=True):
            place = folder / f"{name}.parquet"
            if not place.exists():
                raise StoreError(f"{place} is missing")
            run = pl.lit(record["run"], dtype=pl.String).alias("run")
            source = place.path or place.read_bytes()
            frames.append(pl.scan_parquet(source, glob=False).select(run, *table.names))
        return pl.concat(frames)

    def of_run(self, run: str, name: str) -> pl.DataFrame:
        """One run's table, without the column `run`."""
        for record, folder in zip(self.runs, self._folders, strict=True):
            if record["run"] == run:
                place = folder / f"{table_named(name).name}.parquet"
                return pl.read_parquet(place.path or place.read_bytes(), glob=False)
        raise StoreError(f"{self.folder} holds no run {run!r}")

    @cached_property
    def link(self) -> pl.DataFrame:
        return self.scan("link").collect()

    @cached_property
    def sockets(self) -> pl.DataFrame:
        return self.scan("sockets").collect()

    @cached_property
    def flows(self) -> pl.DataFrame:
        return self.scan("flows").collect()

    @cached_property
    def pings(self) -> pl.DataFrame:
        return self.scan("pings").collect()

    @cached_property
    def tools(self) -> pl.DataFrame:
        return self.scan("tools").collect()


def _read_record(folder: Place) -> dict[str, Any]:
    """With the folder as it is named and found now: it may have been moved since."""
    return _read_object(folder / RECORD) | {"run": folder.name, "folder": str(folder)}


def _read_object(place: Place) -> dict[str, Any]:
    try:
        found = json.loads(place.read_bytes())
    except ValueError as error:
        raise StoreError(f"{place} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise StoreError(f"{place} holds no object")
    return found
