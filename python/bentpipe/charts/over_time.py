"""One run on one clock: rates, queue and drops, windows, round-trip times, what is in flight.

A panel is left out where there is nothing to draw, and only then.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bentpipe.charts import holders, progress, windows
from bentpipe.charts.description import Axis, Chart, Dash, Level, Mark, Panel, Role, Series
from bentpipe.charts.wording import duration, listed, percent, plural, point_words, rate, size
from bentpipe.results.asked import (
    base_rtt_s,
    capacity_bit_s,
    direction_of,
    queue_limit_bytes,
    workload_spec,
)
from bentpipe.results.called import called
from bentpipe.results.cells import is_imported
from bentpipe.results.schema import DROP_CAUSES
from bentpipe.results.store import Results

_PIPES = ("down", "up")
_SOCKET = ("ip", "local_port", "remote_port")
"""What tells a host's sockets apart."""
_DATA_BYTES = 100_000
"""A socket that sent less than this carried control messages, not a workload's payload."""
_SOCKETS_DRAWN = 32
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
class _Run:
    record: Mapping[str, Any]
    link: pl.DataFrame
    senders: Mapping[str, list[pl.DataFrame]]
    """Samples of each socket that sent payload, by direction."""
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
    sockets = results.of_run(name, "sockets")
    run = _Run(
        record=record,
        link=link,
        senders=_senders(sockets),
        flows=results.of_run(name, "flows"),
        pings=results.of_run(name, "pings").sort("time_s"),
        bin_s=_bin_s(link),
    )
    every = [windows.panel(run.senders[d], _receivers(sockets, run.senders[d]), d) for d in _PIPES]
    found = (
        _rates(run),
        _queue(run),
        _drops(run),
        *(panel for d in _PIPES for panel in holders.panels(record, link, sockets, d)),
        progress.panel(record, run.flows, sockets),
        *every,
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


def _senders(sockets: pl.DataFrame) -> dict[str, list[pl.DataFrame]]:
    """By direction, the largest first, and no more than can be drawn."""
    found = {}
    for direction, host in (("down", "server"), ("up", "client")):
        of_host = sockets.filter(pl.col("host") == host)
        sent = of_host.group_by(_SOCKET, maintain_order=True).agg(pl.col("bytes_sent").max().alias("sent"))
        payload = sent.filter(
            (pl.col("sent") >= _DATA_BYTES) | (pl.col("sent").is_null() & pl.col("local_port").is_not_null())
        ).sort("sent", descending=True, maintain_order=True)
        largest = payload.head(_SOCKETS_DRAWN).select(_SOCKET)
        found[direction] = list(_parted(of_host, largest, _SOCKET).values())
    return found


def _parted(
    sockets: pl.DataFrame, wanted: pl.DataFrame, keys: Sequence[str]
) -> dict[tuple[Any, ...], pl.DataFrame]:
    """The samples of each wanted socket that has any, in that order and by time."""
    samples = sockets.join(wanted, on=keys, how="semi", nulls_equal=True).sort("time_s", maintain_order=True)
    parts = samples.partition_by(keys, as_dict=True)
    return {key: parts[key] for key in wanted.iter_rows() if key in parts}


def _receivers(sockets: pl.DataFrame, senders: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """The other ends of these, each at its host."""
    if not senders:
        return []
    ends = pl.concat([sender.select("host", *_SOCKET).head(1) for sender in senders])
    elsewhere = sockets.filter(~pl.col("host").is_in(ends["host"].unique().to_list()))
    ends = ends.select("ip", local_port="remote_port", remote_port="local_port")
    return list(_parted(elsewhere, ends, _SOCKET).values())


def _bin_s(link: pl.DataFrame) -> float:
    times = link["time_s"].unique().sort()
    step = times.diff().drop_nulls().min() if times.len() > 1 else None
    return float(step) if isinstance(step, float) and step > 0 else 0.1


def _rates(run: _Run) -> Panel | None:
    if run.link.is_empty():
        told = tuple(_per_second(run))
        return Panel("rate", "Rate, second by second", "", Axis("rate", "Mbit/s"), told) if told else None
    series, parts = [], []
    for pipe in run.directions or _PIPES:
        of_pipe = run.link.filter(pl.col("pipe") == pipe)
        x = of_pipe["time_s"].to_list()
        for name, dash, faint in (("throughput", Dash.DOTTED, True), ("goodput", Dash.SOLID, False)):
            y = (of_pipe[f"{name}_bytes"] * (8e-6 / run.bin_s)).to_list()
            series.append(Series(f"{name} {pipe}", x, y, Role(pipe), Mark.STEPS, dash, faint=faint))
        parts.append(_rate_sentence(run, pipe, of_pipe))
    series += _per_second(run)
    levels: list[Level] = []
    for pipe in run.directions:
        capacity = capacity_bit_s(run.record, pipe)
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


def _rate_sentence(run: _Run, pipe: str, of_pipe: pl.DataFrame) -> str:
    moving = of_pipe.filter(pl.col("goodput_bytes") > _MOVING_SHARE * pl.col("goodput_bytes").max())
    if moving.is_empty():
        return f"No TCP payload went {pipe}."
    first, last = moving["time_s"][0], moving["time_s"][-1] + run.bin_s
    mean = moving["goodput_bytes"].sum() * 8 / (last - first)
    best = float(moving["goodput_bytes"].to_numpy().max()) * 8 / run.bin_s
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
            if not run.link.is_empty():  # the last of the seconds may be a part of one, cut by the run's end
                ends = min(ends, float(run.link["time_s"].to_numpy().max()) + run.bin_s)
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
        host, local, remote = socket.select("host", "local_port", "remote_port").row(0)
        if ((local, remote) if host == "client" else (remote, local)) in ports:
            seen += socket.filter(pl.col("bytes_sent") > 0)["time_s"].head(1).to_list()
    return min(seen, default=(workload_spec(run.record, workload).get("start_ns") or 0) / 1e9)


def _queue(run: _Run) -> Panel | None:
    held = [pipe for pipe in _PIPES if _most(run.link.filter(pl.col("pipe") == pipe), "queue_bytes_max")]
    if not held:
        return None
    series, parts = [], []
    for pipe in held:
        of_pipe = run.link.filter(pl.col("pipe") == pipe)
        x = of_pipe["time_s"].to_list()
        for name, dash, faint in (("mean", Dash.SOLID, False), ("max", Dash.DOTTED, True)):
            y = (of_pipe[f"queue_bytes_{name}"] / 1000).to_list()
            series.append(Series(f"{name} {pipe}", x, y, Role(pipe), Mark.STEPS, dash, faint=faint))
        longest = of_pipe["queue_delay_s_max"].drop_nulls().to_list()
        waited = f", the longest wait {duration(max(longest))}" if longest else ""
        parts.append(f"the one {pipe} held at most {size(_most(of_pipe, 'queue_bytes_max'))}{waited}")
    limits = {pipe: queue_limit_bytes(run.record, pipe) for pipe in held}
    levels = {
        limit: Level(limit / 1000, f"limit, {size(limit)}", Role.CAPACITY)
        for limit in limits.values()
        if limit
    }
    return Panel(
        "queue",
        "Queue",
        f"Of the queues, {listed(parts)}.",
        Axis("waiting", "kB"),
        tuple(series),
        tuple(levels.values()),
    )


def _drops(run: _Run) -> Panel | None:
    series, parts = [], []
    for pipe in _PIPES:
        of_pipe = run.link.filter(pl.col("pipe") == pipe)
        for cause in DROP_CAUSES:
            dropped = of_pipe.filter(pl.col(f"drops_{cause}") > 0)
            if dropped.is_empty():
                continue
            x = (dropped["time_s"] + run.bin_s / 2).to_list()
            y = dropped[f"drops_{cause}"].to_list()
            dash = Dash.SOLID if pipe == "down" else Dash.DOTTED
            series.append(Series(f"{cause} {pipe}", x, y, Role.DROPS, Mark.BARS, dash, bar_width=run.bin_s))
            parts.append(
                f"{plural(sum(y), 'packet')} {pipe} by {_CAUSES[cause]}, the first at {duration(x[0])}"
            )
    if not series:
        return None
    return Panel(
        "drops",
        f"Drops per {duration(run.bin_s)}",
        f"The path dropped {listed(parts)}.",
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
        name = largest["congestion_control"].drop_nulls().to_list()
        peak = _most(largest, "cwnd_segments")
        at = largest.filter(pl.col("cwnd_segments") == peak)["time_s"][0] if peak else 0.0
        start = "" if is_imported(run.record) else f"; {_slow_start(largest)}"
        window = f"{name[-1].upper()}'s window" if name else "The window"
        parts.append(f"{window} {direction} peaks at {plural(peak, 'segment')}, at {duration(at)}{start}.")
    series = [s for s in series if any(value is not None for value in s.y)]
    if not series:
        return None
    return Panel("cwnd", "Congestion window", " ".join(parts), Axis("window", "segments"), tuple(series))


def _slow_start(socket: pl.DataFrame) -> str:
    """How it ended: never, by a delay (HyStart) before anything was lost, or by loss."""
    ended = socket.drop_nulls("ssthresh_segments")
    if ended.is_empty():
        return "slow start never ended"
    count = _most(socket, "retransmits")
    again = f"{plural(count, 'segment')} {'was' if count == 1 else 'were'} sent again"
    first = ended.row(0, named=True)
    if first["retransmits"] == 0:
        at = plural(first["ssthresh_segments"], "segment")
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
        smooth, lowest = largest["srtt_s"].drop_nulls(), largest["min_rtt_s"].drop_nulls()
        if not smooth.is_empty() and not lowest.is_empty():
            least = float(lowest.to_numpy().min())
            over = float(smooth.to_numpy().max()) - least
            parts.append(
                f"srtt {direction} rises at most {duration(over)} above min_rtt."
                if over > 0.01 * least
                else f"srtt {direction} stays within 1 % of min_rtt."
            )
    answered = run.pings.drop_nulls("rtt_s")
    if not answered.is_empty():
        x, y = answered["time_s"].to_list(), (answered["rtt_s"] * 1000).to_list()
        series.append(Series("ping", x, y, Role.PING, Mark.POINTS))
        lost = run.pings.height - answered.height
        middle = statistics.median(y)
        parts.append(
            f"The pings' median is {duration(middle / 1000)}; "
            f"of {run.pings.height}, {lost or 'none'} got lost."
        )
    series = [s for s in series if any(value is not None for value in s.y)]
    if not series:
        return None
    base_s = base_rtt_s(run.record)
    levels = (Level(base_s * 1e3, f"base RTT set, {duration(base_s)}", Role.CAPACITY),) if base_s else ()
    return Panel(
        "rtt", "Round-trip time", " ".join(parts), Axis("RTT", "ms", from_zero=False), tuple(series), levels
    )


def _of_socket(
    socket: pl.DataFrame,
    column: str,
    label: str,
    direction: str,
    number: int,
    *,
    dash: Dash = Dash.SOLID,
    scale: float = 1.0,
) -> Series:
    values = [None if value is None else value * scale for value in socket[column].to_list()]
    x = socket["time_s"].to_list()
    return Series(
        label, x, values, Role(direction), dash=dash, in_legend=number == 0, faint=dash != Dash.SOLID
    )


def _most(frame: pl.DataFrame, column: str) -> int:
    values: Sequence[int] = frame[column].drop_nulls().to_list()
    return max(values, default=0)
