"""Every chart of a folder of results, as files."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe.charts.build import completion, over_time, waterfall
from bentpipe.charts.description import Chart
from bentpipe.runs.store import Results

RUNS_DRAWN = 100
"""More runs in a folder than these have charts of their own only when asked for by the run's folder."""


def over_all(results: Results) -> list[Chart]:
    """The charts that put the runs side by side."""
    # Statistics take a while to import, and who draws single runs needs none.
    from bentpipe.charts.build.overviews import overviews  # noqa: PLC0415 - as above

    return [chart for each in overviews(results) for chart in each.charts.values()]


def of_run(results: Results, record: Mapping[str, Any]) -> list[Chart]:
    """One run's own."""
    found = (build(results, record) for build in (over_time.build, completion.build, waterfall.build))
    return [chart for chart in found if chart is not None]


def save_all(results: Results, folder: Path, formats: Sequence[str] = ("png", "svg", "pdf")) -> list[Path]:
    """Write the charts over all runs, and of `RUNS_DRAWN` or fewer each one's own, into `folder`. The paths
    written."""
    from bentpipe.charts import matplotlib  # noqa: PLC0415 - a page does without

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
    for record in results.records if len(results.records) <= RUNS_DRAWN else ():
        yield from of_run(results, record)
