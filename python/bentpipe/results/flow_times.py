"""How long flows took, by their size: from the connection's beginning to the last byte.

A flow is small if it fits in the server's initial window: it is sent at once, so its time is two round trips
and what loss and queues add, whatever the congestion control. Longer ones take further round trips.
"""

from typing import Any

import polars as pl

from bentpipe.lab.spec import RunSpec
from bentpipe.results.times import times

_BOUNDS_BYTES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_DEFAULT_INITCWND = 10
_HEADERS_BYTES = {4: 20, 6: 40}
_TCP_BYTES = 20
_TIMESTAMPS_BYTES = 12


def initial_window_bytes(spec: RunSpec) -> int:
    """What the server sends before the first acknowledgement (RFC 6928: ten segments, or the lab's)."""
    server = spec.server
    options = 0 if server.timestamps is False else _TIMESTAMPS_BYTES
    segment = spec.path.mtu - _HEADERS_BYTES[server.ip] - _TCP_BYTES - options
    return (server.initcwnd or _DEFAULT_INITCWND) * segment


def flow_times(flows: pl.DataFrame, small_bytes: int) -> dict[str, Any]:
    """`flow_times`, `small_flows` and `fct_by_size` for the entry of a workload; `flows` holds its rows.

    The percentiles are those of `times`: of the flows that finished.
    """
    took = flows.select("size_bytes", "outcome", seconds=pl.col("end_s") - pl.col("start_s"))
    lower = (0, *_BOUNDS_BYTES)
    upper: tuple[int | None, ...] = (*_BOUNDS_BYTES, None)
    size = pl.col("size_bytes")
    bins = []
    for at_least, below in zip(lower, upper, strict=True):
        within = took.filter((size >= at_least) & (size < below if below is not None else pl.lit(True)))
        if within.height:
            bins.append({"at_least_bytes": at_least, "below_bytes": below, **_times(within)})
    small = took.filter(size <= small_bytes)
    return {
        "flow_times": _times(took),
        "small_flows": {"up_to_bytes": small_bytes, **_times(small)},
        "fct_by_size": bins,
    }


def pause_s(flows: pl.DataFrame, channels: int, start_s: float, duration_s: float) -> float:
    """For how much of the duration one of the channels had no flow under way, on average."""
    ends = pl.col("end_s").fill_null(start_s + duration_s)
    under_way_s = float(flows.select((ends - pl.col("start_s")).clip(0.0).sum()).item())
    return max(0.0, duration_s - under_way_s / channels)


def _times(took: pl.DataFrame) -> dict[str, Any]:
    seconds = took.filter(pl.col("outcome") == "finished")["seconds"].to_list()
    return times(seconds, took.height - len(seconds))
