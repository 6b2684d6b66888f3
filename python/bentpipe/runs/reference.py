"""docs/results.md, printed from the tables' schemas."""

from collections.abc import Iterator

import polars as pl

from bentpipe.runs.runs_table import RUNS
from bentpipe.runs.schema import FLAG, FLOAT, INTEGER, TABLES, TEXT, Table

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

<!-- Printed by `python -m bentpipe.runs`; change it there. -->

A folder per run: `run.json` and these Parquet tables, the same for every engine. Whatever reads
Parquet reads them. `bentpipe.Results.open(folder)` reads one run or a whole sweep and
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

_TIMES = """
## Times of a workload
Every kind of work keeps its percentiles and its largest in `run.json` and in `--json`, under the
workload's name; both engines give the same keys by the same definitions. A group of times is `{count,
not_finished, p50_s, p95_s, p99_s, max_s}`: percentiles of what finished, by linear interpolation, and
beside them how many did not finish. **A percentile is null where no value would lie beyond it:** p95
takes 20 values, p99 takes 100.
"""
_TIMES_OF_KINDS = (
    (
        "`ping`",
        "`median_ms`, `p95_ms`, `p99_ms`, `max_ms`",
        "round trips that were answered; `lost` counts the others",
    ),
    (
        "`bulk`",
        "`per_second`",
        "goodput of each second: `p50_mbit_s`, `p5_mbit_s`, `p1_mbit_s`, `min_mbit_s`, "
        "`max_mbit_s`; the tail of a rate is its slow seconds",
    ),
    (
        "`http`",
        "`fetch_times`",
        "of each fetch, from its start to its last byte; of a page, to the last byte of its last object",
    ),
    ("", "`transfer_times`", "the same without `think_s`"),
    ("", "`object_times`", "of a page, each of its objects; else null"),
    ("", "`think_s`", "for how long fetches waited for a server that thought, all together"),
    (
        "",
        "`pause_s`",
        "of `duration_s`, for how long no fetch was under way: in `live`, programs were started meanwhile",
    ),
    ("", "`per_fetch`", "the first 1000 fetches, each with `total_s`, `think_s` and `transfer_s`"),
    (
        "`channels`",
        "`flow_times`",
        "of each flow, from its connection's beginning to its last byte, whatever its size",
    ),
    (
        "",
        "`small_flows`, `fct_by_size`",
        "the same of flows that fit in the initial window, and by size",
    ),
    (
        "",
        "`pause_s`",
        "of `duration_s`, for how long a channel had no flow under way (`think`, mostly), on average",
    ),
)
_THINKING = """
**Thinking is apart from transfer.** A request waits for a server that thinks during the last `think`
before the first byte of its answer reaches the client; of an upload, before its end. A fetch's
`think_s` is the time in which all of its open requests waited so, and `transfer_s` is `total_s -
think_s`. Where another object of the page was on its way meanwhile, that is transfer time. What a cache
has is answered without thinking. A channel's pauses are in none of its flows' times, but they are in
the time that goodput is taken over."""


def as_markdown() -> str:
    """The page, whole."""
    lines = [_HEAD, *_section(RUNS), *_RUNS.split("\n"), *_times()]
    for table in TABLES.values():
        lines += _section(table)
    return "\n".join(lines) + "\n"


def _times() -> Iterator[str]:
    yield from (*_TIMES.split("\n"), "| kind | key | meaning |", "|---|---|---|")
    yield from (f"| {kind} | {key} | {meaning} |" for kind, key, meaning in _TIMES_OF_KINDS)
    yield from _THINKING.split("\n")


def _section(table: Table) -> Iterator[str]:
    yield from ("", f"## {table.name}", table.meaning, "", "| column | type | meaning |", "|---|---|---|")
    yield from (f"| `{c.name}` | {_TYPE_NAMES[c.dtype]} | {c.meaning} |" for c in table.columns)
