"""The tables that a run leaves behind: one schema for every engine, units in the names.

This is the authority. An engine's spool files carry exactly these headers, docs/results.md is printed from
here (`python -m bentpipe.results`), and a table that differs is refused before it is stored.
A value that could not be known is null, never zero. Times are seconds on the run's own clock, whose zero is
where the lab's `start = "0 s"` lies: what happened before it is negative.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from bentpipe.results.errors import StoreError

FLOAT = pl.Float64()
INTEGER = pl.Int64()
TEXT = pl.String()
FLAG = pl.Boolean()


@dataclass(frozen=True)
class Column:
    name: str
    dtype: pl.DataType
    meaning: str


@dataclass(frozen=True)
class Table:
    name: str
    meaning: str
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @cached_property
    def schema(self) -> pl.Schema:
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)


def _columns(dtype: pl.DataType, meanings: Mapping[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, dtype, meaning) for name, meaning in meanings.items())


DROP_CAUSES = ("tail", "aqm", "policer", "ingress", "line", "channel", "outage")

LINK = Table(
    "link",
    "What each pipe did, bin by bin. Counted at every packet, not sampled.",
    (
        Column("time_s", FLOAT, "start of the bin; bins are 100 ms unless run.json says otherwise"),
        Column("pipe", TEXT, "`down` (server to client) or `up`"),
        *_columns(
            INTEGER,
            {
                "offered_bytes": "IP bytes that arrived at the pipe's entrance",
                "throughput_bytes": "IP bytes that left the pipe",
                "goodput_bytes": "TCP payload that left the pipe for the first time",
                "offered_packets": "packets that arrived at the pipe's entrance",
                "throughput_packets": "packets that left the pipe",
            },
        ),
        Column("queue_bytes_mean", FLOAT, "bytes waiting in the queue, mean over the bin's time"),
        Column("queue_bytes_max", INTEGER, "most bytes that waited at any instant of the bin"),
        Column("queue_bytes_end", INTEGER, "bytes waiting at the bin's end"),
        Column("queue_delay_s_mean", FLOAT, "mean wait of the packets that left the queue; null: none left"),
        Column("queue_delay_s_max", FLOAT, "longest wait of them; null: none left"),
        *_columns(
            INTEGER,
            {
                "drops_tail": "packets that found the queue full",
                "drops_aqm": "packets dropped by the queue discipline",
                "drops_policer": "packets that did not conform to the policer",
                "drops_ingress": "packets lost before the queue",
                "drops_line": "packets that found the delay line full",
                "drops_channel": "packets lost by the channel",
                "drops_outage": "packets lost to an outage",
                "marks": "packets marked (ECN) instead of dropped",
                "duplicates": "packets that the channel delivered a second time",
                "corrupted": "packets that the channel delivered with a flipped bit",
            },
        ),
    ),
)

SOCKETS = Table(
    "sockets",
    "TCP_INFO and SKMEMINFO of both ends' sockets, sampled. A sender's fields mean little on a receiver.",
    (
        Column("time_s", FLOAT, "when the sample was taken"),
        Column("host", TEXT, "`client`, `near` or `server`: whose socket it is"),
        Column("workload", TEXT, "workload that the connection belongs to; null: not known"),
        Column(
            "flow",
            INTEGER,
            "number in `flows`; of several flows on one connection the latest; null: none, or not known",
        ),
        Column(
            "role",
            TEXT,
            "`data`: carries a workload's payload; `control`: iperf3's own messages; `upstream`: between the "
            "cache at near and the server; null: not known",
        ),
        Column("ip", INTEGER, "4 or 6"),
        Column("local_port", INTEGER, "the port at this host"),
        Column("remote_port", INTEGER, "the port at the other host"),
        Column("state", TEXT, "TCP state, as `ss` names it"),
        Column("congestion_control", TEXT, "the socket's congestion control"),
        Column("ca_state", TEXT, "open, disorder, cwr, recovery or loss"),
        Column("cwnd_segments", INTEGER, "congestion window"),
        Column("ssthresh_segments", INTEGER, "slow start threshold; null: still infinite"),
        Column("mss_bytes", INTEGER, "sending maximum segment size"),
        Column("srtt_s", FLOAT, "smoothed round-trip time"),
        Column("rttvar_s", FLOAT, "its mean deviation"),
        Column("min_rtt_s", FLOAT, "lowest round-trip time of the kernel's window"),
        Column("rto_s", FLOAT, "retransmission timeout"),
        Column("backoff", INTEGER, "how often the timeout has been doubled"),
        *_columns(
            INTEGER,
            {
                "unacked_segments": "sent and not acknowledged",
                "sacked_segments": "of these, selectively acknowledged",
                "lost_segments": "of these, taken for lost",
                "retrans_segments": "retransmitted and now out",
                "reordering": "reordering degree that the sender assumes, in segments",
                "in_flight_bytes": "(unacked - sacked - lost + retrans) x mss",
                "bytes_sent": "payload sent so far, retransmissions too",
                "bytes_acked": "payload acknowledged so far",
                "bytes_received": "payload received so far, in order",
                "bytes_retrans": "payload retransmitted so far",
                "segments_out": "segments sent so far",
                "segments_in": "segments received so far",
                "retransmits": "segments retransmitted so far",
                "delivered": "segments delivered so far, as the sender knows",
            },
        ),
        Column("delivery_rate_bit_s", FLOAT, "the kernel's latest delivery rate"),
        Column("pacing_rate_bit_s", FLOAT, "pacing rate; null: not limited"),
        Column("app_limited", FLAG, "the delivery rate was limited by the application"),
        Column("busy_s", FLOAT, "time with data in flight or to send"),
        Column("rwnd_limited_s", FLOAT, "of it, limited by the receive window"),
        Column("sndbuf_limited_s", FLOAT, "of it, limited by the send buffer"),
        *_columns(
            INTEGER,
            {
                "snd_wnd_bytes": "window that the peer advertises",
                "rcv_wnd_bytes": "window that this end advertises",
                "rcv_space_bytes": "receive autotuning's measure of one round trip's data",
                "rcv_ssthresh_bytes": "bound on the advertised window",
                "rcv_ooopack": "segments received out of order so far",
                "notsent_bytes": "in the send buffer, not yet sent",
                "sndbuf_bytes": "size of the send buffer",
                "rcvbuf_bytes": "size of the receive buffer",
                "wmem_queued_bytes": "memory that the send queue holds",
                "rmem_alloc_bytes": "memory that the receive queue holds",
                "backlog_bytes": "memory that the socket's backlog holds",
                "drops": "packets that the socket dropped so far",
                "total_rto": "retransmission timeouts so far",
            },
        ),
        Column("rcv_rtt_s", FLOAT, "receiver's estimate of the round-trip time"),
    ),
)

FLOWS = Table(
    "flows",
    "One row per TCP connection that carried a workload's payload.",
    (
        Column("flow", INTEGER, "number within the run"),
        Column("workload", TEXT, "name of the workload in the lab"),
        Column("client", TEXT, "host that opened the connection; `client-3`: the third of its channels"),
        Column("server", TEXT, "host that it was opened to; `server-7`: the seventh beyond the far end"),
        Column("direction", TEXT, "`down`: the server sent; `up`: the client sent"),
        Column("ip", INTEGER, "4 or 6"),
        Column("local_port", INTEGER, "the client's port"),
        Column("remote_port", INTEGER, "the server's port"),
        Column("size_bytes", INTEGER, "payload that was to be carried; null: as much as fits the time"),
        Column("start_s", FLOAT, "when the connection was begun, or a request on one that was kept"),
        Column("connected_s", FLOAT, "when the client was connected; null: it was before, or not known"),
        Column(
            "first_byte_s",
            FLOAT,
            "when the first payload byte arrived; null: not known (iperf3 does not say)",
        ),
        Column("end_s", FLOAT, "when the last payload byte arrived; null: it did not finish"),
        Column("bytes", INTEGER, "payload carried"),
        Column("goodput_bit_s", FLOAT, "payload over measured time"),
        Column("retransmits", INTEGER, "segments retransmitted; null: not known"),
        Column("outcome", TEXT, "finished, unfinished or failed"),
        Column("why", TEXT, "what went wrong; null: nothing"),
        Column("object", INTEGER, "which of a set was asked for, from 1, the most popular; null: no set"),
        Column("cache", TEXT, "`hit`: the cache at near had it; `miss`: it did not; null: no cache"),
    ),
)

PINGS = Table(
    "pings",
    "One row per echo request.",
    (
        Column("time_s", FLOAT, "when the request was sent"),
        Column("workload", TEXT, "name of the workload in the lab"),
        Column("sequence", INTEGER, "its sequence number, from 1"),
        Column("rtt_s", FLOAT, "round-trip time; null: no answer came"),
    ),
)

TOOLS = Table(
    "tools",
    "What real programs said, whole.",
    (
        Column("workload", TEXT, "name of the workload in the lab"),
        Column("tool", TEXT, "iperf3, ping, ..."),
        Column("role", TEXT, "client or server, and which of the outputs"),
        Column("output", TEXT, "the text as it came"),
    ),
)

TABLES: Mapping[str, Table] = {table.name: table for table in (LINK, SOCKETS, FLOWS, PINGS, TOOLS)}


def table_named(name: str) -> Table:
    if name not in TABLES:
        raise StoreError(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
    return TABLES[name]
