"""The flows that fill a queue, and whether the long ones oscillate together.

What a flow has in the queue is what it sends through it times the wait there (Little's law): in flight x
wait / RTT, from its sender's samples and the wait of the packets that leave in the same bin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bentpipe.charts.build.socket_samples import Floats, RunSockets, floats, listed
from bentpipe.charts.description import Axis, Dash, Panel, Role, Series
from bentpipe.words.direction import Direction
from bentpipe.words.wording import percent, plural, size

_NAMED = 4
"""Flows that are drawn by themselves; the others together."""
_DASHES = (Dash.SOLID, Dash.DASHED, Dash.DOTTED, Dash.DASH_DOT)
_FEWEST = 2


@dataclass(frozen=True)
class _Held:
    """A row for each sample of a sender, by time. A null is NaN."""

    time_s: Floats
    flow: NDArray[np.intp]
    """Its number in `names`."""
    cwnd_bytes: Floats
    held_bytes: Floats
    names: Sequence[str]


def panels(record: Mapping[str, Any], link: pl.DataFrame, sockets: RunSockets, pipe: str) -> Sequence[Panel]:
    """Nothing for a run without `channels`, or whose queue never held anything."""
    kinds = {figures.get("kind") for figures in record.get("workloads", {}).values()}
    if "channels" not in kinds:
        return ()
    held = _held(link.filter(pl.col("pipe") == pipe), sockets, pipe)
    if held is None:
        return ()
    totals = np.bincount(held.flow, np.nan_to_num(held.held_bytes), minlength=len(held.names))
    order = [number for number in np.argsort(-totals, kind="stable").tolist() if totals[number] > 0]
    if len(order) < _FEWEST:
        return ()
    longest = order[:_NAMED]
    return _queue(held, longest, len(order), pipe), _windows(held, longest, pipe)


def _held(link: pl.DataFrame, sockets: RunSockets, pipe: str) -> _Held | None:
    """None if nothing waited, or without samples."""
    bins = link.sort("time_s")
    waits_s = np.nan_to_num(floats(bins["queue_delay_s_mean"]))
    if not waits_s.any():
        return None
    own = [(f"{local}-{remote}", rows) for (_, local, remote), rows in sockets.at(Direction(pipe).sender)]
    if not own:
        return None
    # The last of the name first, so that of flows that hold the same the order is that of their names.
    names = sorted({name for name, _ in own}, reverse=True)
    numbers = {name: number for number, name in enumerate(names)}
    columns = sockets.columns
    rows = np.concatenate([rows for _, rows in own])
    flow = np.repeat([numbers[name] for name, _ in own], [rows.size for _, rows in own])
    kept = np.flatnonzero(columns["srtt_s"][rows] > 0)
    kept = kept[np.lexsort((rows[kept], columns["time_s"][rows[kept]]))]
    rows, flow = rows[kept], flow[kept]
    time_s = columns["time_s"][rows]
    bin_before = np.searchsorted(bins["time_s"].to_numpy(), time_s, side="right") - 1
    wait_s = np.where(bin_before < 0, np.nan, waits_s[bin_before])
    return _Held(
        time_s,
        flow,
        columns["cwnd_segments"][rows] * columns["mss_bytes"][rows],
        columns["in_flight_bytes"][rows] * wait_s / columns["srtt_s"][rows],
        names,
    )


def _queue(held: _Held, longest: Sequence[int], flows: int, pipe: str) -> Panel:
    series = [
        _line(f"flow {number}", held, (held.held_bytes, flow), Role(pipe), dash)
        for number, (flow, dash) in enumerate(zip(longest, _DASHES, strict=False), 1)
    ]
    held_bytes = np.nan_to_num(held.held_bytes)
    is_longest = np.isin(held.flow, longest)
    times, sample = np.unique(held.time_s, return_inverse=True)
    rest_kb: list[float] = (np.bincount(sample, np.where(is_longest, 0.0, held_bytes)) / 1000).tolist()
    series.append(Series(f"the other {flows - len(longest)}", times.tolist(), rest_kb, Role.RIVAL))
    all_bytes, of_longest = float(held_bytes.sum()), float(held_bytes[is_longest].sum())
    share = percent(of_longest / all_bytes) if all_bytes else "none"
    return Panel(
        f"holders-{pipe}",
        f"Who holds the queue {pipe}",
        f"The {plural(len(longest), 'flow')} that hold most of it, of {flows}, have {share} of what waits: "
        "in flight x wait / RTT.",
        Axis("waiting", "kB"),
        tuple(series),
    )


def _windows(held: _Held, longest: Sequence[int], pipe: str) -> Panel:
    series = tuple(
        _line(f"flow {number}", held, (held.cwnd_bytes, flow), Role.CWND, dash)
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


def _line(label: str, held: _Held, of: tuple[Floats, int], role: Role, dash: Dash) -> Series:
    values, flow = of
    rows = np.flatnonzero(held.flow == flow)
    time_s: list[float] = held.time_s[rows].tolist()
    return Series(label, time_s, listed(values[rows] / 1000), role, dash=dash)
