"""The tables of a folder of runs as CSV: a file per table, each with the column `run`, written run by run.

1. runs.csv is the table of runs, a row for each. Its headers are the figures' dotted names, as in `query` and
   `compare`; a list is in one cell, its parts separated by `; `.
2. An empty cell is null, never zero; an empty text is `""`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from bentpipe.errors import StoreError
from bentpipe.interchange.all_or_none import AllOrNone
from bentpipe.runs.schema import table_named
from bentpipe.runs.store import Results

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"
TABLES = ("runs", "link", "flows", "sockets", "pings")


def write(
    results: Results, folder: Path, tables: Sequence[str] = TABLES, *, force: bool = False
) -> list[Path]:
    """Write each table's file into `folder`: all or none. The paths written. Raises StoreError."""
    for name in tables:
        if name not in TABLES:
            raise StoreError(f'--table: found "{name}"; expected {", ".join(TABLES)}')
    with AllOrNone(folder, [f"{name}.csv" for name in tables], force=force) as written:
        for name in tables:
            with written.part(f"{name}.csv").open("wb") as file:
                for number, frame in enumerate(_pieces(results, name)):
                    frame.write_csv(file, include_header=number == 0, datetime_format=_MOMENT)
    return written.paths


def _pieces(results: Results, name: str) -> Iterator[pl.DataFrame]:
    """A table run by run, so that the memory it takes is one run's."""
    if name == "runs":
        yield _flat(results.scan(name)).collect()
        return
    for run in results.names:
        frame = results.of_run(run, name)
        kept = [
            column if column in frame.columns else pl.lit(None).alias(column) for column in _columns(name)
        ]
        yield frame.select(pl.lit(run).alias("run"), *kept)


def _columns(name: str) -> list[str]:
    """As tables have them today: a folder may be older than one of them."""
    return table_named(name).names


def _flat(table: pl.LazyFrame) -> pl.LazyFrame:
    schema = table.collect_schema()
    return table.select(each for name, dtype in schema.items() for each in _leaves(pl.col(name), name, dtype))


def _leaves(of: pl.Expr, name: str, dtype: pl.DataType) -> Iterator[pl.Expr]:
    """A column, or of a table in it every one of its own, by its dotted name."""
    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            inner = field.dtype if isinstance(field.dtype, pl.DataType) else field.dtype()
            yield from _leaves(of.struct.field(field.name), f"{name}.{field.name}", inner)
    elif isinstance(dtype, pl.List):
        yield of.cast(pl.List(pl.String)).list.join("; ").alias(name)
    else:
        yield of.alias(name)
