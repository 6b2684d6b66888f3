"""What limited each transfer of a run, from its record and tables alone.

Each sample of a sending socket (every 100 ms) that has data in flight is counted for one limit, the first of
these that holds:

1. `capacity`: the pipe carried 95 % of its rate or more in that bin. Of a pipe whose rate changes: a full
   packet or more waited in its queue on average.
2. `receiver-window`: in flight is 90 % or more of the receive window, which is no larger than cwnd; or the
   sender's TCP counted half of the time since the last sample or more as limited by it (tcp_info).
3. `slow-start`: 90 % or more of cwnd is in flight, and cwnd is below ssthresh.
4. What kept cwnd small, where 90 % or more of it is in flight or TCP repairs losses: the most frequent cause
   of drops in this pipe (`random-loss`, `short-queue`, `aqm`, `policer`, `line-drops`, `outage`). Without
   drops: `congestion-window`.
5. `send-buffer`: so much is in flight that the program waits to write.
6. `sender-application`: all that the program wrote has been sent.
7. `pacing`: of BBR, which sends by its estimate of the rate; or the pacing rate is below cwnd / RTT, as where
   the program bounds it. Linux itself paces CUBIC and Reno at 1.2 cwnd / RTT or twice that.
8. `unknown`.

Samples with nothing in flight between a socket's first data and its last are `sender-application` too. Shares
are of all these samples, over all connections of a transfer that were sampled
with payload. Short connections are sampled rarely or never. Where TCP is split the sender is the proxy's
socket on the path, and the limits are those of the path's connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from bentpipe.analysis.kinds.call import CALL
from bentpipe.analysis.kinds.interactive import INTERACTIVE
from bentpipe.analysis.send_memory import in_flight_at_wake
from bentpipe.analysis.windows import CONGESTION_WINDOW, RECEIVE_WINDOW, SEND_BUFFER, full_windows
from bentpipe.runs.asked import (
    base_rtt_s,
    capacity_bit_s,
    direction_of,
    is_carried,
    path_sender,
    queue_limit_bytes,
)
from bentpipe.runs.called import called
from bentpipe.runs.path_ends import of_the_path
from bentpipe.runs.schema import DROP_CAUSES
from bentpipe.runs.store import Results
from bentpipe.words.direction import Direction

_BUSY = 0.95
"""Share of a pipe's rate at which it counts as busy."""
_PACKET_BYTES = 1500
_CARRY = ("bulk", "http", "channels")
_LOSSES = {
    "tail": "short-queue",
    "aqm": "aqm",
    "policer": "policer",
    "ingress": "random-loss",
    "line": "line-drops",
    "channel": "random-loss",
    "outage": "outage",
}
"""Of each cause of drops, the limit that it makes of a small cwnd."""
_NOT_CONNECTED = ("SYN-SENT", "SYN-RECV", "TIME-WAIT", "CLOSE", "LISTEN")
_SOCKETS = (
    "time_s",
    "host",
    "workload",
    "role",
    "local_port",
    "remote_port",
    "state",
    "congestion_control",
    "ca_state",
    "cwnd_segments",
    "ssthresh_segments",
    "mss_bytes",
    "srtt_s",
    "in_flight_bytes",
    "notsent_bytes",
    "pacing_rate_bit_s",
    "rwnd_limited_s",
    "snd_wnd_bytes",
    "sndbuf_bytes",
)
_PROXIES = ("near", "far")
_CONNECTION = ("local_port", "remote_port")


@dataclass(frozen=True)
class Finding:
    """A limit, and for how much of the time it held."""

    kind: str
    share: float
    """Of the samples."""
    evidence: Mapping[str, Any]
    """Figures with their units in their names."""


@dataclass(frozen=True)
class Transfer:
    """One workload that carried payload."""

    workload: str
    name: str
    """As people read it."""
    kind: str
    direction: str
    sender: str
    """The host whose sockets send on the path."""
    goodput_bit_s: float | None
    capacity_bit_s: float | None
    """The pipe's rate, of all IP bytes; None where it has none, or one that changes."""
    duration_s: float | None
    first_byte_s: float | None
    """From its start to its first byte: the median of its flows."""
    flow_s: float | None
    """How long a flow took: the median of those that finished."""
    flow_bytes: float | None
    flows: int
    connections: int | None
    """Of these flows; None where it is not known, and with a cache, which has others to the server."""
    cache_hits: int | None
    """Flows that a cache at near answered; None without a cache."""
    retransmits: int | None
    sampled: int
    """Connections that were sampled with payload."""
    findings: tuple[Finding, ...]
    """The largest share first; empty where `why_none` says why nothing can be told."""
    why_none: str | None


@dataclass(frozen=True)
class Pipe:
    """What a pipe dropped, and how its queue behaved."""

    name: str
    capacity_bit_s: float | None
    drops: Mapping[str, int]
    """By cause; only those that there were."""
    losses: Mapping[str, int]
    """Of them those that TCP sees: with a tunnel, those that it did not repair."""
    offered_packets: int
    queue: Mapping[str, Any] | None
    """The record's figures (docs/queue-behaviour.md); None where there are none."""
    queue_limit_bytes: float | None
    base_rtt_s: float | None


@dataclass(frozen=True)
class Explained:
    """A run."""

    record: Mapping[str, Any]
    transfers: tuple[Transfer, ...]
    pipes: tuple[Pipe, ...]
    """Those that a transfer sends through."""
    pings: tuple[int, int, float | None] | None
    """Sent, lost, and the median round trip in seconds; None without pings."""
    interactive: Mapping[str, Mapping[str, Any]]
    """The entry of each workload `interactive`."""
    calls: Mapping[str, Mapping[str, Any]]
    """The entry of each workload `call`."""


@dataclass(frozen=True)
class _Tables:
    link: pl.DataFrame
    sockets: pl.DataFrame
    flows: pl.DataFrame


def explain(results: Results, record: Mapping[str, Any]) -> Explained:
    """Of one run; `record` is one of `results.records`."""
    run = record["run"]
    tables = _Tables(
        results.of_run(run, "link"),
        of_the_path(results.of_run(run, "sockets", columns=_SOCKETS), record),
        results.of_run(run, "flows"),
    )
    pipes = {name: _pipe(record, tables.link, name) for name in Direction}
    names = [name for name, figures in record.get("workloads", {}).items() if figures.get("kind") in _CARRY]
    transfers = tuple(_transfer(record, name, tables, pipes) for name in names)
    used = {transfer.direction for transfer in transfers}
    return Explained(
        record,
        transfers,
        tuple(pipe for name, pipe in pipes.items() if name in used),
        _pings(record),
        {name: record["workloads"][name] for name in INTERACTIVE.subjects(record)},
        {name: record["workloads"][name] for name in CALL.subjects(record)},
    )


def _pings(record: Mapping[str, Any]) -> tuple[int, int, float | None] | None:
    for figures in record.get("workloads", {}).values():
        if figures.get("kind") == "ping" and figures.get("sent") is not None:
            median_ms = figures.get("median_ms")
            lost = int(figures.get("lost") or 0)
            return int(figures["sent"]), lost, None if median_ms is None else median_ms / 1000
    return None


def _pipe(record: Mapping[str, Any], link: pl.DataFrame, name: Direction) -> Pipe:
    own = link.filter(pl.col("pipe") == name)
    dropped = {cause: int(own[f"drops_{cause}"].sum() or 0) for cause in DROP_CAUSES}
    return Pipe(
        str(name),
        capacity_bit_s(record, name),
        (drops := {cause: count for cause, count in dropped.items() if count}),
        _unrepaired(record, name, drops),
        int(own["offered_packets"].sum() or 0),
        record.get("queue", {}).get(name),
        queue_limit_bytes(record, name),
        base_rtt_s(record),
    )


def _unrepaired(record: Mapping[str, Any], pipe: str, drops: Mapping[str, int]) -> Mapping[str, int]:
    """What a tunnel lost for good, by cause. It repairs what the channel lost before what a queue dropped."""
    tunnel = (record.get("tunnel") or {}).get(pipe)
    if tunnel is None:
        return drops
    lost = int(tunnel.get("lost") or 0)
    found = {}
    for cause in sorted(drops, key=lambda cause: _LOSSES[cause] == "random-loss"):
        count = 0 if cause == "aqm" and titrates(record, pipe) else min(drops[cause], lost)
        lost -= count
        if count:
            found[cause] = count
    return found


def titrates(record: Mapping[str, Any], pipe: str) -> bool:
    """Whether what the queue discipline dropped are a tunnel's repairs that found no room in time."""
    tunnel = record.get("spec", {}).get("tunnel")
    return isinstance(tunnel, Mapping) and isinstance(tunnel.get(pipe), Mapping)


def _transfer(
    record: Mapping[str, Any],
    workload: str,
    tables: _Tables,
    pipes: Mapping[Direction, Pipe],
) -> Transfer:
    figures = record["workloads"][workload]
    direction = direction_of(record, workload) or Direction.DOWN
    pipe = pipes[direction]
    goodput_mbit_s = figures.get("goodput_mbit_s")
    own_flows = tables.flows.filter(pl.col("workload") == workload)
    first_byte_s = own_flows.select((pl.col("first_byte_s") - pl.col("start_s")).median()).item()
    finished = own_flows.filter(pl.col("outcome") == "finished")
    flow_s = finished.select((pl.col("end_s") - pl.col("start_s")).median()).item()
    samples = _samples(tables, workload, direction, pipe)
    carried = is_carried(record, workload)
    findings = () if carried else _findings(samples, pipe)
    return Transfer(
        workload=workload,
        name=called(record, workload),
        kind=figures["kind"],
        direction=str(direction),
        sender=path_sender(record, direction),
        goodput_bit_s=None if goodput_mbit_s is None else goodput_mbit_s * 1e6,
        capacity_bit_s=pipe.capacity_bit_s,
        duration_s=figures.get("duration_s"),
        first_byte_s=first_byte_s,
        flow_s=flow_s,
        flow_bytes=finished["bytes"].median() if finished.height else None,  # type: ignore[arg-type]
        flows=own_flows.height,
        connections=None if figures.get("cache") else _connections(own_flows),
        cache_hits=(figures.get("cache") or {}).get("hits"),
        retransmits=figures.get("retransmits"),
        sampled=samples.select(pl.struct(_CONNECTION).n_unique()).item() if samples.height else 0,
        findings=findings,
        why_none=None
        if findings
        else "TCP ends at the gateways, so no socket sends on the path"
        if carried
        else _why_none(tables, workload, direction, path_sender(record, direction)),
    )


def _connections(flows: pl.DataFrame) -> int | None:
    """Several flows may follow one another on a connection."""
    ports = flows.select(_CONNECTION)
    known = ports.height and not ports.select(pl.any_horizontal(pl.all().is_null()).any()).item()
    return ports.n_unique() if known else None


def _why_none(tables: _Tables, workload: str, direction: Direction, sender: str) -> str:
    sockets, link = tables.sockets, tables.link
    if sockets.is_empty():
        return "the run has no samples of sockets"
    if link.is_empty():
        return "the run has no table of its link"
    own = sockets.filter((pl.col("workload") == workload) & (pl.col("host") == direction.sender))
    if own.is_empty():
        return f"no socket of it was sampled at {sender if sender in _PROXIES else f'the {sender}'}"
    return "no socket of it was sampled while it sent payload"


def _samples(tables: _Tables, workload: str, direction: Direction, pipe: Pipe) -> pl.DataFrame:
    """The samples that count, each with the bin of the pipe in which it lies."""
    own = tables.sockets.filter(
        (pl.col("workload") == workload)
        & (pl.col("host") == direction.sender)
        & (pl.col("role").fill_null("data") != "control")
        & ~pl.col("state").is_in(_NOT_CONNECTED).fill_null(True)
    ).sort("time_s")
    bins = tables.link.filter(pl.col("pipe") == direction).sort("time_s")
    if own.is_empty() or bins.is_empty():
        return own.clear()
    sends = pl.col("in_flight_bytes") > 0
    between = (pl.col("time_s") >= pl.col("time_s").filter(sends).min().over(_CONNECTION)) & (
        pl.col("time_s") <= pl.col("time_s").filter(sends).max().over(_CONNECTION)
    )
    bin_s = float(bins.select(pl.col("time_s").unique().sort().diff().median()).item() or 0.1)
    carried = pl.col("throughput_bytes") * 8 / bin_s
    busy = (
        pl.col("queue_bytes_mean") >= _PACKET_BYTES
        if pipe.capacity_bit_s is None
        else carried >= _BUSY * pipe.capacity_bit_s
    )
    limited_s = pl.col("rwnd_limited_s").diff().over(_CONNECTION)
    since_s = pl.col("time_s").diff().over(_CONNECTION)
    return (
        own.with_columns((limited_s >= since_s / 2).fill_null(False).alias("rwnd_limited"))
        .filter(between)
        .join_asof(
            bins.select("time_s", "throughput_bytes", "queue_bytes_mean"), on="time_s", strategy="backward"
        )
        .with_columns(busy.fill_null(False).alias("busy"))
    )


def _findings(samples: pl.DataFrame, pipe: Pipe) -> tuple[Finding, ...]:
    if samples.is_empty():
        return ()
    cwnd = pl.col("cwnd_segments") * pl.col("mss_bytes")
    woken_at = in_flight_at_wake(
        pl.col("sndbuf_bytes"),  # type: ignore[type-var]
        cwnd,
        pl.col("srtt_s"),
        pl.col("mss_bytes"),
        smaller=pl.min_horizontal,
        larger=pl.max_horizontal,
    )
    full = full_windows(pl.col("in_flight_bytes"), cwnd, pl.col("snd_wnd_bytes"), woken_at)
    is_full = {name: each.fill_null(False) for name, each in full.items()}
    in_slow_start = pl.col("ssthresh_segments").is_null() | (
        pl.col("cwnd_segments") < pl.col("ssthresh_segments")
    )
    repairs = pl.col("ca_state").is_in(["recovery", "loss"]).fill_null(False)
    small_window = _LOSSES[max(pipe.losses, key=lambda cause: pipe.losses[cause])] if pipe.losses else None
    held_back = pl.col("pacing_rate_bit_s") * pl.col("srtt_s") < 8 * cwnd
    of_bbr = pl.col("congestion_control").str.starts_with("bbr")
    kind = (
        pl.when(pl.col("in_flight_bytes") == 0)
        .then(pl.lit("sender-application"))
        .when("busy")
        .then(pl.lit("capacity"))
        .when(pl.col("rwnd_limited") | (is_full[RECEIVE_WINDOW] & (pl.col("snd_wnd_bytes") <= cwnd)))
        .then(pl.lit("receiver-window"))
        .when(is_full[CONGESTION_WINDOW] & in_slow_start & ~repairs)
        .then(pl.lit("slow-start"))
        .when(is_full[CONGESTION_WINDOW] | repairs)
        .then(pl.lit(small_window or "congestion-window"))
        .when(is_full[SEND_BUFFER])
        .then(pl.lit("send-buffer"))
        .when((pl.col("notsent_bytes") == 0).fill_null(False))
        .then(pl.lit("sender-application"))
        .when(of_bbr.fill_null(False) | held_back.fill_null(False))
        .then(pl.lit("pacing"))
        .otherwise(pl.lit("unknown"))
    )
    counted = (
        samples.with_columns(kind.alias("kind"), cwnd.alias("cwnd_bytes"))
        .group_by("kind")
        .agg(
            pl.len().alias("samples"),
            pl.col("cwnd_bytes").median(),
            pl.col("snd_wnd_bytes").median(),
            pl.col("sndbuf_bytes").median(),
            pl.col("in_flight_bytes").median(),
            pl.col("srtt_s").median(),
            pl.col("pacing_rate_bit_s").median(),
            of_bbr.fill_null(False).any().alias("of_bbr"),
        )
        .sort("samples", "kind", descending=[True, False])
    )
    total = samples.height
    return tuple(
        Finding(row["kind"], row["samples"] / total, _evidence(row, pipe))
        for row in counted.iter_rows(named=True)
    )


_OF_SAMPLES = {
    "capacity": ("srtt_s",),
    "receiver-window": ("snd_wnd_bytes", "srtt_s"),
    "send-buffer": ("sndbuf_bytes", "in_flight_bytes", "srtt_s"),
    "sender-application": (),
    "pacing": ("of_bbr", "pacing_rate_bit_s", "cwnd_bytes", "srtt_s"),
}
_OF_WINDOWS = ("cwnd_bytes", "srtt_s")


def _evidence(row: Mapping[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Medians over the samples of the limit, and what of the path belongs to it."""
    found = {column: row[column] for column in _OF_SAMPLES.get(row["kind"], _OF_WINDOWS)}
    if row["kind"] in {"capacity", "slow-start"}:
        found["rate_bit_s"] = pipe.capacity_bit_s
    if row["kind"] == "short-queue":
        found["queue_bytes"] = pipe.queue_limit_bytes
    causes = [cause for cause, kind in _LOSSES.items() if kind == row["kind"]]
    if causes:
        found["dropped_packets"] = sum(pipe.losses.get(cause, 0) for cause in causes)
        found["offered_packets"] = pipe.offered_packets
        found["other_drops"] = _by_kind(pipe, without=row["kind"])
    return found


def _by_kind(pipe: Pipe, *, without: str) -> dict[str, int]:
    """Packets that were dropped for other reasons, by the limit that they would be; the most first."""
    found: dict[str, int] = {}
    for cause, count in pipe.losses.items():
        if _LOSSES[cause] != without:
            found[_LOSSES[cause]] = found.get(_LOSSES[cause], 0) + count
    return dict(sorted(found.items(), key=lambda each: -each[1]))
