"""Writing a run's folder.

A run is written into a hidden folder beside its place, `.<name>.part`, and renamed into place when whole, so
a folder without a dot is a finished run. Reading never writes: a staging folder that nobody finished is
removed by the next run of the same name, or by `discard_abandoned`.
"""

import io
import json
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl
from pydantic_core import to_json

from bentpipe import interruption
from bentpipe.errors import StoreError
from bentpipe.runs.layout import RECORD, STAGING_SUFFIX
from bentpipe.runs.schema import TABLES, Table, table_named

_READ_BYTES = 1 << 16


class RunFolder:
    """One run while it is being written."""

    unfinished: ClassVar[set[Path]] = interruption.unfinished
    """Staging folders of this process."""

    def __init__(self, staging: Path, place: Path, called: str, *, replaces: bool) -> None:
        self._staging = staging
        self._place = place
        self._replaces = replaces
        self.called = called
        """What the record calls the folder once it is finished."""

    @classmethod
    def create(cls, out: Path, name: str, *, called: str | None = None, replaces: bool = False) -> Self:
        """Make `out` and the staging folder for run `name` in it.

        `called`: the folder's name where it will not stay in `out`. A finished run of that name is an error,
        or with `replaces` gives way to this one once it is whole.
        """
        place = out / name
        if name.startswith(".") or place.parent != out:
            raise StoreError(f"{name!r} cannot name a run's folder")
        if place.exists() and not replaces:
            raise StoreError(f"{place} is there already")
        staging = out / f".{name}{STAGING_SUFFIX}"
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(parents=True)
        cls.unfinished.add(staging.resolve())
        return cls(staging, place, called or str(place), replaces=replaces)

    def path(self, *parts: str) -> Path:
        """A path inside the folder as it is now, absolute. Its folders are made."""
        path = self._staging.resolve().joinpath(*parts)
        (path if not parts else path.parent).mkdir(parents=True, exist_ok=True)
        return path

    def write_table(self, name: str, frame: pl.DataFrame) -> None:
        table = table_named(name)
        _check_schema(table, frame.schema)
        parquet = io.BytesIO()
        frame.write_parquet(parquet)
        write_file(self._staging / f"{name}.parquet", parquet.getbuffer())

    def csv_to_table(
        self,
        name: str,
        csv_path: Path,
        *,
        columns: pl.Schema | None = None,
        complete: Callable[[pl.LazyFrame], pl.LazyFrame] | None = None,
    ) -> None:
        """Turn an engine's CSV into the table, piece by piece, and remove the CSV.

        Header exactly the table's columns, or `columns`, of which `complete` makes the table's; an empty
        cell for null. A last line without a line feed was cut off when the engine died or the disk was full,
        and is left out; it may be the header itself.
        """
        schema = columns or table_named(name).schema
        if not _cut_to_whole_lines(csv_path):
            csv_path.write_text(",".join(schema.names()) + "\n")
        with csv_path.open("rb") as lines:
            header = lines.readline().decode(errors="replace").strip().split(",")
        if header != schema.names():
            raise StoreError(f"{csv_path}: {_difference(schema.names(), header)}")
        try:
            frame = pl.scan_csv(csv_path, schema=schema)
            (complete(frame) if complete else frame).sink_parquet(self._staging / f"{name}.parquet")
        except pl.exceptions.PolarsError as error:
            raise StoreError(f"{csv_path}: {str(error).splitlines()[0]}") from error
        csv_path.unlink()

    def finish(self, record: Mapping[str, Any]) -> Path:
        """Write the record, empty tables for those not written, and rename the folder into place."""
        for name, table in TABLES.items():
            if not (self._staging / f"{name}.parquet").exists():
                write_file(self._staging / f"{name}.parquet", _empty(table))
        write_file(self._staging / RECORD, _as_json(record))
        return self.put_in_place()

    def put_in_place(self) -> Path:
        """Rename the folder into place, with everything that was written into it."""
        staging = self._staging.resolve()
        if self._replaces and self._place.exists():
            old = self._place.with_name(f".{self._place.name}.old{STAGING_SUFFIX}")
            self._place.rename(old)
            self._staging.rename(self._place)
            shutil.rmtree(old)
        else:
            self._staging.rename(self._place)
        self.unfinished.discard(staging)
        return self._place

    def abandon(self) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        self.unfinished.discard(self._staging.resolve())


@cache
def _empty(table: Table) -> bytes:
    parquet = io.BytesIO()
    table.empty().write_parquet(parquet)
    return parquet.getvalue()


def _as_json(record: Mapping[str, Any]) -> bytes:
    """Raises ValueError for a number that JSON has not."""
    json.dumps(record, ensure_ascii=False, allow_nan=False)
    # With indentation the standard library's encoder is twenty times as slow.
    return to_json(record, indent=1) + b"\n"


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
    for staging in out.glob(f".*{STAGING_SUFFIX}"):
        if staging.is_dir():
            shutil.rmtree(staging, ignore_errors=True)
        else:
            staging.unlink(missing_ok=True)


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
