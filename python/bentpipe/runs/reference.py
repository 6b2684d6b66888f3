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

Each run has a folder with `run.json` and these Parquet tables. They are the same for every engine, and
every program that reads Parquet can read them. `bentpipe.Results.open(folder)` reads one run or a whole
sweep, and adds a first column `run` (the folder's name). `bentpipe query` asks them in SQL
([query](query.md)).

An unknown value is null, never zero. Times are seconds on the run's own clock: zero is the lab's
`start = "0 s"`."""
_RUNS = """
A sweep's folder also has a table of its runs, `runs.parquet`, so that thousands of runs need not be
opened one by one. It is made from the records (`run.json`), which are authoritative. A run that is not
in the table, or whose record is newer, is read from its record. Without the file only time is lost.
`Results.scan("runs")` gives the table lazily, and always complete.

Figures that depend on the lab are in structs, so that SQL names them with dots:
`workload.download.goodput_mbit_s`, `pipe.down.drops.tail`. `bentpipe query` and `bentpipe compare` use
the same names. A struct has the fields of all runs of the sweep, except lists. A swept value is text as
in the lab, or a number if all of its values are numbers. A struct without any value is left out, such as
`point` if nothing is swept. The file's last columns (`record_json` and those after it) hold the records
themselves."""

_TIMES = """
## Times of a workload
Every kind of work has percentiles and a largest value in `run.json` and in `--json`, under the
workload's name. Both engines use the same keys and definitions. A group of times is `{count,
not_finished, p50_s, p95_s, p99_s, max_s}`. The percentiles are of the finished ones, by linear
interpolation; `not_finished` counts the others. **A percentile is null if no value would lie beyond
it:** p95 needs 20 values, p99 needs 100.
"""
_TIMES_OF_KINDS = (
    (
        "`ping`",
        "`median_ms`, `p95_ms`, `p99_ms`, `max_ms`",
        "round trips of answered requests; `lost` counts the others, `sent` both. In `live`, the last "
        "requests are in neither if they have no answer and ping ended less than a round trip with full "
        "queues after them",
    ),
    (
        "`interactive`",
        "`p50_ms`, `p95_ms`, `p99_ms`, `max_ms`",
        "from writing a message to the last byte of its answer; `unanswered` counts those without one, "
        "`sent` both. A message without an answer that was written less than a round trip with full queues "
        "before the run's end is in neither",
    ),
    (
        "`call`",
        "`down.delay_p99_ms`, `up.delay_p99_ms`",
        "one-way delays of received packets; [calls](keystrokes-and-calls.md#calls) lists the other figures",
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
        "of each fetch, from its start to its last byte; for a page, to the last byte of its last object",
    ),
    ("", "`transfer_times`", "the same without `think_s`"),
    ("", "`object_times`", "for a page, of each of its objects; else null"),
    ("", "`think_s`", "total time in which fetches waited for the server to think"),
    (
        "",
        "`pause_s`",
        "part of `duration_s` without a fetch under way: in `live`, programs were started meanwhile",
    ),
    ("", "`per_fetch`", "the first 1000 fetches, each with `total_s`, `think_s` and `transfer_s`"),
    (
        "`channels`",
        "`flow_times`",
        "of each flow of any size, from its connection's beginning to its last byte",
    ),
    (
        "",
        "`small_flows`, `fct_by_size`",
        "the same for flows that fit in the initial window, and by size",
    ),
    (
        "",
        "`pause_s`",
        "part of `duration_s` in which a channel had no flow under way (mostly `think`), on average",
    ),
)
_THINKING = """
**Thinking is separate from transfer.** A request waits for the server to think during the last `think`
before the first byte of its answer reaches the client; for an upload, before its end. A fetch's
`think_s` is the time in which all of its open requests waited in this way, and `transfer_s` is `total_s -
think_s`. If another object of the page was on its way at that time, it is transfer time. A cache
answers without thinking. A channel's pauses are in none of its flows' times, but they count in
the time of its goodput."""


def as_markdown() -> str:
    """The whole page."""
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
