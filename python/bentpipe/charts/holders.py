"""Which flows hold a queue, and whether the long ones swing together.

What a flow has in the queue is what it sends through it times the wait there (Little's law): in flight x
wait / RTT, from its sender's samples and the wait of the packets that leave in the same bin.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from bentpipe.charts.description import Axis, Dash, Panel, Role, Series
from bentpipe.charts.wording import percent, plural, size

_NAMED = 4
"""Flows that are drawn by themselves; the others together."""
_DASHES = (Dash.SOLID, Dash.DASHED, Dash.DOTTED, Dash.DASH_DOT)
_FEWEST = 2


def panels(
    record: Mapping[str, Any], link: pl.DataFrame, sockets: pl.DataFrame, pipe: str
) -> Sequence[Panel]:
    """Nothing for a run without `channels`, or whose queue never held anything."""
    kinds = {figures.get("kind") for figures in record.get("workloads", {}).values()}
    if "channels" not in kinds:
        return ()
    held = _held(link.filter(pl.col("pipe") == pipe), sockets, pipe)
    if held.is_empty():
        return ()
    totals = held.group_by("flow").agg(pl.col("held_bytes").sum()).filter(pl.col("held_bytes") > 0)
    order = totals.sort("held_bytes", "flow", descending=True)["flow"].to_list()
    if len(order) < _FEWEST:
        return ()
    longest = order[:_NAMED]
    return _queue(held, longest, len(order), pipe), _windows(held, longest, pipe)


def _held(link: pl.DataFrame, sockets: pl.DataFrame, pipe: str) -> pl.DataFrame:
    """time_s, flow, cwnd_bytes, held_bytes: one row for each sample of a sender."""
    sender = "server" if pipe == "down" else "client"
    waits = link.select("time_s", pl.col("queue_delay_s_mean").fill_null(0).alias("wait_s")).sort("time_s")
    samples = sockets.filter((pl.col("host") == sender) & (pl.col("srtt_s") > 0)).sort("time_s")
    return samples.join_asof(waits, on="time_s").select(
        "time_s",
        pl.format("{}-{}", "local_port", "remote_port").alias("flow"),
        (pl.col("cwnd_segments") * pl.col("mss_bytes")).alias("cwnd_bytes"),
        (pl.col("in_flight_bytes") * pl.col("wait_s") / pl.col("srtt_s")).alias("held_bytes"),
    )


def _queue(held: pl.DataFrame, longest: Sequence[str], flows: int, pipe: str) -> Panel:
    times = held.select("time_s").unique().sort("time_s")
    series = []
    for flow, dash in zip(longest, _DASHES, strict=False):
        own = held.filter(pl.col("flow") == flow)
        series.append(_line(f"flow {longest.index(flow) + 1}", own, "held_bytes", Role(pipe), dash))
    others = held.filter(~pl.col("flow").is_in(longest)).group_by("time_s").agg(pl.col("held_bytes").sum())
    rest = times.join(others, on="time_s", how="left").fill_null(0).sort("time_s")
    series.append(_line(f"the other {flows - len(longest)}", rest, "held_bytes", Role.RIVAL, Dash.SOLID))
    all_bytes = float(held["held_bytes"].sum())
    of_longest = float(held.filter(pl.col("flow").is_in(longest))["held_bytes"].sum())
    share = percent(of_longest / all_bytes) if all_bytes else "none"
    return Panel(
        f"holders-{pipe}",
        f"Who holds the queue {pipe}",
        f"The {plural(len(longest), 'flow')} that hold most of it, of {flows}, have {share} of what waits: "
        "in flight x wait / RTT.",
        Axis("waiting", "kB"),
        tuple(series),
    )


def _windows(held: pl.DataFrame, longest: Sequence[str], pipe: str) -> Panel:
    series = tuple(
        _line(
            f"flow {number}",
            held.filter(pl.col("flow") == flow),
            "cwnd_bytes",
            Role.CWND,
            dash,
        )
        for number, (flow, dash) in enumerate(zip(longest, _DASHES, strict=False), 1)
    )
    peak = max((value for line in series for value in line.y if value is not None), default=0)
    return Panel(
        f"joint-{pipe}",
        f"Congestion windows of these flows {pipe}",
        f"Up to {size(peak * 1000)}; what goes down together was hit by the same loss episode.",
        Axis("cwnd", "kB"),
        series,
    )


def _line(label: str, frame: pl.DataFrame, column: str, role: Role, dash: Dash) -> Series:
    y = [None if value is None else value / 1000 for value in frame[column].to_list()]
    return Series(label, frame["time_s"].to_list(), y, role, dash=dash)
