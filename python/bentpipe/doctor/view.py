"""What the families of causes read: a transfer's samples as arrays, with what follows from them.

Figures that follow, and their formulas:

- **rate**: payload that arrived in the window before a sample, which is a round trip or 0.2 s,
  whichever is longer. Of several connections the sum counts against the path.
- **base RTT** R: the smallest round trip of all samples, of the handshake and of pings.
- **flight** F: outstanding bytes at a sender; at a receiver rate x RTT (Little's law).
- **queue** q = RTT - R. When it *stands*, the path carries what it can (saturation.py).
- **capacity** C: the median rate where a queue stands. If none does: the rate that the flow reached
  again and again before losses, if that was always the same; or else not known.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from bentpipe.doctor.arrays import Flags, Floats, Places, grown, known_at_all, middle, stretches, summed
from bentpipe.doctor.evidence import Evidence
from bentpipe.doctor.return_way import STEADY, Spreads, sooner_s, spreads
from bentpipe.doctor.saturation import path_rate_bit_s, standing_queue, waits_alike

_LEAST_WINDOW_S = 0.2
_NOISE_TIMES = 4.0
_LEAST_NOISE_S = 0.0002
_SILENT_S = 0.05
_SILENT_OF_BASE = 0.5
_SILENT_SEGMENTS = 8
_DEFAULT_MSS = 1448
_MAD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
_SAME_RATE = 0.1
_LEAST_EPISODES = 3
_OVERSHOT_SEGMENTS = 8
_OVERSHOT_SHARE = 0.1
_PERSISTS = 0.6
_LONG_WAIT = 0.5
_LEAST_WAIT_S = 0.005
_LEAST_STAMPED_S = 0.004
_MOSTLY = 0.5
_EXACT = 0.03
_LEAST_COMPARED = 20
_TOGETHER = 0.4
"""Correlation of two logarithms."""
_PROBES = 1 / 8
"""BBR probes for more in one of eight round trips."""
OF_THE_PATH = ("queue", "probing")
HEADERS_BYTES = 52
"""IPv4 and TCP with time stamps."""
WINDOW_FREE_SEGMENTS = 3
"""A window with no more room than this is full: a sender waits until a burst fits."""
UNSCALED_BYTES = 65_535
"""The largest window without the option of RFC 7323."""
REORDERS = 10
"""Degree of reordering, in segments, that a sender's TCP learns from nothing else; Linux begins with 3."""
LATE_SHARE = 0.5
"""Share of the time with late segments that losses alone do not make."""


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
    flight: Floats
    queue_s: Floats
    recovering: Flags
    standing: Flags
    """Where the payload's queue stands (saturation.py)."""
    returning: Flags
    """Where a queue of acknowledgements stands on the way back (return_way.py)."""
    after_timeout: Flags
    """Whether TCP repairs after a retransmission timeout."""
    capacity_bit_s: float | None = None
    capacity_from: str = ""
    """How the capacity was found: `queue`, `losses`, `overshoot`, `probing` (BBR), or nothing."""
    spreads: Spreads | None = None
    return_share: float | None = None
    """Which share of a queue's wait is on the way back, by time stamps. None: not known."""
    early_s: float = 0.0
    """By how much payload came at a receiver sooner than a queue of its own would let it; 0 if not surely."""

    @property
    def knows_the_paths_rate(self) -> bool:
        """Whether the capacity is the path's own, and not what something that drops lets through."""
        return self.capacity_bit_s is not None and self.capacity_from in OF_THE_PATH

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
        """Whether segments were seen to arrive so much later than others that no loss explains it."""
        if self.at_sender:
            return bool(np.nanmax(self["reordering_segments"], initial=0.0) >= REORDERS)
        return bool((self.grown("out_of_order") > 0).mean() >= LATE_SHARE)

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

    @property
    def unharmed(self) -> Flags:
        """The samples before the first segment that was sent again or came late."""
        harmed = np.nan_to_num(self["retransmits"]) + np.nan_to_num(self["out_of_order"]) > 0
        found: Flags = ~np.logical_or.accumulate(harmed)
        return found

    @property
    def connections(self) -> Places:
        return np.unique(self.connection)

    @property
    def size(self) -> int:
        return len(self.dt_s)


def view(evidence: Evidence) -> View:
    frame = evidence.samples.sort("connection", "time_s")
    columns = {
        name: frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
        for name, dtype in frame.schema.items()
        if dtype != pl.String()
    }
    if -1 in (evidence.sender_offered.window_scale, evidence.receiver_offered.window_scale):
        # The kernel of a receiver keeps a larger window, and cannot say so.
        columns["rwnd_bytes"] = np.minimum(columns["rwnd_bytes"], UNSCALED_BYTES)
    connection = frame["connection"].to_numpy()
    base = _base_rtt_s(evidence, columns)
    rate, total = _rates(columns, connection, base)
    rtt_s = columns["srtt_s"]
    found = View(
        evidence=evidence,
        mss=float(evidence.mss_bytes or _DEFAULT_MSS),
        base_rtt_s=base,
        columns=columns,
        dt_s=grown(columns["time_s"], connection),
        connection=connection,
        rate_bit_s=rate,
        total_bit_s=total,
        flight=columns["outstanding_bytes"]
        if known_at_all(columns["outstanding_bytes"])
        else rate * rtt_s / 8,
        queue_s=rtt_s - base if base else np.full_like(rtt_s, np.nan),
        recovering=frame["recovery"].is_in(["recovery", "loss"]).fill_null(value=False).to_numpy(),
        standing=np.zeros(frame.height, bool),
        returning=np.zeros(frame.height, bool),
        after_timeout=(frame["recovery"] == "loss").fill_null(value=False).to_numpy(),
    )
    found = _by_way(replace(found, standing=_standing(found)))
    if found.returning.any() and _probes(found):
        # What it has found is what the ACKs' way lets through.
        found = replace(found, returning=found.returning | _at_its_rate(found))
    capacity, source = _capacity(found)
    if source != "queue":
        found = replace(found, standing=np.zeros(frame.height, bool))
    return replace(found, capacity_bit_s=capacity, capacity_from=source)


def _by_way(of: View) -> View:
    """A queue that stands on the way back is none of the payload's path."""
    base_s = of.base_rtt_s
    if base_s is None or not of.knows("acks") or not of.standing.any():
        return of
    stamped = _return_share(of)
    if stamped is not None:
        of = replace(of, return_share=stamped)
        if stamped > _MOSTLY:
            return _on_return(of)
    arrived = of["arrived_bytes"] if of.knows("arrived_bytes") else of["segments_sent"] * of.mss
    seen = spreads(
        time_s=of.time_s,
        connection=of.connection,
        segments=np.nan_to_num(arrived) / of.mss,
        acks=np.nan_to_num(of["acks"]) if of.sees_acks_return else None,
        standing=of.standing & ~of.recovering,
        base_s=base_s,
        nothing_late=bool(of.unharmed.all()),
    )
    of = replace(of, spreads=seen)
    of = replace(of, early_s=_early_s(of) if stamped is None else 0.0)
    nowhere = np.zeros(of.size, bool)
    return {
        "there": of,
        "back": _on_return(of),
        "neither": replace(of, standing=nowhere),
    }[_way(of)]


def _way(of: View) -> Literal["there", "back", "neither"]:
    """On which way the queue that seems to stand is; on neither if something else makes packets wait."""
    seen = of.spreads
    if of.early_s > 0:
        return "back"
    if seen is None or _serves_by_its_rate(of):
        return "there"
    if of.reorders and seen.payload > STEADY + seen.exact:
        # Where packets are late one by one, a long round trip alone shows no queue.
        return "neither"
    if of.return_share is not None:
        return "there"
    if seen.waits_on_return and (of.at_sender or _persists(of.standing)):
        return "back"
    calm = of.standing & ~of.recovering
    return "neither" if of.at_sender and waits_alike(of.total_bit_s, of.rtt_s, calm) else "there"


def _on_return(of: View) -> View:
    return replace(of, standing=np.zeros(of.size, bool), returning=of.standing)


def _serves_by_its_rate(of: View) -> bool:
    """Whether packets wait the shorter the faster payload comes to a receiver, as in a queue of its own whose
    rate varies. How long ACKs wait has nothing to do with the payload's rate. It takes enough segments."""
    seen = of.spreads
    if of.at_sender or seen is None or of.return_share is not None:
        return False
    stands = of.standing & ~of.recovering & (of.total_bit_s > 0) & (of.rtt_s > 0)
    if seen.payload <= STEADY + seen.exact or seen.exact > _EXACT or stands.sum() < _LEAST_COMPARED:
        return False
    rates, waits = np.log(of.total_bit_s[stands]), np.log(of.rtt_s[stands])
    if not (rates.std() > 0 and waits.std() > 0):
        return False
    return float(np.corrcoef(rates, waits)[0, 1]) <= -_TOGETHER


def _early_s(of: View) -> float:
    """By how much payload came, before the queue stood, sooner than that queue would let it if it were on its
    way. Later payload may come sooner since something held it for a while."""
    if of.at_sender or of.reorders or not _persists(of.standing) or _serves_by_its_rate(of):
        return 0.0
    began_s = float(of.time_s[of.standing].min())
    return of.sooner_s(middle(of.total_bit_s, of.standing), of.time_s <= began_s)


def _return_share(of: View) -> float | None:
    """Which share of the wait is on the way back, in the median, by the time stamps that passed a capture.
    None: they do not tell."""
    stands = of.standing & ~of.recovering
    wait_s = middle(of.queue_s, stands)
    if not wait_s >= _LEAST_STAMPED_S:
        return None
    if of.evidence.seen_from == "receiver":
        return (
            1 - min(middle(of["forward_wait_s"], stands) / wait_s, 1.0)
            if of.knows("forward_wait_s")
            else None
        )
    forward_s, return_s = middle(of["forward_wait_s"], stands), middle(of["return_wait_s"], stands)
    if of.evidence.seen_from == "between" and not max(forward_s, return_s) > _MOSTLY * wait_s:
        return None  # Most of the wait is beyond this point.
    return min(return_s / wait_s, 1.0) if of.knows("return_wait_s") else None


def _persists(standing: Flags) -> bool:
    """Whether a wait stays once it has begun. A receiver's round trip holds what the sender's program waits
    for, too, which comes and goes."""
    places = np.flatnonzero(standing)
    return bool(places.size and places.size >= _PERSISTS * (places[-1] - places[0] + 1))


def _base_rtt_s(evidence: Evidence, columns: dict[str, Floats]) -> float | None:
    known = [columns["min_rtt_s"], columns["srtt_s"], evidence.pings["rtt_s"].drop_nulls().to_numpy()]
    every = np.concatenate(known)
    every = every[np.isfinite(every) & (every > 0)]
    handshake_s = evidence.handshake_rtt_s
    if not every.size:
        return handshake_s
    found = float(every.min())
    # A handshake that is much shorter was answered by something nearer (families/split.py).
    return min(found, handshake_s) if handshake_s and handshake_s > found / 2 else found


def _rates(columns: dict[str, Floats], connection: Places, base_s: float | None) -> tuple[Floats, Floats]:
    time_s = columns["time_s"]
    arrived = columns["arrived_bytes"]
    counted = np.where(np.isfinite(arrived), arrived, columns["delivered_bytes"])
    spacing = float(np.median(np.diff(np.unique(time_s)))) if time_s.size > 2 else 0.1
    # Whole round trips: within one, a window's packets come in bursts.
    window_s = max(base_s or 0.0, _LEAST_WINDOW_S, 2 * spacing)
    if base_s and base_s < window_s:
        window_s = max(round(window_s / base_s), 1) * base_s
    rate = np.zeros_like(time_s)
    total = np.zeros_like(time_s)
    for each in np.unique(connection):
        own = connection == each
        at, count = time_s[own], np.nan_to_num(counted[own])
        rate[own] = (count - np.interp(at - window_s, at, count, left=0.0)) * 8 / window_s
        until = np.interp(time_s, at, count, left=0.0)
        total += (until - np.interp(time_s - window_s, at, count, left=0.0)) * 8 / window_s
    return rate, total


def _standing(of: View) -> Flags:
    if of.base_rtt_s is None or of.size == 0:
        return of.standing
    with np.errstate(invalid="ignore"):
        starts = (of["cwnd_bytes"] < of["ssthresh_bytes"]) if of.at_sender else np.zeros(of.size, bool)
        unsent = of["notsent_bytes"]
        window_full = of.flight >= 0.9 * of["rwnd_bytes"]
        window_full |= of.grown("rwnd_limited_s") >= 0.3 * np.maximum(of.dt_s, 1e-9)
        bursts = (unsent < of.mss) | (of["app_limited"] > 0.5)
    return (of.total_bit_s > 0) & standing_queue(
        queue_s=of.queue_s,
        base_s=of.base_rtt_s,
        rate_bit_s=of.total_bit_s,
        flight=summed(of.flight, of.time_s, of.connection),
        noise_s=_noise_s(of),
        lowest_s=_lowest_queue_s(of),
        mss=of.mss,
        steady=~of.recovering & ~starts & ~window_full,
        bursts=bursts,
    )


def _lowest_queue_s(of: View) -> Floats:
    """The shortest wait within the round trip of each sample; 0 where nothing was in flight meanwhile, since
    the queue was empty then. Sockets are read too seldom: of them it is the sample's own, and 0 where nothing
    came to a receiver."""
    fine = of.evidence.of_packets
    empty = of.flight == 0 if fine else _is_silent(of)
    if not of.base_rtt_s or not (fine or empty.any()):
        return of.queue_s
    waits = np.where(np.isfinite(of.queue_s), of.queue_s, np.inf) if fine else np.full(of.size, np.inf)
    if of.connections.size == 1:
        waits[empty] = 0.0
    lowest = of.queue_s.copy()
    for each in np.unique(of.connection):
        own = np.flatnonzero(of.connection == each)
        begins = np.searchsorted(of.time_s[own], of.time_s[own] - np.nan_to_num(of.rtt_s[own]))
        within = [waits[own[begin : place + 1]].min() for place, begin in enumerate(begins)]
        lowest[own] = within if fine else np.minimum(of.queue_s[own], within)
    return lowest


def _is_silent(of: View) -> Flags:
    """Where nothing came to a receiver for so long that no queue was there to send it."""
    found = np.zeros(of.size, bool)
    if of.at_sender or of.connections.size != 1 or not of.knows("segments_sent"):
        return found
    came = of.grown("segments_sent")
    per_s = float(came.sum()) / max(float(of.dt_s.sum()), 1e-9)
    least_s = max(_SILENT_S, _SILENT_OF_BASE * (of.base_rtt_s or 0.0), _SILENT_SEGMENTS / max(per_s, 1e-9))
    for begin, end in stretches(came <= 0):
        found[begin:end] = of.dt_s[begin:end].sum() >= least_s
    return found


def _noise_s(of: View) -> float:
    """The scatter of round trips while less than usual was in flight: what a standing queue has to exceed."""
    known = np.isfinite(of.queue_s) & np.isfinite(of.flight)
    if known.sum() < 8:
        return _LEAST_NOISE_S
    low = known & (of.flight <= np.median(of.flight[known]))
    steps = np.abs(np.diff(of.queue_s[low]))
    scatter = _MAD * float(np.median(steps)) if steps.size else 0.0
    return max(_NOISE_TIMES * scatter, _LEAST_NOISE_S)


def _capacity(of: View) -> tuple[float | None, str]:
    if _probes(of):
        if of.returning.any():
            return None, ""
        # It probes a quarter above what it has found: the path had no more.
        paced = of.total_bit_s[_at_its_rate(of)]
        return (float(np.median(paced)), "probing") if paced.size >= _LEAST_EPISODES else (None, "")
    found = path_rate_bit_s(of.total_bit_s, of.standing, ~of.recovering, of.dt_s)
    if found is not None:
        return found, "queue"
    before = before_losses(of)
    overshot = _overshot(of, before)
    rates = of.total_bit_s[before[1:] if overshot else before]
    if rates.size >= (_LEAST_EPISODES if overshot is None else _LEAST_EPISODES - 1):
        top = float(np.median(rates))
        if top > 0 and float(np.median(np.abs(rates - top))) <= _SAME_RATE * top:
            return max(top, float(np.quantile(of.total_bit_s, 0.9))), "losses"
    return (None, "") if overshot is None else (overshot, "overshoot")


def _probes(of: View) -> bool:
    """Whether the sender is BBR, whose probes for more were free to find it."""
    return (of.evidence.congestion_control or "").startswith("bbr") and not _probes_are_held(of)


def _at_its_rate(of: View) -> Flags:
    """Where BBR carries about what it has found."""
    found: Flags = of.total_bit_s >= 0.9 * np.quantile(of.total_bit_s, 0.9)
    return found


def _probes_are_held(of: View) -> bool:
    """Whether BBR's probes may have met a full window, or had nothing more to send, so show no path."""
    sends = (of.total_bit_s > 0) & (of.dt_s > 0)
    with np.errstate(invalid="ignore"):
        held = of["notsent_bytes"] < of.mss
        held |= of.flight >= of["rwnd_bytes"] - WINDOW_FREE_SEGMENTS * of.mss
        held |= of.grown("rwnd_limited_s") >= of.dt_s / 2
    return float(of.dt_s[held & sends].sum()) >= _PROBES * float(of.dt_s[sends].sum())


def _overshot(of: View, before: Places) -> float | None:
    """What arrived at most while slow start's last round was lost in part: something was full then."""
    if not before.size or not of.knows("ssthresh_bytes", "retransmits"):
        return None
    place = int(before[0])
    with np.errstate(invalid="ignore"):
        if not of["cwnd_bytes"][place] < of["ssthresh_bytes"][place]:
            return None
    until_s = of.time_s[place] + 3 * (of.base_rtt_s or 0.0) + 2 * _LEAST_WINDOW_S
    following = np.flatnonzero((of.time_s >= of.time_s[place]) & (of.time_s <= until_s))
    lost = np.nanmax(of["retransmits"][following]) - np.nan_to_num(of["retransmits"][place])
    if lost < max(_OVERSHOT_SEGMENTS, _OVERSHOT_SHARE * np.nanmax(of.flight[following]) / of.mss):
        return None
    return float(max(of.total_bit_s[following].max(), np.quantile(of.total_bit_s, 0.98)))


def before_losses(of: View) -> Places:
    """The places of the samples before each episode of losses; two of them are two round trips apart."""
    began = (of.grown("retransmits") > 0) | of.recovering
    if not of.knows("retransmits"):
        began = of.grown("out_of_order") > 0
    found: list[int] = []
    last_s, last = -np.inf, -1
    for place in np.flatnonzero(began):
        apart_s = of.time_s[place] - last_s
        if of.connection[place] != last or apart_s > 2 * (of.base_rtt_s or 0.0) + of.dt_s[place]:
            found.append(max(int(place) - 1, 0))
        last_s, last = of.time_s[place], of.connection[place]
    return np.array(found, dtype=np.int64)
