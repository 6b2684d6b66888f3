"""What the families of causes read: a transfer's samples as arrays, with what follows from them.

Figures that follow, and their formulas:

- **rate**: payload that arrived in the window before a sample: whole round trips, about 0.2 s or one round
  trip at least, and nearly whole samples. Of several connections the sum counts against the path.
- **base RTT** R: the smallest round trip of all samples, of the handshake and of pings.
- **flight** F: outstanding bytes at a sender; at a receiver rate x RTT (Little's law).
- **queue** q = RTT - R. When it *stands*, the path carries what it can (saturation.py).
- **capacity** C: the median rate where a queue stands. If none does: the rate that the flow reached
  again and again before losses, if that was always the same; or else not known.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places, grown, known_at_all, middle
from bentpipe.doctor.evidence import USUAL_MSS, Evidence
from bentpipe.doctor.return_way import Spreads, sooner_s
from bentpipe.doctor.saturation import even_stretches

_LONG_WAIT = 0.5
_LEAST_WAIT_S = 0.005
LEAST_WINDOW_S = 0.2
"""Rates are those of so long a window at least."""
OF_THE_PATH = ("queue", "probing")
HEADERS_BYTES = 52
"""IPv4 and TCP with time stamps."""
WINDOW_FREE_SEGMENTS = 3
"""A window with no more room than this is full: a sender waits until a burst fits."""
UNSCALED_BYTES = 65_535
"""The largest window without the option of RFC 7323."""
ANOTHER_RATE = 1.05
"""From which ratio on two even rates of payload are different ones."""
_COUNTED_SEGMENTS = 2
"""A count of segments in a window is exact to two."""
REORDERS = 10
"""Degree of reordering, in segments, that a sender's TCP learns from nothing else; Linux begins with 3."""
LATE_SHARE = 0.5
"""Share of the time with late segments that losses alone do not make."""
_SOMETIMES = 0.02
_OFTEN = 0.3


@dataclass(frozen=True)
class View:
    """A transfer's samples, sorted by connection and time. Unknown figures are NaN."""

    evidence: Evidence
    mss: float
    base_rtt_s: float | None
    columns: dict[str, Floats]
    dt_s: Floats
    """Time that a sample stands for: since the one before of its connection."""
    connection: Places
    rate_bit_s: Floats
    """Of the sample's connection."""
    total_bit_s: Floats
    """Of all connections at that time."""
    window_s: float
    """Over which the rates are taken."""
    flight: Floats
    queue_s: Floats
    recovering: Flags
    disorder: Flags
    """Whether the sender's TCP waits for what is late (`TCP_CA_Disorder`)."""
    calm: Flags
    """Whether it waits for nothing and repairs nothing (`TCP_CA_Open`)."""
    standing: Flags
    """Where the payload's queue stands (saturation.py)."""
    returning: Flags
    """Where a queue of acknowledgements stands on the way back (return_way.py)."""
    after_timeout: Flags
    """Whether TCP repairs after a retransmission timeout."""
    paths_base_s: float | None = None
    """The base RTT, if it is that of another transfer over the same path."""
    capacity_bit_s: float | None = None
    capacity_from: str = ""
    """How the capacity was found: `queue`, `losses`, `overshoot`, `probing` (BBR), or nothing."""
    spreads: Spreads | None = None
    return_share: float | None = None
    """Which share of a queue's wait is on the way back, by time stamps. None: not known."""
    filled_return: str | None = None
    """The transfer whose payload fills the way on which acknowledgements come back (opposite.py)."""
    early_s: float = 0.0
    """By how much payload came at a receiver sooner than a queue of its own would let it; 0 if not surely."""

    @property
    def knows_the_paths_rate(self) -> bool:
        """Whether the capacity is the path's own, and not what something that drops lets through."""
        return self.capacity_bit_s is not None and self.capacity_from in OF_THE_PATH

    @property
    def room_bytes(self) -> float:
        """A smaller receive window is shut. On the loopback many open windows are smaller than an MSS."""
        return min(self.mss, USUAL_MSS)

    @property
    def wire_scale(self) -> float:
        """IP bytes for a byte of payload, in full segments with time stamps."""
        return (self.mss + HEADERS_BYTES) / self.mss

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]

    def knows(self, *columns: str) -> bool:
        return all(known_at_all(self.columns[name]) for name in columns)

    def of(self, keep: Flags, columns: dict[str, Floats] | None = None) -> "View":
        """These samples alone. `columns`: of all samples, if they differ."""
        chosen = {name: values[keep] for name, values in (columns or self.columns).items()}
        connection = self.connection[keep]
        return replace(
            self,
            columns=chosen,
            dt_s=grown(chosen["time_s"], connection),
            connection=connection,
            rate_bit_s=self.rate_bit_s[keep],
            total_bit_s=self.total_bit_s[keep],
            flight=self.flight[keep],
            queue_s=self.queue_s[keep],
            recovering=self.recovering[keep],
            disorder=self.disorder[keep],
            calm=self.calm[keep],
            standing=self.standing[keep],
            returning=self.returning[keep],
            after_timeout=self.after_timeout[keep],
        )

    def grown(self, column: str) -> Floats:
        """How much a counter grew since the sample before; 0 where not known."""
        return grown(self.columns[column], self.connection)

    @property
    def time_s(self) -> Floats:
        return self.columns["time_s"]

    @property
    def rtt_s(self) -> Floats:
        return self.columns["srtt_s"]

    @property
    def at_sender(self) -> bool:
        return self.knows("outstanding_bytes")

    @property
    def sees_acks_return(self) -> bool:
        """Whether acknowledgements are seen after the way back, not before it."""
        return self.at_sender and self.evidence.seen_from != "receiver"

    @property
    def knows_cwnd(self) -> bool:
        return self.knows("cwnd_bytes", "ssthresh_bytes")

    @property
    def reorders(self) -> bool:
        """Whether segments were seen to arrive so much later than others that no loss explains it. A sender
        that learnt a degree from one episode of losses, and whose segments come in order later, did not."""
        if self.at_sender:
            learnt = np.nanmax(self["reordering_segments"], initial=0.0) >= REORDERS
            return bool(learnt and self.in_disorder)
        return bool((self.grown("out_of_order") > 0).mean() >= LATE_SHARE)

    @cached_property
    def in_disorder(self) -> bool:
        """Whether a sender with something in flight often waits for what is late, or is not calm for a good
        part of the time; true where it does not tell."""
        told = (self.calm | self.disorder | self.recovering) & (self.flight > 0)
        count = int(told.sum())
        disorder, calm = int((told & self.disorder).sum()), int((told & self.calm).sum())
        return not count or disorder >= _SOMETIMES * count or count - calm >= _OFTEN * count

    def waits_long(self, where: Flags) -> bool:
        """Whether packets mostly wait half a round trip or more then, as nowhere without a queue."""
        wait_s = middle(self.queue_s, where)
        return bool(self.base_rtt_s and wait_s > max(_LONG_WAIT * self.base_rtt_s, _LEAST_WAIT_S))

    def sooner_s(self, rate_bit_s: float, where: Flags | None = None) -> float:
        """By how much payload arrived sooner than a queue of that rate would let it; 0 if not surely, or with
        several connections. A sender sees acknowledgements, which a queue on their way holds back, too.
        `where`: of all samples."""
        counter = "arrived_bytes" if self.at_sender else "segments_sent"
        if (
            self.base_rtt_s is None
            or self.connections.size != 1
            or not self.knows(counter, "delivered_bytes")
        ):
            return 0.0
        chosen = np.isfinite(self[counter]) if where is None else where & np.isfinite(self[counter])
        count = self[counter][chosen]
        each = self.mss
        if not self.at_sender:
            # Segments may be shorter, and some come twice.
            each = float(np.nanmax(self["delivered_bytes"])) / max(float(np.nanmax(self[counter])), 1.0)
        if not rate_bit_s > 0 or not each > 0:
            return 0.0
        return sooner_s(
            time_s=self.time_s[chosen],
            segments=count / each if self.at_sender else count,
            per_s=rate_bit_s / 8 / each,
            base_s=self.base_rtt_s,
        )

    @cached_property
    def even_stretches(self) -> list[Places]:
        """The samples of each stretch in which the payload's rate was the same."""
        exact_bit_s = _COUNTED_SEGMENTS * self.mss * 8 / self.window_s
        return even_stretches(self.time_s, self.total_bit_s, self.connection, self.window_s, exact_bit_s)

    @property
    def even_rates_bit_s(self) -> tuple[float, float]:
        """The lowest and the highest rate of these stretches, each in its median; NaN without one."""
        rates = [middle(self.total_bit_s[places]) for places in self.even_stretches]
        return (min(rates), max(rates)) if rates else (float("nan"), float("nan"))

    @property
    def even(self) -> Flags:
        """The samples of all these stretches."""
        found = np.zeros(self.size, bool)
        for places in self.even_stretches:
            found[places] = True
        return found

    @property
    def unharmed(self) -> Flags:
        """The samples before the first segment that was sent again or came late."""
        harmed = np.nan_to_num(self["retransmits"]) + np.nan_to_num(self["out_of_order"]) > 0
        found: Flags = ~np.logical_or.accumulate(harmed)
        return found

    def most(self, counter: str) -> float:
        """The highest value of a counter, of all connections together; 0 where it is not known."""
        of_each = (np.nan_to_num(self[counter][self.connection == each]) for each in self.connections)
        return float(sum(each.max(initial=0.0) for each in of_each))

    @property
    def connections(self) -> Places:
        return np.unique(self.connection)

    @property
    def size(self) -> int:
        return len(self.dt_s)


def before_losses(of: View) -> Places:
    """The places of the samples before each episode of losses; two of them are two round trips apart. What
    was lost before the first sample of a connection is one, too, at this sample."""
    counter = "retransmits" if of.knows("retransmits") else "out_of_order"
    first = np.diff(of.connection, prepend=of.connection[:1] - 1) != 0
    began = (of.grown(counter) > 0) | (first & of.evidence.begun & (np.nan_to_num(of[counter]) > 0))
    if counter == "retransmits":
        began |= of.recovering
    found: list[int] = []
    last_s, last = -np.inf, -1
    for place in np.flatnonzero(began):
        apart_s = of.time_s[place] - last_s
        if of.connection[place] != last or apart_s > 2 * (of.base_rtt_s or 0.0) + of.dt_s[place]:
            found.append(int(place) - int(not first[place]))
        last_s, last = of.time_s[place], of.connection[place]
    return np.array(found, dtype=np.int64)
