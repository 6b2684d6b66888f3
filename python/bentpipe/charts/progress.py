"""How far each transfer of a given size has come: the payload that its sender knows to have arrived."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from bentpipe.charts.description import Axis, Level, Panel, Role, Series
from bentpipe.charts.wording import duration, listed, percent, size
from bentpipe.results.asked import direction_of, workload_spec
from bentpipe.results.called import called


def panel(record: Mapping[str, Any], flows: pl.DataFrame, sockets: pl.DataFrame) -> Panel | None:
    """None for a run without a `bulk` of a given size."""
    series, levels, parts = [], {}, []
    for name, figures in record.get("workloads", {}).items():
        asked = workload_spec(record, name)
        size_bytes = asked.get("size_bytes")
        if figures.get("kind") != "bulk" or not size_bytes:
            continue
        direction = direction_of(record, name) or "down"
        acked = _acked(flows.filter(pl.col("workload") == name), sockets, direction)
        if acked.is_empty():
            continue
        y = (acked["bytes_acked"] / 1e6).to_list()
        shown = called(record, name)
        series.append(Series(shown, acked["time_s"].to_list(), y, Role(direction)))
        levels[size_bytes] = Level(size_bytes / 1e6, f"all of it, {size(size_bytes)}", Role.CAPACITY)
        completion_s = figures.get("completion_s")
        parts.append(
            f"{shown} took {duration(completion_s)}"
            if completion_s is not None
            else f"{shown} came to {percent(max(y) * 1e6 / size_bytes)} of its {size(size_bytes)}"
        )
    if not series:
        return None
    said = listed(parts)
    return Panel(
        "progress",
        "Progress",
        f"{said[:1].upper()}{said[1:]}.",
        Axis("payload acknowledged", "MB"),
        tuple(series),
        tuple(levels.values()),
    )


def _acked(flows: pl.DataFrame, sockets: pl.DataFrame, direction: str) -> pl.DataFrame:
    """Summed over the workload's connections, at each sample's time (time_s, bytes_acked)."""
    host = "server" if direction == "down" else "client"
    ports = {
        (row["remote_port"], row["local_port"])
        if row["client"] != host
        else (row["local_port"], row["remote_port"])
        for row in flows.select("client", "local_port", "remote_port").iter_rows(named=True)
    }
    wanted = pl.DataFrame(list(ports), schema={"local_port": pl.Int64, "remote_port": pl.Int64}, orient="row")
    own = sockets.filter(pl.col("host") == host).join(wanted, on=["local_port", "remote_port"], how="semi")
    return own.group_by("time_s").agg(pl.col("bytes_acked").sum()).sort("time_s")
