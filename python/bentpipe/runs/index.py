"""runs.parquet: an index of a sweep's runs, so not every run has to be opened.

The records (run.json) are the truth. A row counts only as long as its record has the size and the time of
writing that it had when the row was made; every other run is read from its record. So a file that is old,
damaged or another program's costs time and nothing else. Its columns' types are checked when it is
opened, and a row's record when it is read (record_shape.py).
"""

import hashlib
import io
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from typing import Any

import polars as pl

from bentpipe.errors import StoreError
from bentpipe.runs.layout import RECORD, RUNS, by_number
from bentpipe.runs.place import Place, Stamp
from bentpipe.runs.record import Record
from bentpipe.runs.record_shape import LARGEST
from bentpipe.runs.records import (
    TEXT_COLUMNS,
    Packed,
    Repeated,
    located,
    many_objects,
    read_record,
    unpacked,
)
from bentpipe.runs.runs_table import FIXED, STRUCTS, RunRows, runs_table

_STAMP = {"record_bytes": pl.Int64(), "record_changed": pl.String()}
_FIGURE_TYPES = {pl.Boolean(), pl.Int64(), pl.Float64(), pl.String()}
_DEEPEST = 32
"""Structs within each other. Polars takes a minute for a thousand."""
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31)
_FORMAT = "1"
"""Counts up when the same record gives another row."""


class Index:
    """A sweep's runs.parquet as it was when it was opened."""

    def __init__(self, content: bytes, place: Place) -> None:
        """Raises StoreError where the file is not an index. `place` is the file's."""
        self._content, self._place = content, place
        try:
            schema = pl.read_parquet_schema(io.BytesIO(content))
            metadata = pl.read_parquet_metadata(io.BytesIO(content))
            expected = {c.name: c.dtype for c in FIXED} | dict.fromkeys(TEXT_COLUMNS, pl.String()) | _STAMP
            same = {name: schema.get(name) for name in expected} == expected
            rest = {name: dtype for name, dtype in schema.items() if name not in expected}
            if not all(name in STRUCTS and _holds_figures(dtype) for name, dtype in rest.items()):
                raise StoreError("not a table of runs")
            if not same or not _marks(content).items() <= metadata.items():
                raise StoreError("not a table of runs")
            stamps = self._columns(["run", *_STAMP])
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise StoreError(f"not a table of runs: {error}") from error
        self.stamps = {run: Stamp(size_bytes, changed) for run, size_bytes, changed in stamps.iter_rows()}
        if len(self.stamps) != stamps.height:
            raise StoreError("a run has two rows")
        self._table_columns = [name for name in schema if name not in {*TEXT_COLUMNS, *_STAMP}]
        self._row_of = {run: row for row, run in enumerate(self.stamps)}

    @classmethod
    def of(cls, folder: Place) -> "Index | None":
        """The folder's; None where it has none that can be used."""
        with suppress(StoreError):
            return cls((folder / RUNS).read_bytes(), folder / RUNS)
        return None

    def known(self, stamps: dict[str, Stamp]) -> set[str]:
        """The runs whose records are those that the rows were made from."""
        return {run for run, stamp in stamps.items() if self.stamps.get(run) == stamp}

    def table(self, runs: Sequence[str]) -> pl.DataFrame:
        """The table of these runs, in their order. They must be all that the index has: types are those of
        all."""
        return self._columns(self._table_columns)[[self._row_of[run] for run in runs]]

    def records(self, runs: Sequence[str], repeated: Repeated) -> Iterator[dict[str, Any] | None]:
        """Each run's; None where the row holds no record."""
        texts = self._columns(list(TEXT_COLUMNS))
        return unpacked(texts[[self._row_of[run] for run in runs]], repeated, self._place)

    def _columns(self, names: list[str]) -> pl.DataFrame:
        return pl.read_parquet(io.BytesIO(self._content), columns=names)


class Runs:
    """The runs of a folder, or the one that it is: from the index as far as it knows them, else from the
    records. As they were when this was made; tables and records are built when asked for."""

    def __init__(self, folder: Place) -> None:
        """Raises StoreError where a record cannot be read."""
        self._folder = folder
        self._single = (folder / RECORD).exists()
        self._stamps = {} if self._single else folder.stamps(RECORD)
        self._index = Index.of(folder) if self._stamps else None
        known = self._index.known(self._stamps) if self._index else set()
        self._repeated = Repeated()
        self._read = self._read_but(known)
        self.names = sorted({*known, *self._read}, key=by_number)
        """By number."""

    def folder(self, run: str) -> Place:
        return self._folder if self._single else self._folder / run

    def records(self) -> list[Record]:
        indexed = [name for name in self.names if name not in self._read]
        with many_objects():
            found = dict(_indexed(self._index, self._folder, indexed, self._repeated)) if self._index else {}
        every = self._read | found
        return [_record(located(every[name], name, self.folder(name))) for name in self.names]

    def table(self) -> pl.DataFrame:
        if self._index and self._index.stamps == self._stamps:
            table = self._index.table(self.names)
            if _holds_what_records_may(table):
                return table
        return runs_table(self.records())

    def _read_but(self, known: Container[str]) -> dict[str, dict[str, Any]]:
        """The other runs, from their records."""
        if self._single:
            return {self._folder.name: read_record(self._folder)}
        with many_objects():
            others = [name for name in self._stamps if name not in known]
            return dict(_from_records(self._folder, others, self._repeated))


def refresh(folder: Place) -> None:
    """Bring the folder's runs.parquet up to date, whole or not at all.

    Only records that it does not know are read, but the table is made anew: some 0.3 ms for each run. Of a
    record no more is held at a time than its text and its figures.
    """
    stamps = folder.stamps(RECORD)
    index = Index.of(folder) if stamps else None
    known = index.known(stamps) if index else set()
    if not stamps or (index and index.stamps == stamps):
        return
    repeated = Repeated()
    rows, texts, made_of = RunRows(), Packed(repeated), dict[str, Stamp]()
    indexed = _indexed(index, folder, sorted(known), repeated) if index else iter(())
    others = [name for name in stamps if name not in known]
    for name, record in chain(indexed, _from_records(folder, others, repeated)):
        located(record, name, folder / name)
        rows.add(record)
        texts.add(record)
        made_of[name] = stamps[name]
    stamped = {
        "record_bytes": [stamp.size_bytes for stamp in made_of.values()],
        "record_changed": [stamp.changed for stamp in made_of.values()],
    }
    columns = (rows.frame(), texts.frame(), pl.DataFrame(stamped, schema=_STAMP))
    (folder / RUNS).write_bytes(_file(pl.concat(columns, how="horizontal")))


def _record(checked: Any) -> Record:
    """As a type: its shape was checked when it was read."""
    found: Record = checked
    return found


def _indexed(
    index: Index, folder: Place, runs: Sequence[str], repeated: Repeated
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each run's record, from the index, or from its folder where the index holds none."""
    for run, record in zip(runs, index.records(runs, repeated), strict=True):
        if record is None:
            yield from _from_records(folder, [run], repeated)
        else:
            yield run, record


def _from_records(
    folder: Place, runs: Iterable[str], repeated: Repeated
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each run's record from its folder, if it still exists."""
    for name in runs:
        try:
            yield name, repeated.shared(read_record(folder / name))
        except StoreError:
            if (folder / name / RECORD).exists():
                raise


def _holds_figures(dtype: Any, deepest: int = _DEEPEST) -> bool:
    """Whether it is a struct of structs and of the types of a run's figures (runs_table.py)."""
    if not isinstance(dtype, pl.Struct) or not deepest:
        return False
    leaves = [field.dtype for field in dtype.fields]
    return all(leaf in _FIGURE_TYPES or _holds_figures(leaf, deepest - 1) for leaf in leaves)


def _holds_what_records_may(table: pl.DataFrame) -> bool:
    """Whether every figure is one that a record may hold (record_shape.py), and every time has a year of four
    digits. The rows' texts are checked where they are read."""
    wrong = []
    for name, dtype in table.schema.items():
        for leaf in _floats(pl.col(name), dtype):
            wrong.append(~leaf.is_finite() | (leaf.abs() > LARGEST))
        if dtype == pl.Datetime("us"):
            wrong.append(~pl.col(name).is_between(_FIRST, _LAST))
    return not any(
        column.item() for column in table.select(each.any().alias(str(n)) for n, each in enumerate(wrong))
    )


def _floats(column: pl.Expr, dtype: Any) -> Iterator[pl.Expr]:
    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _floats(column.struct.field(field.name), field.dtype)
    elif dtype == pl.Float64():
        yield column


def _file(rows: pl.DataFrame) -> bytes:
    """Written twice: the marks stand behind the pages, and come of them."""
    unmarked = io.BytesIO()
    rows.write_parquet(unmarked)
    marked = io.BytesIO()
    rows.write_parquet(marked, metadata=_marks(unmarked.getvalue()))
    return marked.getvalue()


def _marks(content: bytes) -> dict[str, str]:
    """By which a Parquet file is known to be of this format, and as it was written: its pages' digest. Behind
    them lie the footer, its length in four bytes, and four more."""
    footer = int.from_bytes(content[-8:-4], "little")
    pages = content[: max(len(content) - 8 - footer, 0)]
    return {"bentpipe.runs": _FORMAT, "bentpipe.pages": hashlib.blake2b(pages, digest_size=16).hexdigest()}
