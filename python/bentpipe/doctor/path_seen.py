"""The path as a transfer's end sees it: base round trip, rate, queue and loss, each with an interval where
there is one.

- **rate**: IP bytes, since a lab's rate counts them: payload x (MSS + 52) / MSS. The interval is that
  of the quartiles of the rates that were seen while a queue stood. Of a path that was never full, packet
  trains in a capture may tell the rate (trains.py), or in the samples of a socket bursts (burst_rate.py) or
  the round trips of slow start (start_rate.py). Then the interval is that of the fast trains, of most bursts,
  or of the rates that fit as well.
- **queue**: the longest wait x rate, if the path was full and lost packets then. If nothing was lost it
  is at least that long, and the upper end of the interval is unknown.
- **loss**: loss episodes without a queue before them, per segment sent: what the path loses by itself.
  The interval is that of a Poisson count (95 %, by its square root). How many segments an episode takes is in
  loss_bursts.py, the jitter in jitter.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, since
from bentpipe.doctor.burst_rate import burst_rate
from bentpipe.doctor.claim import Finding, known
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.jitter import jitter
from bentpipe.doctor.loss_bursts import UNKNOWN, LossBursts, loss_bursts
from bentpipe.doctor.start_rate import start_rate
from bentpipe.doctor.told_rate import ToldRate
from bentpipe.doctor.trains import path_rate
from bentpipe.doctor.view import OF_THE_PATH, View, before_losses

_NEARLY = 0.9
_REPAIRED_ROUND_TRIPS = 3
_WINDOW_S = 0.2
_LEAST_SHARE = 0.05
_BURST = 1.5
_WINDOWS = ("receiver-window", "send-buffer", "tcp-options")
"""First findings of a transfer that sends a window in each round trip."""
DROPS = ("random-loss", "short-queue", "policer", "line-drops")
"""Kinds of findings where packets are dropped."""
_STARTS = (
    *(*_WINDOWS, "slow-start"),
    *DROPS,
)
"""First findings of a transfer whose start is that of a sender without other limits."""

BY_ITSELF = ("trains", "bursts", "start")
"""What tells the rate of a path though none of its queues does."""

Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class PathSeen:
    """None: not known."""

    rtt_s: float | None
    rtt_interval_s: Interval
    rate_bit_s: float | None
    """Of IP bytes; None: the path was never full."""
    rate_from: str
    """What tells that rate: `trains` of packets, `bursts`, the round trips of slow `start`, a `queue` that
    stood, BBR's `probing`; or only that something dropped at it, `losses` or `overshoot` of slow start.
    Empty: it is not known."""
    rate_interval_bit_s: Interval
    least_rate_bit_s: float | None
    """What it carried at least."""
    queue_bytes: float | None
    queue_interval_bytes: Interval
    loss: float | None
    loss_interval: Interval
    loss_burst_segments: float | None
    """How many segments are lost one after another in the mean."""
    loss_burst_interval: Interval
    loss_burst_chance: float | None
    """That they begin at a segment. `loss` is less: an episode may hold several."""
    jitter_s: float | None
    jitter_interval_s: Interval
    direction: str | None
    is_shared: bool
    """Whether other transfers were seen beside that one."""

    @property
    def rate_bounds(self) -> bool:
        """Whether the rate is the most that a transfer can have, and not only a share of it or what something
        let through."""
        least = _NEARLY * (self.least_rate_bit_s or 0.0)
        is_the_paths = self.rate_from in (*BY_ITSELF, *OF_THE_PATH) and not self.is_shared
        return is_the_paths and self.rate_bit_s is not None and self.rate_bit_s >= least

    @property
    def loses_in_bursts(self) -> bool:
        """Whether losses take nearer to two segments than to one in the mean, or more, with 95 %."""
        return (self.loss_burst_interval[0] or 1.0) >= _BURST

    def as_json(self) -> dict[str, Any]:
        def figure(value: float | None, digits: int = 6) -> float | None:
            return None if value is None else known(value, digits)

        def interval(of: Interval, scale: float = 1.0) -> list[float | None]:
            return [None if each is None else known(each / scale, 9) for each in of]

        least_bit_s = self.least_rate_bit_s
        if least_bit_s and self.rate_bit_s and self.rate_from in (*BY_ITSELF, *OF_THE_PATH):
            # What came within one window may have waited before it.
            least_bit_s = min(least_bit_s, self.rate_bit_s)
        return {
            "rtt_s": figure(self.rtt_s),
            "rtt_interval_s": interval(self.rtt_interval_s),
            "rate_mbit_s": None if self.rate_bit_s is None else known(self.rate_bit_s / 1e6),
            "rate_from": self.rate_from or None,
            "rate_interval_mbit_s": interval(self.rate_interval_bit_s, 1e6),
            "least_rate_mbit_s": None if least_bit_s is None else known(least_bit_s / 1e6),
            "queue_bytes": figure(self.queue_bytes, 0),
            "queue_interval_bytes": interval(self.queue_interval_bytes),
            "loss": figure(self.loss, 9),
            "loss_interval": interval(self.loss_interval),
            "loss_burst_segments": figure(self.loss_burst_segments, 3),
            "loss_burst_interval": interval(self.loss_burst_interval),
            "jitter_s": figure(self.jitter_s),
            "jitter_interval_s": interval(self.jitter_interval_s),
        }


def path_seen(
    found: Sequence[Diagnosis], *, alone: bool | None = None, simulates: bool = True
) -> PathSeen | None:
    """By the transfer that tells most: one that filled the path, and the longest of these.

    `alone`: whether it had the path for itself; None: if none of the others was at the same time.
    `simulates`: whether simulations may tell the rate (start_rate.py).
    """
    if not found:
        return None
    tells = telling(found)
    return _path_of(
        found[tells], alone=_is_alone(tells, found) if alone is None else alone, simulates=simulates
    )


def paths_seen(found: Sequence[Diagnosis], *, alone: bool | None = None) -> list[PathSeen]:
    """Of each transfer the path that it took. Transfers share one if they have the same ends, or if they
    share a queue and have nearly the same base round trip."""
    paths: dict[int, PathSeen] = {}
    for first, of in enumerate(found):
        if first not in paths:
            same = [n for n in range(first, len(found)) if n not in paths and _same_path(of, found[n])]
            tells = same[telling([found[n] for n in same])]
            is_alone = _is_alone(tells, found) if alone is None else alone
            paths |= dict.fromkeys(same, _path_of(found[tells], alone=is_alone, simulates=True))
    return [paths[n] for n in range(len(found))]


def telling(found: Sequence[Diagnosis]) -> int:
    """The place of the transfer that tells most of the path."""
    return max(
        range(len(found)), key=lambda n: (found[n].view.capacity_bit_s is not None, found[n].evidence.bytes)
    )


def _same_path(one: Diagnosis, other: Diagnosis) -> bool:
    if one.evidence.direction != other.evidence.direction:
        return False
    if one.evidence.ends == other.evidence.ends:
        return True
    low, high = sorted(each.view.base_rtt_s or 0.0 for each in (one, other))
    return bool(one.neighbours and other.neighbours) and low >= _NEARLY * high


def _path_of(of: Diagnosis, *, alone: bool, simulates: bool) -> PathSeen:
    view = of.view
    base = view.base_rtt_s
    least = _carried(view)
    rate = _rate(of, least or 0.0, alone=alone, simulates=simulates)
    loss, loss_interval = _loss(of)
    bursts = _bursts(of) if loss else UNKNOWN
    queue, queue_interval = _queue(of, rate)
    jitter_s, jitter_interval_s = jitter(view)
    return PathSeen(
        rtt_s=base,
        rtt_interval_s=(base and base * 0.99, _low(view)),
        rate_bit_s=rate.bit_s,
        rate_from=rate.source,
        rate_interval_bit_s=rate.interval if rate.bit_s else (least, None),
        least_rate_bit_s=least,
        queue_bytes=queue,
        queue_interval_bytes=queue_interval,
        loss=loss,
        loss_interval=loss_interval,
        loss_burst_segments=bursts.segments,
        loss_burst_interval=bursts.interval,
        loss_burst_chance=bursts.chance,
        jitter_s=jitter_s,
        jitter_interval_s=jitter_interval_s,
        direction=of.evidence.direction,
        is_shared=not alone,
    )


def _is_alone(number: int, found: Sequence[Diagnosis]) -> bool:
    """Whether none of the others was at the same time."""
    return not any(_overlap(found[number], each) for n, each in enumerate(found) if n != number)


def _overlap(one: Diagnosis, other: Diagnosis) -> bool:
    return one.evidence.start_s < other.evidence.end_s and other.evidence.start_s < one.evidence.end_s


def _carried(view: View) -> float | None:
    """The highest rate of IP bytes that was seen, without holes and their repairs if there is other time."""
    if not view.size:
        return None
    whole = without_holes(view)
    rates = view.total_bit_s[whole] if whole.any() else view.total_bit_s
    return float(rates.max()) * view.wire_scale


def without_holes(view: View) -> Flags:
    """The samples that no hole and no repair of one precedes closely: to a receiver's socket all comes at
    once that lay behind a hole. All samples of other evidence."""
    if view.at_sender or view.evidence.of_packets:
        return np.ones(view.size, bool)
    holes_s = view.time_s[view.grown("out_of_order") > 0]
    repaired_s = _REPAIRED_ROUND_TRIPS * (view.base_rtt_s or 0.0) + _WINDOW_S
    return np.asarray(since(holes_s, view.time_s) > repaired_s)


@dataclass(frozen=True)
class _Rate:
    bit_s: float | None
    source: str
    interval: Interval


def _rate(of: Diagnosis, least_bit_s: float, *, alone: bool, simulates: bool) -> _Rate:
    """The path's rate by what tells it best. `alone`: no other transfer was seen beside it."""
    view = of.view
    scale = view.wire_scale
    told = _by_itself(of, least_bit_s, simulates=simulates) if alone else None
    if told is not None:
        source, found = told
        return _Rate(found.usual, source, (found.low, found.high))
    rates = view.total_bit_s[view.standing & ~view.recovering] * scale
    capacity = view.capacity_bit_s
    return _Rate(capacity and capacity * scale, view.capacity_from, _quartiles(rates))


def _by_itself(of: Diagnosis, least_bit_s: float, *, simulates: bool) -> tuple[str, ToldRate] | None:
    """The rate of IP bytes, and which of BY_ITSELF told it."""
    scale = of.view.wire_scale
    if (trains := _by_trains(of)) is not None:
        return "trains", trains.times(scale)
    if (bursts := _by_bursts(of, least_bit_s)) is not None:
        return "bursts", bursts.times(scale)
    if simulates and (start := _by_start(of, least_bit_s)) is not None:
        return "start", start
    return None


def _by_trains(of: Diagnosis) -> ToldRate | None:
    """The rate where no queue tells it. Acknowledgements that wait for a slow reader come as it reads."""
    view = of.view
    if view.knows_the_paths_rate or of.findings[0].kind == "receiver-application":
        return None
    return path_rate(of.evidence.train_rates, float(view.total_bit_s.max(initial=0.0)))


def _by_bursts(of: Diagnosis, least_bit_s: float) -> ToldRate | None:
    """The same by the samples of a socket, of a window that goes as one burst. What drops splits bursts."""
    if of.findings[0].kind not in _WINDOWS:
        return None
    found = burst_rate(of.view, least_bit_s / of.view.wire_scale)
    return found if found is not None and found.low > _by_queue_bit_s(of.view) else None


def _by_queue_bit_s(view: View) -> float:
    """The rate of payload while a queue stood; 0: none did."""
    return view.capacity_bit_s or 0.0 if view.capacity_from == "queue" else 0.0


def _by_start(of: Diagnosis, least_bit_s: float) -> ToldRate | None:
    """The same by the samples of a socket. A queue that stood tells the rate better, unless its packets
    waited for each other only, as those of a small send buffer do: then slow start shows more."""
    view = of.view
    if of.findings[0].kind not in _STARTS or view.capacity_from == "probing":
        return None
    found = start_rate(of, least_bit_s)
    return found if found is not None and found.low > _by_queue_bit_s(view) * view.wire_scale else None


def _low(view: View) -> float | None:
    known_rtt = view.rtt_s[np.isfinite(view.rtt_s)]
    return float(np.quantile(known_rtt, 0.05)) if known_rtt.size else None


def _quartiles(values: Floats) -> Interval:
    if not values.size:
        return None, None
    return float(np.quantile(values, 0.25)), float(np.quantile(values, 0.75))


def large(of: Diagnosis, *kinds: str) -> Finding | None:
    """The first finding of these kinds that took a good part of the time."""
    return next((each for each in of.findings if each.kind in kinds and each.share >= _LEAST_SHARE), None)


def short_queue_bytes(of: Diagnosis, rate_bit_s: float | None) -> float | None:
    """Of the queue that overflowed, if that is found first of what drops. What waited so long at the highest
    rate that was carried is more at the path's."""
    found = large(of, *DROPS)
    if found is None or found.kind != "short-queue":
        return None
    at_its_rate = (found.evidence.get("longest_wait_s") or 0.0) * (rate_bit_s or 0.0) / 8
    return max(found.evidence.get("queue_bytes") or 0.0, at_its_rate)


def _queue(of: Diagnosis, rate: _Rate) -> tuple[float | None, Interval]:
    held, interval = _queue_that_stood(of.view) if rate.source not in BY_ITSELF else (None, (None, None))
    if held is None and (held := short_queue_bytes(of, rate.bit_s) or None) is not None:
        return held, (0.8 * held, 1.2 * held)
    return held, interval


def _queue_that_stood(view: View) -> tuple[float | None, Interval]:
    if view.capacity_bit_s is None or not view.standing.any():
        return None, (None, None)
    # Where the path's rate changes, packets wait longest while it is low.
    served_bit_s = np.minimum(view.total_bit_s, view.capacity_bit_s)[view.standing]
    held = float(np.nanmax(view.queue_s[view.standing] * served_bit_s)) / 8 * view.wire_scale
    overflowed = any(
        view.standing[max(int(place) - 2, 0) : int(place) + 3].any() for place in before_losses(view)
    )
    return held, (0.8 * held, 1.2 * held if overflowed else None)


def _loss(of: Diagnosis) -> tuple[float | None, Interval]:
    view = of.view
    if not view.knows("sent_bytes"):
        return None, (None, None)
    segments = view.most("sent_bytes") / view.mss
    if segments < 1:
        return None, (None, None)
    events = 0.0
    for each in of.findings:
        if each.kind == "random-loss":
            # BBR repairs for many round trips on end: its events are few, and each holds many losses.
            share = each.evidence.get("loss_share")
            if share is None and of.neighbours:
                share = view.most("retransmits") / segments  # The events are those of all.
            events = float(each.evidence["loss_events"]) if share is None else share * segments
            break
    spread = 1.96 * max(events, 1.0) ** 0.5
    return events / segments, (max(events - spread, 0.0) / segments, (events + spread) / segments)


def _bursts(of: Diagnosis) -> LossBursts:
    """Not of a loss that is a share of segments, as BBR's."""
    events = any(each.kind == "random-loss" and "loss_share" not in each.evidence for each in of.findings)
    return loss_bursts(of) if events else UNKNOWN
