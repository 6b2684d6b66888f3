"""Writing a run's folder and reading one run or a whole sweep.

A run is written into a hidden folder beside its place, `.<name>.part`, and renamed into place when whole, so
a folder without a dot is a finished run. Reading never writes: a staging folder that nobody finished is
removed by the next run of the same name, or by `discard_abandoned`.
"""

import io
import json
import re
import shutil
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from bentpipe.results.schema import TABLES, Table

RECORD = "run.json"
LAB = "lab.json"
_STAGING_SUFFIX = ".part"
_READ_BYTES = 1 << 16


class StoreError(Exception):
    """A folder or a table is not what it should be; the message says which and what was found."""


class RunFolder:
    """One run while it is being written."""

    unfinished: ClassVar[set[Path]] = set()
    """Staging folders of this process."""

    def __init__(self, staging: Path, place: Path) -> None:
        self._staging = staging
        self._place = place

    @classmethod
    def create(cls, out: Path, name: str) -> Self:
        """Make `out` and the staging folder for run `name` in it. A finished run of that name is an error."""
        place = out / name
        if name.startswith(".") or place.parent != out:
            raise StoreError(f"{name!r} cannot name a run's folder")
        if place.exists():
            raise StoreError(f"{place} is there already")
        staging = out / f".{name}{_STAGING_SUFFIX}"
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(parents=True)
        cls.unfinished.add(staging.resolve())
        return cls(staging, place)

    @property
    def place(self) -> Path:
        """Where the folder will be once finished."""
        return self._place

    def path(self, *parts: str) -> Path:
        """A path inside the folder as it is now, absolute. Its folders are made."""
        path = self._staging.resolve().joinpath(*parts)
        (path if not parts else path.parent).mkdir(parents=True, exist_ok=True)
        return path

    def write_table(self, name: str, frame: pl.DataFrame) -> None:
        table = _table(name)
        _check_schema(table, frame.schema)
        parquet = io.BytesIO()
        frame.write_parquet(parquet)
        write_file(self._staging / f"{name}.parquet", parquet.getbuffer())

    def adopt_table(self, name: str, parquet: Path) -> None:
        """Make a Parquet file that an engine wrote the table."""
        try:
            schema = pl.read_parquet_schema(parquet)
        except pl.exceptions.PolarsError as error:
            raise StoreError(f"{parquet}: {str(error).splitlines()[0]}") from error
        _check_schema(_table(name), pl.Schema(schema))
        parquet.rename(self._staging / f"{name}.parquet")

    def spool_to_table(self, name: str, csv_path: Path) -> None:
        """Turn an engine's CSV into the table, piece by piece, and remove the CSV.

        Header exactly the table's columns, an empty cell for null. A last line without a line feed was cut
        off when the engine died or the disk was full, and is left out; it may be the header itself.
        """
        table = _table(name)
        if not _cut_to_whole_lines(csv_path):
            csv_path.write_text(",".join(table.names) + "\n")
        with csv_path.open("rb") as lines:
            header = lines.readline().decode(errors="replace").strip().split(",")
        if header != table.names:
            raise StoreError(f"{csv_path}: {_difference(table.names, header)}")
        try:
            pl.scan_csv(csv_path, schema=table.schema).sink_parquet(self._staging / f"{name}.parquet")
        except pl.exceptions.PolarsError as error:
            raise StoreError(f"{csv_path}: {str(error).splitlines()[0]}") from error
        csv_path.unlink()

    def finish(self, record: dict[str, Any]) -> Path:
        """Write the record, empty tables for those not written, and rename the folder into place."""
        for name, table in TABLES.items():
            if not (self._staging / f"{name}.parquet").exists():
                self.write_table(name, table.empty())
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
        write_file(self._staging / RECORD, f"{text}\n".encode())
        staging = self._staging.resolve()
        self._staging.rename(self._place)
        self.unfinished.discard(staging)
        return self._place

    def abandon(self) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        self.unfinished.discard(self._staging.resolve())


def _cut_to_whole_lines(path: Path) -> int:
    """Cut off what follows the file's last line feed; returns the bytes left."""
    with path.open("r+b") as file:
        end = file.seek(0, io.SEEK_END)
        while end > 0:
            begin = max(end - _READ_BYTES, 0)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                end = begin + found + 1
                break
            end = begin
        return file.truncate(end)


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a file. Where the disk is full the error names the file, which the kernel's own does not."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def discard_abandoned(out: Path) -> None:
    """Remove what interrupted runs left in `out`. For the one process that is about to write there."""
    for staging in out.glob(f".*{_STAGING_SUFFIX}"):
        shutil.rmtree(staging, ignore_errors=True)


def finished_runs(out: Path) -> list[Path]:
    """The folders of finished runs in `out`, in the order of their names, numbers by value."""
    if not out.is_dir():
        return []
    return sorted((path.parent for path in out.glob(f"[!.]*/{RECORD}")), key=_by_number)


class Results:
    """One run or the runs of a sweep. Tables are read when asked for; `scan` reads lazily."""

    def __init__(self, folder: Path, runs: Iterable[dict[str, Any]], folders: Iterable[Path]) -> None:
        self.folder = folder
        self.runs = list(runs)
        """Every run's record (run.json), with `run`, the folder's name."""
        self._folders = list(folders)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a run's folder or one that holds runs' folders."""
        place = Path(folder)
        if not place.exists():
            raise StoreError(f"{place}: there is no such folder")
        if not place.is_dir():
            raise StoreError(f"{place} is a file; a run leaves a folder")
        folders = [place] if (place / RECORD).exists() else finished_runs(place)
        if not folders:
            started = any(place.glob(f".*{_STAGING_SUFFIX}"))
            found = (
                "only runs that were not finished" if started else f"no {RECORD} in it or in a folder in it"
            )
            raise StoreError(f"{place} is not a run's folder and holds none: {found}")
        return cls(place, [_read_record(f) for f in folders], folders)

    @cached_property
    def lab(self) -> dict[str, Any]:
        """lab.json of a sweep's folder; empty where there is none, as for a single run."""
        path = self.folder / LAB
        return _read_object(path) if path.exists() else {}

    def scan(self, name: str) -> pl.LazyFrame:
        """A table over all runs, lazily, with the column `run` first."""
        table = _table(name)
        frames = []
        for record, folder in zip(self.runs, self._folders, strict=True):
            path = folder / f"{name}.parquet"
            if not path.exists():
                raise StoreError(f"{path} is missing")
            run = pl.lit(record["run"], dtype=pl.String).alias("run")
            frames.append(pl.scan_parquet(path, glob=False).select(run, *table.names))
        return pl.concat(frames)

    def of_run(self, run: str, name: str) -> pl.DataFrame:
        """One run's table, without the column `run`."""
        for record, folder in zip(self.runs, self._folders, strict=True):
            if record["run"] == run:
                return pl.read_parquet(folder / f"{_table(name).name}.parquet", glob=False)
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


def _read_record(folder: Path) -> dict[str, Any]:
    """With the folder as it is named and found now: it may have been moved since."""
    return _read_object(folder / RECORD) | {"run": folder.resolve().name, "folder": str(folder)}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise StoreError(f"{path} holds no object")
    return found


def _table(name: str) -> Table:
    if name not in TABLES:
        raise StoreError(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
    return TABLES[name]


def _check_schema(table: Table, schema: pl.Schema) -> None:
    if list(schema.names()) != table.names:
        raise StoreError(f"table {table.name}: {_difference(table.names, schema.names())}")
    for name, dtype in table.schema.items():
        if schema[name] != dtype:
            raise StoreError(f"table {table.name}: column {name} is {schema[name]}, must be {dtype}")


def _difference(expected: list[str], found: list[str]) -> str:
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    if missing or extra:
        parts = [f"columns missing: {', '.join(missing)}"] if missing else []
        parts += [f"columns not known: {', '.join(extra)}"] if extra else []
        return "; ".join(parts)
    return "the columns are not in the schema's order"


def _by_number(path: Path) -> list[tuple[int, str]]:
    return [(int(part or 0) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", path.name)]
