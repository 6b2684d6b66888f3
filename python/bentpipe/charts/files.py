"""Every chart of a folder of results, as files."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe.charts import (
    by_variant,
    completion,
    heat_map,
    matplotlib,
    over_time,
    speed_up,
    throughput_rtt,
    waterfall,
)
from bentpipe.charts.description import Chart
from bentpipe.results.store import Results


def over_all(results: Results) -> list[Chart]:
    """The charts that put the runs side by side."""
    found = (throughput_rtt.build(results, log=True), throughput_rtt.build(results, log=False))
    every = (*found, *by_variant.build(results), speed_up.build(results), heat_map.build(results))
    return [chart for chart in every if chart is not None]


def of_run(results: Results, record: Mapping[str, Any]) -> list[Chart]:
    """One run's own."""
    found = (build(results, record) for build in (over_time.build, completion.build, waterfall.build))
    return [chart for chart in found if chart is not None]


def save_all(results: Results, folder: Path, formats: Sequence[str] = ("png", "svg", "pdf")) -> list[Path]:
    """Write the charts over all runs, and one per run, into `folder`. The paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for chart in _all(results):
        for form in formats:
            path = folder / f"{chart.name}.{form}"
            matplotlib.save(chart, path)
            paths.append(path)
    return paths


def _all(results: Results) -> Iterable[Chart]:
    yield from over_all(results)
    for record in results.runs:
        yield from of_run(results, record)
