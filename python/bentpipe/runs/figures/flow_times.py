"""How long flows took, by their size: from the connection's beginning to the last byte.

A flow is small if it fits in the server's initial window: it is sent at once, so its time is two round trips
and what loss and queues add, whatever the congestion control. Longer ones take further round trips.
"""

import json
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.lab.spec import RunSpec

_DEFAULT_INITCWND = 10
_HEADERS_BYTES = {4: 20, 6: 40}
_TCP_BYTES = 20
_TIMESTAMPS_BYTES = 12


def initial_window_bytes(spec: RunSpec) -> int:
    """What the server sends before the first acknowledgement (RFC 6928: ten segments, or the lab's)."""
    server = spec.server
    options = 0 if server.timestamps is False else _TIMESTAMPS_BYTES
    segment = spec.host_mtu - _HEADERS_BYTES[server.ip] - _TCP_BYTES - options
    return (server.initcwnd or _DEFAULT_INITCWND) * segment


def flow_times(flows: pl.DataFrame, small_bytes: int) -> dict[str, Any]:
    """`flow_times`, `small_flows` and `fct_by_size` for the entry of a workload; `flows` holds its rows.

    The percentiles are those of `times`: of the flows that finished.
    """
    finished_s = pl.when(pl.col("outcome") == "finished").then("end_s")
    ends_s = flows.select(finished_s).to_series().to_list()
    sizes, starts_s = flows["size_bytes"].to_list(), flows["start_s"].to_list()
    found: dict[str, Any] = json.loads(_core.flow_times(sizes, starts_s, ends_s, small_bytes))
    return found


def pause_s(flows: pl.DataFrame, channels: int, start_s: float, duration_s: float) -> float:
    """For how much of the duration one of the channels had no flow under way, on average."""
    return _core.pause_s(flows["start_s"].to_list(), flows["end_s"].to_list(), channels, start_s, duration_s)
