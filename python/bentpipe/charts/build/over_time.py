"""One run on one clock: rates, queue and drops, windows, round-trip times, what is in flight.

A panel is left out where there is nothing to draw, and only then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from bentpipe.analysis.cells import is_imported
from bentpipe.charts.build import answers, holders, progress, tunnel_delay, windows
from bentpipe.charts.build.socket_samples import Floats, RunSockets, Socket, floats, listed
from bentpipe.charts.description import Axis, Chart, Dash, Level, Mark, Panel, Role, Series
from bentpipe.runs.asked import (
    base_rtt_s,
    capacity_bit_s,
    direction_of,
    queue_limit_bytes,
    workload_spec,
)
from bentpipe.runs.called import called
from bentpipe.runs.path_ends import of_the_path
from bentpipe.runs.schema import DROP_CAUSES
from bentpipe.runs.store import Results
from bentpipe.words.direction import Direction
from bentpipe.words.wording import duration, percent, plural, point_words, rate, size
from bentpipe.words.wording import listed as in_words

_PIPES = tuple(Direction)
_SOCKET_COLUMNS = (
    "time_s",
    "host",
    "ip",
    "local_port",
    "remote_port",
    "state",
    "congestion_control",
    "cwnd_segments",
    "ssthresh_segments",
    "mss_bytes",
    "srtt_s",
    "min_rtt_s",
    "in_flight_bytes",
    "bytes_sent",
    "bytes_acked",
    "retransmits",
    "snd_wnd_bytes",
    "rcv_wnd_bytes",
    "sndbuf_bytes",
)
_MOVING_SHARE = 0.005
"""Of the best bin: what has less carried the words that iperf3's two ends exchange, not the transfer."""


_CAUSES = {
    "tail": "tail drop",
    "aqm": "the queue discipline",
    "policer": "the policer",
    "ingress": "loss before the queue",
    "line": "the delay line's limit",
    "channel": "the channel's loss",
    "outage": "an outage",
}


@dataclass(frozen=True)
class _Pipe:
    """A pipe's bins, by time."""

    table: pl.DataFrame

    def __getitem__(self, column: str) -> Floats:
        return floats(self.table[column])

    @cached_property
    def time_s(self) -> list[float]:
        return self.table["time_s"].to_list()


@dataclass(frozen=True)
class _Run:
    record: Mapping[str, Any]
    pipes: Mapping[str, _Pipe]
    """By name; empty where nothing was counted."""
    senders: Mapping[str, list[Socket]]
    """Each socket that sent payload, by direction."""
    flows: pl.DataFrame
    pings: pl.DataFrame
    bin_s: float

    @property
    def directions(self) -> list[str]:
        """Those in which a workload sent payload."""
        return [d for d in _PIPES if self.senders[d]]


def build(results: Results, record: Mapping[str, Any]) -> Chart | None:
    """None for a run that measured nothing over time."""
    name = record["run"]
    link = results.of_run(name, "link").sort("time_s")
    sockets = RunSockets(of_the_path(results.of_run(name, "sockets", columns=_SOCKET_COLUMNS), record))
    pipes = link.partition_by("pipe", as_dict=True)
    run = _Run(
        record=record,
        pipes={pipe: _Pipe(pipes.get((pipe,), link.clear())) for pipe in _PIPES} if link.height else {},
        senders={direction: sockets.senders(direction) for direction in _PIPES},
        flows=results.of_run(name, "flows"),
        pings=results.of_run(name, "pings").sort("time_s"),
        bin_s=_bin_s(link),
    )
    found = (
        _rates(run),
        _queue(run),
        _drops(run),
        tunnel_delay.panel(record),
        *(panel for d in _PIPES for panel in holders.panels(record, link, sockets, d)),
        progress.panel(record, run.flows, sockets),
        *(windows.panel(run.senders[d], sockets.receivers(run.senders[d]), d) for d in _PIPES),
        _windows(run),
        _round_trips(run),
    )
    panels = tuple(panel for panel in found if panel is not None)
    if not panels:
        return None
    return Chart(
        name=f"over-time-{name}",
        title=heading(record),
        sentence="",
        x=Axis("time", "s"),
        panels=panels,
    )


def heading(record: Mapping[str, Any]) -> str:
    """A run in a few words: its variant, its point, and its seed, which only counts what was imported."""
    point = point_words(record.get("point", {}))
    counted = "repeat" if is_imported(record) else "seed"
    return ", ".join([*point, record.get("variant", "as is"), f"{counted} {record.get('seed', 1)}"])


def _bin_s(link: pl.DataFrame) -> float:
    times = np.unique(link["time_s"].to_numpy())
    step = float(np.diff(times).min()) if times.size > 1 else 0.0
    return step if step > 0 else 0.1


def _rates(run: _Run) -> Panel | None:
    if not run.pipes:
        told = tuple(_per_second(run))
        return Panel("rate", "Rate, second by second", "", Axis("rate", "Mbit/s"), told) if told else None
    series, parts = [], []
    for name in run.directions or _PIPES:
        pipe = run.pipes[name]
        for figure, dash, faint in (("throughput", Dash.DOTTED, True), ("goodput", Dash.SOLID, False)):
            y = listed(pipe[f"{figure}_bytes"] * (8e-6 / run.bin_s))
            series.append(
                Series(f"{figure} {name}", pipe.time_s, y, Role(name), Mark.STEPS, dash, faint=faint)
            )
        parts.append(_rate_sentence(run, name))
    series += _per_second(run)
    levels: list[Level] = []
    for name in run.directions:
        capacity = capacity_bit_s(run.record, name)
        if capacity is not None and all(level.value != capacity / 1e6 for level in levels):
            levels.append(Level(capacity / 1e6, f"rate set, {rate(capacity)}", Role.CAPACITY))
    return Panel(
        "rate",
        f"Throughput and goodput per {duration(run.bin_s)}",
        " ".join(parts),
        Axis("rate", "Mbit/s"),
        tuple(series),
        tuple(levels),
    )


def _rate_sentence(run: _Run, pipe: str) -> str:
    goodput = run.pipes[pipe]["goodput_bytes"]
    moving = np.flatnonzero(goodput > _MOVING_SHARE * goodput.max(initial=0.0))
    if not moving.size:
        return f"No TCP payload went {pipe}."
    times = run.pipes[pipe].time_s
    first, last = times[moving[0]], times[moving[-1]] + run.bin_s
    mean = float(goodput[moving].sum()) * 8 / max(last - first, run.bin_s)
    best = float(goodput[moving].max()) * 8 / run.bin_s
    capacity = capacity_bit_s(run.record, pipe)
    of = f", {percent(mean / capacity)} of the rate set" if capacity else ""
    return (
        f"Goodput {pipe}, leaving the pipe, averages {rate(mean)}{of} while payload moved, from "
        f"{duration(first)} to {duration(last)}; "
        f"the best {duration(run.bin_s)} had {rate(best)}."
    )


def _per_second(run: _Run) -> Iterable[Series]:
    """As the tool itself says, second by second, from where its workload's payload began."""
    for name, figures in run.record.get("workloads", {}).items():
        values = figures.get("per_second_mbit_s")
        if values and figures.get("kind") == "bulk":
            omitted = (workload_spec(run.record, name).get("omit_ns") or 0) / 1e9
            start = _payload_began(run, name) + omitted
            ends = start + len(values)
            if run.pipes:  # the last of the seconds may be a part of one, cut by the run's end
                last_s = max((pipe.time_s[-1] for pipe in run.pipes.values() if pipe.time_s), default=ends)
                ends = min(ends, last_s + run.bin_s)
            tool = run.record.get("source", {}).get("tool", "iperf3")
            began = [start + second for second in range(len(values)) if start + second < ends]
            yield Series(
                f"{called(run.record, name)}, per second by {tool}",
                [*began, ends],
                [*values[: len(began)], values[max(len(began), 1) - 1]],
                Role(direction_of(run.record, name) or "down"),
                Mark.STEPS,
                Dash.DASHED,
            )


def _payload_began(run: _Run, workload: str) -> float:
    """When a socket of the workload is first seen to have sent; where none is, when the lab starts it.

    iperf3 counts its seconds from there: several round trips after its start, which its two ends talk away.
    """
    flows = run.flows.filter(pl.col("workload") == workload)
    ports = set(flows.select("local_port", "remote_port").iter_rows())
    seen = []
    for socket in (socket for sockets in run.senders.values() for socket in sockets):
        _, local, remote = socket.key
        if ((local, remote) if socket.host == "client" else (remote, local)) in ports:
            seen += socket["time_s"][socket["bytes_sent"] > 0][:1].tolist()
    return min(seen, default=(workload_spec(run.record, workload).get("start_ns") or 0) / 1e9)


def _queue(run: _Run) -> Panel | None:
    most = {name: np.nanmax(pipe["queue_bytes_max"], initial=0.0) for name, pipe in run.pipes.items()}
    held = [name for name in most if most[name] > 0]
    if not held:
        return None
    series, parts = [], []
    for name in held:
        pipe = run.pipes[name]
        for figure, dash, faint in (("mean", Dash.SOLID, False), ("max", Dash.DOTTED, True)):
            y = listed(pipe[f"queue_bytes_{figure}"] * 1e-3)
            series.append(
                Series(f"{figure} {name}", pipe.time_s, y, Role(name), Mark.STEPS, dash, faint=faint)
            )
        longest_s = pipe["queue_delay_s_max"]
        waited = (
            "" if np.isnan(longest_s).all() else f", the longest wait {duration(float(np.nanmax(longest_s)))}"
        )
        parts.append(f"the one {name} held at most {size(float(most[name]))}{waited}")
    limits = {name: queue_limit_bytes(run.record, name) for name in held}
    levels = {
        limit: Level(limit / 1000, f"limit, {size(limit)}", Role.CAPACITY)
        for limit in limits.values()
        if limit
    }
    return Panel(
        "queue",
        "Queue",
        f"Of the queues, {in_words(parts)}.",
        Axis("waiting", "kB"),
        tuple(series),
        tuple(levels.values()),
    )


def _drops(run: _Run) -> Panel | None:
    series, parts = [], []
    for name, pipe in run.pipes.items():
        for cause in DROP_CAUSES:
            dropped = pipe[f"drops_{cause}"]
            rows = np.flatnonzero(dropped > 0)
            if not rows.size:
                continue
            x: list[float] = (pipe["time_s"][rows] + run.bin_s / 2).tolist()
            y: list[float] = dropped[rows].tolist()
            dash = Dash.SOLID if name == "down" else Dash.DOTTED
            series.append(Series(f"{cause} {name}", x, y, Role.DROPS, Mark.BARS, dash, bar_width=run.bin_s))
            parts.append(
                f"{plural(round(sum(y)), 'packet')} {name} by {_CAUSES[cause]}, the first at {duration(x[0])}"
            )
    if not series:
        return None
    return Panel(
        "drops",
        f"Drops per {duration(run.bin_s)}",
        f"The path dropped {in_words(parts)}.",
        Axis("dropped", "packets"),
        tuple(series),
    )


def _windows(run: _Run) -> Panel | None:
    series, parts = [], []
    for direction in run.directions:
        for number, socket in enumerate(run.senders[direction]):
            series += [
                _of_socket(socket, "cwnd_segments", f"cwnd {direction}", direction, number),
                _of_socket(
                    socket, "ssthresh_segments", f"ssthresh {direction}", direction, number, dash=Dash.DOTTED
                ),
            ]
        largest = run.senders[direction][0]
        name = largest.text("congestion_control")
        peak = _most(largest, "cwnd_segments")
        at = float(largest["time_s"][largest["cwnd_segments"] == peak][0]) if peak else 0.0
        start = "" if is_imported(run.record) else f"; {_slow_start(largest)}"
        window = f"{name.upper()}'s window" if name else "The window"
        parts.append(f"{window} {direction} peaks at {plural(peak, 'segment')}, at {duration(at)}{start}.")
    series = [s for s in series if any(value is not None for value in s.y)]
    if not series:
        return None
    return Panel("cwnd", "Congestion window", " ".join(parts), Axis("window", "segments"), tuple(series))


def _slow_start(socket: Socket) -> str:
    """How it ended: never, by a delay (HyStart) before anything was lost, or by loss."""
    ended = np.flatnonzero(~np.isnan(socket["ssthresh_segments"]))
    if not ended.size:
        return "slow start never ended"
    count = _most(socket, "retransmits")
    again = f"{plural(count, 'segment')} {'was' if count == 1 else 'were'} sent again"
    if socket["retransmits"][ended[0]] == 0:
        at = plural(round(socket["ssthresh_segments"][ended[0]]), "segment")
        return f"slow start ended at {at} before any retransmission, {again} in all"
    return again


def _round_trips(run: _Run) -> Panel | None:
    series, parts = [], []
    for direction in run.directions:
        for number, socket in enumerate(run.senders[direction]):
            series += [
                _of_socket(socket, "srtt_s", f"srtt {direction}", direction, number, scale=1000),
                _of_socket(
                    socket,
                    "min_rtt_s",
                    f"min_rtt {direction}",
                    direction,
                    number,
                    dash=Dash.DOTTED,
                    scale=1000,
                ),
            ]
        largest = run.senders[direction][0]
        smooth, lowest = largest["srtt_s"], largest["min_rtt_s"]
        if not np.isnan(smooth).all() and not np.isnan(lowest).all():
            least = float(np.nanmin(lowest))
            over = float(np.nanmax(smooth)) - least
            parts.append(
                f"srtt {direction} rises at most {duration(over)} above min_rtt."
                if over > 0.01 * least
                else f"srtt {direction} stays within 1 % of min_rtt."
            )
    for points, sentence in answers.drawn(run.record, run.pings):
        series.append(points)
        parts.append(sentence)
    series = [s for s in series if any(value is not None for value in s.y)]
    if not series:
        return None
    base_s = base_rtt_s(run.record)
    levels = (Level(base_s * 1e3, f"base RTT set, {duration(base_s)}", Role.CAPACITY),) if base_s else ()
    return Panel(
        "rtt", "Round-trip time", " ".join(parts), Axis("RTT", "ms", from_zero=False), tuple(series), levels
    )


def _of_socket(
    socket: Socket,
    column: str,
    label: str,
    direction: str,
    number: int,
    *,
    dash: Dash = Dash.SOLID,
    scale: float = 1.0,
) -> Series:
    return Series(
        label,
        socket.time_s,
        socket.values(column, scale),
        Role(direction),
        dash=dash,
        in_legend=number == 0,
        faint=dash != Dash.SOLID,
    )


def _most(socket: Socket, column: str) -> int:
    return round(np.nanmax(socket[column], initial=0.0))
