"""Lists the tables of a folder with their columns, and questions to begin with."""

import re
from collections.abc import Iterator, Sequence

import polars as pl
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from bentpipe.runs.runs_table import RUNS
from bentpipe.runs.schema import TABLES
from bentpipe.runs.store import Results

_FIGURES = ("goodput_mbit_s", "median_fetch_s", "median_ms", "p99_ms", "duration_s")
"""Of a workload, the first that there is: what runs are compared by."""


def listed(sweeps: Sequence[Results], where: str) -> RenderableType:
    """`where`: the folders, as a command line names them. The figures are those of the first."""
    schema = sweeps[0].scan(RUNS.name).collect_schema()
    first = ["folder", "run"] if len(sweeps) > 1 else ["run"]
    count = sum(len(results.names) for results in sweeps)
    parts = [*_table(RUNS.name, f"One row per run; {count} here.", [*first[:-1], *_names(schema)])]
    for table in TABLES.values():
        parts += _table(table.name, table.meaning, [*first, *table.names])
    parts.append(Text("\nQuestions to begin with:", style="bold"))
    for question in _questions(schema):
        escaped = question.replace('"', '\\"')
        parts.append(Padding(Text(f'bentpipe query {where} "{escaped}"'), (0, 0, 0, 2)))
    return Group(*parts)


def _table(name: str, meaning: str, columns: Sequence[str]) -> Iterator[RenderableType]:
    yield Text.assemble((name, "bold"), f"  {meaning}")
    yield Padding(Text(", ".join(columns), style="dim"), (0, 0, 0, 2))


def _names(schema: pl.Schema, within: str = "") -> Iterator[str]:
    """Dotted, as SQL has them."""
    for name, dtype in schema.items():
        dotted = f"{within}{_quoted(name)}"
        if isinstance(dtype, pl.Struct):
            yield from _names(pl.Schema(dtype.to_schema()), f"{dotted}.")
        else:
            yield dotted


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f'"{doubled}"'


def _questions(schema: pl.Schema) -> list[str]:
    names = list(_names(schema))
    of_workloads = [name for name in names if name.startswith("workload.")]
    figures = [name for end in _FIGURES for name in of_workloads if name.endswith(f".{end}")]
    cell = ", ".join(["variant", *(name for name in names if name.startswith("point."))])
    return [
        f"select {cell}, count(*) as runs, median({(figures or ['wall_s'])[0]}) as figure "
        "from runs where reliable group by all order by all",
        "select run, max(queue_delay_s_max) as longest_wait_s "
        "from link where pipe = 'down' group by run order by longest_wait_s desc",
        "select run, workload, count(*) as flows, quantile_cont(end_s - start_s, 0.95) as p95_s "
        "from flows group by all order by all",
    ]
