"""Progress of each transfer of a given size: the payload that was acknowledged to its sender."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from bentpipe.charts.build.socket_samples import Floats, RunSockets
from bentpipe.charts.description import Axis, Level, Panel, Role, Series
from bentpipe.runs.asked import direction_of, workload_spec
from bentpipe.runs.called import called
from bentpipe.words.direction import Direction
from bentpipe.words.wording import duration, listed, percent, size


def panel(record: Mapping[str, Any], flows: pl.DataFrame, sockets: RunSockets) -> Panel | None:
    """None for a run without a `bulk` of a given size."""
    series, levels, parts = [], {}, []
    for name, figures in record.get("workloads", {}).items():
        asked = workload_spec(record, name)
        size_bytes = asked.get("size_bytes")
        if figures.get("kind") != "bulk" or not size_bytes:
            continue
        direction = direction_of(record, name) or Direction.DOWN
        time_s, acked_bytes = _acked(flows.filter(pl.col("workload") == name), sockets, direction)
        if not time_s.size:
            continue
        x: list[float] = time_s.tolist()
        y: list[float] = (acked_bytes * 1e-6).tolist()
        shown = called(record, name)
        series.append(Series(shown, x, y, Role(direction)))
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


def _acked(flows: pl.DataFrame, sockets: RunSockets, direction: Direction) -> tuple[Floats, Floats]:
    """Each sample's time, and the bytes acknowledged until then on all of the workload's connections."""
    host = direction.sender
    ports = {
        (remote, local) if client != host else (local, remote)
        for client, local, remote in flows.select("client", "local_port", "remote_port").iter_rows()
    }
    rows = [rows for (_, *pair), rows in sockets.at(host) if tuple(pair) in ports]
    if not rows:
        return np.empty(0), np.empty(0)
    own = np.concatenate(rows)
    time_s, sample = np.unique(sockets.columns["time_s"][own], return_inverse=True)
    acked = np.nan_to_num(sockets.columns["bytes_acked"][own])
    return time_s, np.bincount(sample, acked).astype(np.float64)
