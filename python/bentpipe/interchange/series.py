"""A run as series over time: what flent keeps of a test, and names as flent's own tests name it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bentpipe.runs.asked import direction_of, workload_spec
from bentpipe.runs.store import Results
from bentpipe.runs.summary import BIN_S
from bentpipe.words.direction import Direction

Value = dict[str, Any]
"""`t` in seconds on the run's clock, `val`, `dur` where it is a mean over the time before; or other keys."""
_WAYS = {Direction.DOWN: "TCP download", Direction.UP: "TCP upload"}
_PIPES = ("down", "up")


@dataclass
class Series:
    name: str
    unit: str
    values: list[Value]
    workload: str | None = None
    """Whose figures these are; None: a pipe's."""
    mean: float | None = None
    least: float | None = None
    most: float | None = None
    also: dict[str, str] = field(default_factory=dict)
    """Other keys of the values that are series of their own, and their units."""


def of_run(results: Results, record: Mapping[str, Any]) -> Iterator[Series]:
    run = record["run"]
    link = results.of_run(run, "link").sort("time_s")
    flows, sockets = results.of_run(run, "flows"), results.of_run(run, "sockets")
    pings = results.of_run(run, "pings").sort("time_s", "sequence")
    names = _names(record)
    for workload, entry in record.get("workloads", {}).items():
        name = names.get(workload)
        match entry.get("kind"):
            case "bulk" if name:
                windows = _windows(flows.filter(pl.col("workload") == workload), sockets)
                rates = _rates(record, workload, link, alone=not name[-1].isdigit())
                values = sorted([*rates, *windows], key=lambda value: float(value["t"]))
                also = {"tcp_cwnd": "segments", "tcp_rtt": "ms", "tcp_rtt_var": "ms"} if windows else {}
                yield Series(name, "Mbits/s", values, workload, entry.get("goodput_mbit_s"), also=also)
            case "ping" if name:
                of_pings = pings.filter(pl.col("workload") == workload)
                yield Series(name, "ms", list(_echoes(of_pings)), workload, *_spread(entry))
            case "http" if name:
                yield Series(name, "ms", list(_pages(entry)), workload)
    for pipe in _PIPES:
        yield from _of_pipe(link.filter(pl.col("pipe") == pipe), pipe)


def _names(record: Mapping[str, Any]) -> dict[str, str]:
    """Several of a kind are numbered, as flent numbers streams."""
    grouped: dict[str, list[str]] = {}
    for workload, entry in record.get("workloads", {}).items():
        kinds = {"ping": "Ping (ms) ICMP", "http": "HTTP latency"}
        if entry.get("kind") == "bulk":
            grouped.setdefault(_WAYS[direction_of(record, workload) or Direction.DOWN], []).append(workload)
        elif entry.get("kind") in kinds:
            grouped.setdefault(kinds[entry["kind"]], []).append(workload)
    return {
        workload: f"{name}::{number}" if len(workloads) > 1 else name
        for name, workloads in grouped.items()
        for number, workload in enumerate(workloads, 1)
    }


def _rates(record: Mapping[str, Any], workload: str, link: pl.DataFrame, *, alone: bool) -> list[Value]:
    """Bin by bin as it left the pipe, where nothing else did; else second by second, as the workload says."""
    entries = record.get("workloads", {}).values()
    alone = alone and all(entry.get("kind") in {"bulk", "ping"} for entry in entries)
    of_pipe = link.filter(pl.col("pipe") == (direction_of(record, workload) or Direction.DOWN))
    moving = of_pipe.filter(pl.col("goodput_bytes") > 0)
    if alone and not moving.is_empty():
        began, ended = moving["time_s"][0], moving["time_s"][-1]
        within = of_pipe.filter(pl.col("time_s").is_between(began, ended))
        return [
            {"t": at + BIN_S, "dur": BIN_S, "val": carried * 8e-6 / BIN_S}
            for at, carried in within.select("time_s", "goodput_bytes").iter_rows()
        ]
    asked = workload_spec(record, workload)
    began = ((asked.get("start_ns") or 0) + (asked.get("omit_ns") or 0)) / 1e9
    by_second = record["workloads"][workload].get("per_second_mbit_s") or []
    return [{"t": began + second, "dur": 1.0, "val": rate} for second, rate in enumerate(by_second, 1)]


def _windows(flows: pl.DataFrame, sockets: pl.DataFrame) -> list[Value]:
    """The sender's, of a workload with one connection. Of several there is no one window."""
    if flows.height != 1:
        return []
    flow = flows.row(0, named=True)
    sender = flow["server"] if flow["direction"] == "down" else flow["client"]
    ports = (flow["local_port"], flow["remote_port"])
    local, remote = ports if sender == flow["client"] else ports[::-1]
    own = sockets.filter(
        pl.col("host") == sender,
        pl.col("local_port").eq_missing(local),
        pl.col("remote_port").eq_missing(remote),
    )
    wanted = own.select(
        t=pl.col("time_s"),
        tcp_cwnd=pl.col("cwnd_segments"),
        tcp_rtt=pl.col("srtt_s") * 1000,
        tcp_rtt_var=pl.col("rttvar_s") * 1000,
    )
    known = wanted.drop_nulls(["tcp_cwnd", "tcp_rtt", "tcp_rtt_var"]).sort("t")
    return known.to_dicts()


def _echoes(pings: pl.DataFrame) -> Iterator[Value]:
    sent = pings.drop_nulls("time_s")  # of what another program lost, nobody may know when it was sent
    for at, sequence, rtt_s in sent.select("time_s", "sequence", "rtt_s").iter_rows():
        answer = {"lost": True} if rtt_s is None else {"val": rtt_s * 1000}
        yield {"t": at, "seq": sequence, **answer}


def _spread(entry: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Mean, least and most; flent's own mean is a ping's."""
    return entry.get("mean_ms"), entry.get("min_ms"), entry.get("max_ms")


def _pages(entry: Mapping[str, Any]) -> Iterator[Value]:
    for fetch in entry.get("per_fetch") or []:
        if fetch.get("total_s") is not None and fetch.get("start_s") is not None:
            yield {"t": fetch["start_s"], "val": fetch["total_s"] * 1000}


def _of_pipe(link: pl.DataFrame, pipe: str) -> Iterator[Series]:
    """What a pipe did, bin by bin. flent has no such series; the names are ours."""
    if link.is_empty():
        return
    drops = pl.sum_horizontal([column for column in link.columns if column.startswith("drops_")])
    figures = {
        f"Link throughput {pipe}": ("Mbits/s", pl.col("throughput_bytes") * (8e-6 / BIN_S)),
        f"Link goodput {pipe}": ("Mbits/s", pl.col("goodput_bytes") * (8e-6 / BIN_S)),
        f"Queue {pipe}": ("kB", pl.col("queue_bytes_mean") / 1000),
        f"Queue delay {pipe}": ("ms", pl.col("queue_delay_s_mean") * 1000),
        f"Drops {pipe}": ("packets", drops),
    }
    for name, (unit, figure) in figures.items():
        known = link.select("time_s", val=figure.cast(pl.Float64)).drop_nulls()
        values = [{"t": at + BIN_S, "dur": BIN_S, "val": value} for at, value in known.iter_rows()]
        mean = known["val"].mean()
        yield Series(name, unit, values, mean=mean if isinstance(mean, float) else None)
