"""The evidence of one transfer, whichever source it is from: facts, samples and events.

A source (a run's sockets, a host's own sockets, a capture) makes an `Evidence`; everything else of the
doctor reads only that. What a source cannot know is null or None, never zero: a finding that needs it
then says "cannot tell".

- **Samples** are states and counters at an instant. A counter counts from the transfer's start and
  never falls. There should be a sample every 10 to 100 ms for each connection, and all connections of a
  transfer are in one table (`connection`).
- **Events** are single happenings with their time. A source that has only samples makes them from its
  counters, to the accuracy of its samples.

Sequence space and windows are bytes of payload. "The sender" is the end that sends the transfer's
payload.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

SeenFrom = Literal["sender", "receiver", "between"]
"""Where the evidence was taken: at an end, or at a point of the path with round-trip time on both sides."""
Ended = Literal["finished", "open", "reset", "gave-up"]
"""`finished`: closed by FIN, or all was carried; `open`: still there when the evidence ends; `gave-up`: timed
out."""

_FLOAT, _INTEGER, _FLAG, _TEXT = pl.Float64(), pl.Int64(), pl.Boolean(), pl.String()

SAMPLES = pl.Schema(
    {
        # When and whose.
        "time_s": _FLOAT,  # on the source's clock
        "connection": _INTEGER,  # number within the transfer, from 0
        # Counters, from the transfer's start.
        "sent_bytes": _INTEGER,  # payload sent, retransmissions too
        "delivered_bytes": _INTEGER,  # in order: acknowledged (at a sender), received (at a receiver)
        "arrived_bytes": _INTEGER,  # the same and what arrived out of order, as SACK tells
        "retransmitted_bytes": _INTEGER,
        "retransmits": _INTEGER,  # segments
        "timeouts": _INTEGER,  # retransmission timeouts
        "segments_sent": _INTEGER,  # by the sender of the payload
        "short_segments": _INTEGER,  # of them, not full (in a capture)
        # In a capture, runs of new data that end with PSH: what a sender sent at once, or the end of what was
        # written. Of them, those of one full segment, and those as long as the one before.
        "pushes": _INTEGER,
        "single_pushes": _INTEGER,
        "equal_pushes": _INTEGER,
        # In a capture, new data after a gap; of them, those that no acknowledgement made the sender send.
        "bursts": _INTEGER,
        "unprompted_bursts": _INTEGER,
        "acks": _INTEGER,  # segments that came back to the sender
        "out_of_order": _INTEGER,  # segments that arrived after a later one (at a receiver, or in a capture)
        "marked": _INTEGER,  # ECN: segments marked, or echoes of marks
        "busy_s": _FLOAT,  # time with data in flight or to send
        "rwnd_limited_s": _FLOAT,  # of it, limited by the receive window, as the sender's TCP counts
        "sndbuf_limited_s": _FLOAT,  # of it, limited by the send buffer
        # The sender's state.
        "outstanding_bytes": _INTEGER,  # sent and not acknowledged in order
        "in_flight_bytes": _INTEGER,  # outstanding - selectively acknowledged - lost + retransmitted
        "lost_bytes": _INTEGER,  # of the outstanding, taken for lost now
        "cwnd_bytes": _INTEGER,
        "ssthresh_bytes": _FLOAT,  # infinite: never set; null: not known
        "recovery": _TEXT,  # open, disorder, cwr, recovery, loss
        "reordering_segments": _INTEGER,  # degree that the sender assumes; Linux begins with 3
        "notsent_bytes": _INTEGER,  # written by the application and not yet sent
        "sndbuf_bytes": _INTEGER,  # size of the send buffer, memory
        "sndbuf_used_bytes": _INTEGER,  # memory in use
        "app_limited": _FLAG,
        "pacing_rate_bit_s": _FLOAT,  # null: none, or not known
        "delivery_rate_bit_s": _FLOAT,  # the kernel's
        "mss_bytes": _INTEGER,  # payload of a full segment now
        # The receiver's state, as this source sees it.
        "rwnd_bytes": _INTEGER,  # advertised window, scaled
        "rcvbuf_bytes": _INTEGER,  # size of the receive buffer, memory
        "unread_bytes": _INTEGER,  # memory of what the application has not read
        "asked_bytes": _INTEGER,  # counter: what the receiver's own program sent, such as requests
        # Time.
        "srtt_s": _FLOAT,  # a sender's or a receiver's smoothed RTT; in a capture the last interval's mean
        "min_rtt_s": _FLOAT,  # smallest so far
        "rttvar_s": _FLOAT,
        "rto_s": _FLOAT,
        # Of a packet that passed a capture, how much longer it took from its sender than the fastest.
        "forward_wait_s": _FLOAT,  # payload, from the sender
        "return_wait_s": _FLOAT,  # acknowledgements, from the receiver
    }
)
"""Null in any column but the first two: not known."""

EVENT_KINDS = (
    "retransmission",  # the sender sent again; at a receiver: a segment came twice, or filled a hole
    "timeout",  # of them, after a retransmission timeout
    "loss",  # a hole was seen (at a receiver, or between)
    "reordering",  # a segment came late; `lasted_s` says how late
    "duplicate",  # the same bytes came twice without need
    "dup-ack",  # a duplicate acknowledgement, with SACK or without
    "zero-window",  # the receiver closed its window for `lasted_s`
    "gap",  # nothing was in flight and nothing to send for `lasted_s`: the application paused
    "silence",  # data were in flight, and no acknowledgement came for `lasted_s`
    "mark",  # ECN
    "too-big",  # ICMP "fragmentation needed" or "packet too big"
    "reset",
)
EVENTS = pl.Schema(
    {
        "time_s": _FLOAT,
        "connection": _INTEGER,
        "kind": _TEXT,  # one of EVENT_KINDS
        "bytes": _INTEGER,  # payload concerned
        "lasted_s": _FLOAT,
    }
)
PINGS = pl.Schema({"time_s": _FLOAT, "rtt_s": _FLOAT})
"""Echo requests over the same path. A lost one has a null `rtt_s`."""


_FEW_ROUND_TRIPS = 5
USUAL_MSS = 1448
"""Of Ethernet, with time stamps."""
UNREAD = 0.25
"""Least share of a receiver's buffer that is unread where its reader is slow."""


@dataclass(frozen=True)
class Offered:
    """What an end offered in its SYN. None: the SYN was not seen."""

    mss_bytes: int | None = None
    sack: bool | None = None
    timestamps: bool | None = None
    window_scale: int | None = None
    """The shift; -1: not offered."""
    ecn: bool | None = None


@dataclass(frozen=True)
class Evidence:
    """One transfer: payload in one direction, over one connection or several at once."""

    name: str
    direction: str | None
    """`down` (server to client) or `up`; None: not known which end is the server."""
    seen_from: SeenFrom
    start_s: float
    """When the first connection was begun, on the source's clock."""
    end_s: float
    """When the last payload was delivered, or the evidence ends."""
    bytes: int
    """Payload delivered."""
    mss_bytes: int | None
    """Of the payload's segments."""
    samples: pl.DataFrame
    """Schema SAMPLES, sorted by time."""
    events: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=EVENTS))
    """Schema EVENTS, sorted by time."""
    pings: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PINGS))
    sender_offered: Offered = Offered()
    receiver_offered: Offered = Offered()
    handshake_rtt_s: float | None = None
    """Of the SYN and its answer, seen from this side."""
    rtt_behind_s: float | None = None
    """The shortest of data, if something nearer than the receiver answered the handshake: then no sample has
    a shorter one. None: it did not, or this source cannot tell (answered_nearer.py)."""
    ended: Ended | None = None
    congestion_control: str | None = None
    """The sender's."""
    sndbuf_most_bytes: int | None = None
    """How far the sender's host lets a send buffer grow (`tcp_wmem[2]`)."""
    rcvbuf_most_bytes: int | None = None
    """The same of the receiver's host (`tcp_rmem[2]`)."""
    processor_share: Mapping[str, float] = field(default_factory=dict)
    """Share of one core that a program of this end used or waited for, by what it is."""
    holders: frozenset[str] = frozenset()
    """Of these programs, those that hold the transfer's sockets. Empty: not known."""
    of_packets: bool = False
    """Made from packets that passed a point, not from a socket: what an end keeps to itself is inferred."""
    begun: bool = True
    """Whether the samples begin with the connections. False: one was there before."""
    unseen_share: float = 0.0
    """Share of the payload that was acknowledged and is not in the capture."""
    train_rates: Sequence[tuple[float, int]] = ()
    """Rates in bit/s of payload of segments that came one after another, and how many trains of them had
    each (trains.py)."""
    first_payload_s: float | None = None
    """When the first segment's worth of payload was delivered, as this end saw it; None: not known."""
    within_host: bool = False
    """Whether both ends are on one host, with nothing between them that delays, queues or drops."""
    ends: frozenset[str] = frozenset()
    """Addresses of both ends, as far as known. Transfers between the same ends take the same path."""

    def __post_init__(self) -> None:
        for name, frame, schema in (
            ("samples", self.samples, SAMPLES),
            ("events", self.events, EVENTS),
            ("pings", self.pings, PINGS),
        ):
            if frame.schema != schema:
                wrong = sorted(set(frame.schema.items()) ^ set(schema.items()), key=str) or "their order"
                raise ValueError(f"{name}: columns differ from the schema: {wrong}")

    @property
    def lacks_timestamps(self) -> bool:
        """Whether an end is known not to have offered them."""
        return False in (self.sender_offered.timestamps, self.receiver_offered.timestamps)

    @property
    def lacks_sack(self) -> bool:
        """Whether an end is known not to have offered it."""
        return False in (self.sender_offered.sack, self.receiver_offered.sack)

    @property
    def is_bbr(self) -> bool:
        """Whether the sender is known to use BBR."""
        return (self.congestion_control or "").startswith("bbr")

    @property
    def counts_from_payload(self) -> bool:
        """Whether `duration_s` begins with the first payload: of a transfer that goes on, since its program
        may have had the connection for long. Not within a few round trips: a window may come at once."""
        if self.ended == "finished" or self.first_payload_s is None:
            return False
        shortest_s = float(self.samples["min_rtt_s"].min() or 0.0)  # type: ignore[arg-type]
        return self.end_s - self.first_payload_s >= _FEW_ROUND_TRIPS * shortest_s

    @property
    def duration_s(self) -> float:
        """From the first payload, or from the beginning of the connection, as the user of a transfer that
        ended waited."""
        begun_s = self.first_payload_s if self.counts_from_payload else self.start_s
        return max(self.end_s - (begun_s or 0.0), 0.0)

    @property
    def goodput_bit_s(self) -> float | None:
        return self.bytes * 8 / self.duration_s if self.duration_s > 0 else None

    def has(self, *columns: str) -> bool:
        """Whether each of these columns of the samples has a value at all."""
        return all(self.samples[column].null_count() < self.samples.height for column in columns)


def first_payload_s(frame: pl.DataFrame, mss_bytes: int | None) -> float | None:
    """Of the samples of a transfer: in the middle of the two between which a segment's worth was delivered
    first. Less than that is what programs tell each other before. None: it was in the first sample."""
    after = frame.filter(pl.col("delivered_bytes") >= (mss_bytes or USUAL_MSS))["time_s"].min()
    if after is None:
        return None
    before = frame.filter(pl.col("time_s") < after)["time_s"].max()
    if before is None:
        return None
    return (float(before) + float(after)) / 2  # type: ignore[arg-type]


def samples(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the schema SAMPLES: columns that it lacks are null, others are left out."""
    return _with_schema(frame, SAMPLES)


def events(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the schema EVENTS."""
    return _with_schema(frame, EVENTS)


def _with_schema(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.items()
    ).sort("time_s", "connection" if "connection" in schema else "time_s", maintain_order=True)
