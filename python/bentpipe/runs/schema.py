"""The tables that a run leaves behind: one schema for every engine, units in the names.

The columns are said in Rust (crates/tables), which the engines write by. docs/results.md is printed from here
(`python -m bentpipe.runs`), and a table that differs is refused before it is stored.
A value that could not be known is null, never zero. Times are seconds on the run's own clock, whose zero is
where the lab's `start = "0 s"` lies: what happened before it is negative.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from bentpipe import _core
from bentpipe.errors import StoreError

FLOAT = pl.Float64()
INTEGER = pl.Int64()
TEXT = pl.String()
FLAG = pl.Boolean()


@dataclass(frozen=True)
class Column:
    name: str
    dtype: pl.DataType
    meaning: str


@dataclass(frozen=True)
class Table:
    name: str
    meaning: str
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @cached_property
    def schema(self) -> pl.Schema:
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)


_TYPES = {"text": TEXT, "integer": INTEGER, "float": FLOAT, "boolean": FLAG}


def _tables() -> Iterator[Table]:
    for name, meaning, columns in _core.tables():
        own = (Column(column, _TYPES[kind], about) for column, kind, _nullable, about in columns)
        yield Table(name, meaning, tuple(own))


LINK, SOCKETS, FLOWS, PINGS, TOOLS = _tables()
DROP_CAUSES = tuple(name.removeprefix("drops_") for name in LINK.names if name.startswith("drops_"))

TABLES: Mapping[str, Table] = {table.name: table for table in (LINK, SOCKETS, FLOWS, PINGS, TOOLS)}


def table_named(name: str) -> Table:
    if name not in TABLES:
        raise StoreError(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
    return TABLES[name]
