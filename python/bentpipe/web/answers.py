"""Answers to the page's questions on runs: report, comparison, curves, SQL. All run in a thread."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bentpipe.errors import ComparisonError, StoreError
from bentpipe.runs.store import Results
from bentpipe.web.bins import COLUMNS, Series, of_finished
from bentpipe.words.printable import printable

MOST_ROWS = 1000
MOST_REPORTED = 2000
"""Of more runs a report takes minutes."""
MOST_DRAWN = 6
MOST_ASKED_S = 60.0
"""A question that takes longer is ended: nobody at the page could end it."""


def report(path: Path) -> str:
    """The page of a run or of a folder of runs."""
    from bentpipe.report.html import render  # noqa: PLC0415 - slow to load

    results = Results.open(path)
    if len(results.names) > MOST_REPORTED:
        raise StoreError(
            f"{path} has {len(results.names)} runs, and a page of so many takes long; "
            f"write it once with: bentpipe report {path}"
        )
    return render(results)


def curves(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
    """The bins of runs, each under its name."""
    runs = []
    for path, name in list(zip(paths, names, strict=True))[:MOST_DRAWN]:
        series = Series()
        series.add(of_finished(path))
        runs.append({"id": name, "bin_s": series.bin_s, "pipes": series.since({})})
    return {"names": COLUMNS, "runs": runs}


def compared(paths: Sequence[Path]) -> dict[str, Any]:
    """What `bentpipe compare` says of folders, or of runs of the same point and seed."""
    from bentpipe.analysis.comparisons import compare_all  # noqa: PLC0415 - slow to load
    from bentpipe.report.comparison import told  # noqa: PLC0415

    try:
        found = compare_all([Results.open(path) for path in paths])
    except ComparisonError as error:
        return {"why_none": printable(str(error)), "kinds": []}
    return {
        "why_none": "",
        "kinds": [
            {
                "title": printable(each.title),
                "verdicts": [[printable(name), printable(words)] for name, words in each.verdicts],
                "unchanged": [[printable(name), printable(words)] for name, words in each.unchanged],
            }
            for each in told(found)
        ],
    }


def figures(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
    """Figures of single runs beside each other: those that any of them has, and that differ."""
    columns: dict[str, list[Any]] = {}
    for place, path in enumerate(paths):
        row = Results.open(path).runs.row(0, named=True)
        for name, value in row.items():
            if name.startswith(("workload.", "pipe.", "queue.")) and isinstance(value, int | float):
                columns.setdefault(name, [None] * len(paths))[place] = value
    rows = [[printable(name), *values] for name, values in columns.items() if len(set(values)) > 1]
    return {"names": list(names), "rows": rows, "same": len(columns) - len(rows)}


def asked(paths: Sequence[Path], sql: str) -> dict[str, Any]:
    """An answer in SQL, its first rows. Raises QueryError, and MissingExtraError where there is no DuckDB."""
    from bentpipe.query.questions import Questions  # noqa: PLC0415 - an extra
    from bentpipe.report.answer import cell  # noqa: PLC0415

    with Questions.open([Results.open(path) for path in paths], most_s=MOST_ASKED_S) as questions:
        answer = questions.ask(sql)
        rows = list(islice(answer.rows(), MOST_ROWS + 1))
        return {
            "columns": [{"name": printable(each.name), "type": each.type} for each in answer.columns],
            "rows": [[cell(value) for value in row] for row in rows[:MOST_ROWS]],
            "more": len(rows) > MOST_ROWS,
        }


def heat_map(path: Path, figure: str) -> dict[str, Any]:
    """A figure over the two things that vary most: a cell for each pair of values, and the runs behind it."""
    from bentpipe.analysis.grid import Value, grids, values  # noqa: PLC0415 - slow to load

    results = Results.open(path)
    runs = results.runs
    numeric = [
        name
        for name, dtype in runs.schema.items()
        if dtype.is_numeric() and name.startswith(("workload.", "pipe.", "queue."))
        if runs[name].n_unique() > 1
    ]
    found = grids(results.records)
    if not found or not numeric:
        return {"figures": [], "figure": "", "maps": []}
    shown = (
        figure
        if figure in numeric
        else next((n for n in numeric if n.endswith("goodput_mbit_s")), numeric[0])
    )
    of_run = dict(zip(runs["run"], runs[shown], strict=True))

    def measure(record: Any) -> list[Value]:
        value = of_run.get(record["run"])
        return [] if value is None else [Value(float(value))]

    maps = []
    for grid in found[:12]:
        cells = values(grid, measure)
        maps.append(
            {
                "row_key": printable(grid.row_key),
                "rows": [printable(str(each)) for each in grid.rows],
                "column_key": printable(grid.column_key),
                "columns": [printable(str(each)) for each in grid.columns],
                "rest": ", ".join(printable(f"{key} {value}") for key, value in grid.rest.items()),
                "cells": [
                    [row, column, of.of, of.runs[0] if of.runs else ""] for (row, column), of in cells.items()
                ],
            }
        )
    return {"figures": numeric, "figure": shown, "maps": maps}
