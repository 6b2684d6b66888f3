"""A capture's samples at equal distances: it has one only where packets passed.

A sample stands for the time since the one before, so a second in which nothing came would be one sample,
that of the packet that ended it. As with a socket that is read again and again, what was there before stays
until a packet changes it. Where nothing more was in flight (`gap`), nothing is.
"""

import numpy as np
import polars as pl

_MOST_SAMPLES = 20_000
_LEAST_S = 0.01


def regular(frame: pl.DataFrame, events: pl.DataFrame, width_s: float) -> pl.DataFrame:
    """The samples of one connection, each at the end of a bin as wide as the capture's bins, from its first
    packet to its last."""
    if frame.height < 2:
        return frame
    frame = frame.sort("time_s")
    time_s = frame["time_s"].to_numpy()
    begin_s, end_s = float(time_s[0]), float(time_s[-1])
    width_s = max(width_s, _LEAST_S, (end_s - begin_s) / _MOST_SAMPLES)
    count = int(np.ceil((end_s - begin_s) / width_s)) + 1
    grid = begin_s + width_s * np.arange(count)
    places = np.maximum(np.searchsorted(time_s, grid, side="right") - 1, 0)
    known = frame.with_columns(pl.all().forward_fill())
    found = known[places].with_columns(pl.Series("time_s", np.minimum(grid, end_s)))
    if not events.height:
        return found
    gaps = events.filter(pl.col("kind") == "gap")
    idle = np.zeros(count, bool)
    for start_s, lasted_s in zip(gaps["time_s"], gaps["lasted_s"], strict=True):
        idle |= (grid >= start_s) & (grid < start_s + (lasted_s or 0.0))
    return found.with_columns(
        pl.when(pl.Series(idle)).then(0).otherwise(pl.col(name)).cast(pl.Int64).alias(name)
        for name in ("outstanding_bytes", "in_flight_bytes")
    )
