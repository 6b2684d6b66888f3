"""How long flows took by their size: a point for each, and the median and 95th percentile of like size."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from bentpipe.charts.description import Axis, Chart, Dash, Mark, Panel, Role, Series
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, plural, size

_FEWEST = 20
"""Finished flows that make a distribution worth drawing."""
_FEWEST_OF_A_SIZE = 5
_BINS_A_DECADE = 4
_POINTS = 1000


def build(results: Results, record: Mapping[str, Any]) -> Chart | None:
    """None for a run without `channels`, or with too few finished flows."""
    names = [
        name for name, figures in record.get("workloads", {}).items() if figures.get("kind") == "channels"
    ]
    if not names:
        return None
    flows = results.of_run(record["run"], "flows")
    done = flows.filter(
        pl.col("workload").is_in(names) & (pl.col("end_s") > pl.col("start_s")) & (pl.col("bytes") > 0)
    )
    if done.height < _FEWEST:
        return None
    done = done.select(
        "bytes",
        pl.col("direction"),
        (pl.col("end_s") - pl.col("start_s")).alias("time_s"),
        (pl.col("bytes").log10() * _BINS_A_DECADE).floor().alias("bin"),
    )
    role = Role(done["direction"][0])
    of_size = (
        done.group_by("bin")
        .agg(
            pl.len().alias("count"),
            pl.col("bytes").log10().mean().alias("size"),
            pl.col("time_s").median().alias("p50"),
            pl.col("time_s").quantile(0.95, "nearest").alias("p95"),
        )
        .filter(pl.col("count") >= _FEWEST_OF_A_SIZE)
        .sort("bin")
    )
    x = [10**each / 1000 for each in of_size["size"].to_list()]
    some = done.gather_every(math.ceil(done.height / _POINTS))
    series = [
        Series(
            "a flow",
            (some["bytes"] / 1000).to_list(),
            some["time_s"].to_list(),
            role,
            Mark.POINTS,
            faint=True,
        ),
        Series("median", x, of_size["p50"].to_list(), Role.SUMMARY),
        Series("95th percentile", x, of_size["p95"].to_list(), Role.SUMMARY, dash=Dash.DASHED),
    ]
    few = done.sort("bytes").head(max(done.height // 2, 1))
    p50, p95 = (float(few["time_s"].quantile(q, "nearest") or 0) for q in (0.5, 0.95))
    largest = float(few["bytes"].to_numpy().max())
    return Chart(
        name=f"completion-{record['run']}",
        title="Flow completion time by size",
        sentence="",
        x=Axis("size", "kB", log=True),
        panels=(
            Panel(
                "completion",
                "Flow completion time by size",
                f"{plural(done.height, 'flow')} finished. The smaller half, up to {size(largest)}, took "
                f"{duration(p50)} in the middle and {duration(p95)} at the 95th percentile, "
                f"{digits(p95 / p50, 2) if p50 else '–'} times as long.",
                Axis("completion time", "s", log=True),
                tuple(each for each in series if each.x),
            ),
        ),
    )
