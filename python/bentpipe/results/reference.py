"""docs/results.md, printed from the tables' schemas."""

from collections.abc import Iterator

import polars as pl

from bentpipe.results.runs_table import RUNS
from bentpipe.results.schema import FLAG, FLOAT, INTEGER, TABLES, TEXT, Table

_TYPE_NAMES = {
    FLOAT: "float",
    INTEGER: "integer",
    TEXT: "text",
    FLAG: "boolean",
    pl.List(TEXT): "list of text",
    pl.Datetime("us"): "timestamp",
    pl.Struct({}): "struct",
}
_HEAD = """\
# What a run leaves behind

<!-- Printed by `python -m bentpipe.results`; change it there. -->

A folder per run: `run.json` and these Parquet tables, the same for every engine. Whatever reads
Parquet reads them. `bentpipe.results.Results.open(folder)` reads one run or a whole sweep and
puts a column `run` (the folder's name) before the others. `bentpipe query` asks them in SQL
([query](query.md)).

A value that could not be known is null, never zero. Times are seconds on the run's own clock:
zero is where the lab's `start = "0 s"` lies."""
_RUNS = """
A sweep's folder also holds a table of its runs, `runs.parquet`, so that thousands of them need not be
opened one by one. It is made from the records (`run.json`), which are the truth: a run that is not in
it, or whose record has been written since, is read from its record, and without the file nothing is
lost but time. `Results.scan("runs")` gives it lazily, always complete.

Its structs hold what depends on the lab, so that SQL reaches a figure by dots:
`workload.download.goodput_mbit_s`, `pipe.down.drops.tail`. That dotted path is the figure's name in
`bentpipe query` and `bentpipe compare` too. A struct has the fields that any run of the sweep has,
those of lists excepted; a swept value is text as the lab has it, or a number where all of its values
are numbers. A struct of which no run has anything is left out, as `point` where nothing is swept. The
file's last columns (`record_json` and those after it) give the records back."""


def as_markdown() -> str:
    """The page, whole."""
    lines = [_HEAD, *_section(RUNS), *_RUNS.split("\n")]
    for table in TABLES.values():
        lines += _section(table)
    return "\n".join(lines) + "\n"


def _section(table: Table) -> Iterator[str]:
    yield from ("", f"## {table.name}", table.meaning, "", "| column | type | meaning |", "|---|---|---|")
    yield from (f"| `{c.name}` | {_TYPE_NAMES[c.dtype]} | {c.meaning} |" for c in table.columns)
