"""Other transfers that share a queue with this one: they have what this one does not get of the path.

The rate of one of several varies, though the path is full all the while. The rate of their sum does not, but
for the times after losses. So the excess of a rate is how much its 90 % quantile is above its median. A
transfer has neighbours if the excess of the sum is at most a tenth of the sum's median, and less than half of
the transfer's own excess. A transfer whose own rate is constant within 3 % has none: something of its own
limits it. Up to three others are left out if the sum is constant without them.

Transfers with neighbours are judged with the connections of these beside their own (several.py): what they
share bounds their sum. What each waits is more than its own base round trip, so the round trips of neighbours
count from this transfer's base. Neighbours of other hosts are not seen, so nothing is known of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from bentpipe.doctor.arrays import Flags, Floats
from bentpipe.doctor.evidence import Evidence
from bentpipe.doctor.view import View

_LEAST_TOGETHER = 0.25
_OF_ITS_OWN = 0.5
_STEADY = 0.1
_CONSTANT = 0.03
_MOST_STRANGERS = 3
"""So many of the others may be on paths of their own."""
_LEAST_SAMPLES = 20
_LEAST_S = 0.5
_ROUND_TRIPS = 2
_MOST_CONNECTIONS = 64
"""Of more, each is judged by itself: that takes less time than all together."""


def neighbours(views: Sequence[View]) -> list[list[int]]:
    """Of each transfer that one end saw, the numbers of those that share a queue with it."""
    found: list[set[int]] = [set() for _ in views]
    for own, of in enumerate(views):
        for other in _of_one(own, views):
            # If it shares a queue with the other, the other shares it with it.
            found[own].add(other)
            if not _is_constant(of, views[other]):
                found[other].add(own)
    return [sorted(each) for each in found]


def joined(of: View, near: Sequence[View]) -> Evidence:
    """Its evidence with the connections of its neighbours, numbered after its own."""
    frames = [of.evidence.samples]
    first = connections(of.evidence)
    for each in near:
        later_s = (each.base_rtt_s or 0.0) - (of.base_rtt_s or 0.0)
        frames.append(
            each.evidence.samples.with_columns(
                pl.col("connection") + first,
                *(pl.col(name) - later_s for name in ("srtt_s", "min_rtt_s")),
                asked_bytes=pl.lit(None, pl.Int64),  # Its program's requests are none of this transfer's.
            )
        )
        first += connections(each.evidence)
    return replace(of.evidence, samples=pl.concat(frames).sort("time_s", "connection", maintain_order=True))


def at_once(seen: View, own: Flags) -> float:
    """How many of its neighbours' connections carry payload at a time, in the mean over the transfer."""
    lasts_s = float(np.ptp(seen.time_s[own])) if own.any() else 0.0
    if not lasts_s > 0:
        return 0.0
    inside = (seen.time_s >= seen.time_s[own].min()) & (seen.time_s <= seen.time_s[own].max())
    return float(seen.dt_s[~own & inside & (seen.rate_bit_s > 0)].sum()) / lasts_s


def connections(of: Evidence) -> int:
    """How many it has."""
    return int(of.samples["connection"].max() or 0) + 1  # type: ignore[arg-type]


def _of_one(own: int, views: Sequence[View]) -> list[int]:
    of = views[own]
    left = [number for number, each in enumerate(views) if number != own and _went_beside(of, each)]
    several = sum(connections(views[number].evidence) for number in (own, *left))
    if not left or not _is_rich(of) or several > _MOST_CONNECTIONS:
        return []
    time_s, window_s = _times(of)
    if time_s.size < _LEAST_SAMPLES:
        return []
    alone = _rate(of, time_s, window_s)
    if _excess(alone) <= _CONSTANT * float(np.median(alone)):
        return []
    rates = {number: _rate(views[number], time_s, window_s) for number in left}
    together = alone + sum(rates.values())
    for _ in range(_MOST_STRANGERS):
        if _is_full(together, alone) or len(left) < 2:
            break
        stranger = min(left, key=lambda number: _excess(together - rates[number]))
        together = together - rates[stranger]
        left.remove(stranger)
    return left if _is_full(together, alone) else []


def _is_full(together: Floats, alone: Floats) -> bool:
    """Whether the sum's rate is one of a path that is full, and that of its own is not."""
    usual, excess = float(np.median(together)), _excess(together)
    return usual > 0 and excess <= _STEADY * usual and excess < _OF_ITS_OWN * _excess(alone)


def _is_constant(beside: View, of: View) -> bool:
    """Whether a transfer's own rate is constant, or too little is known of it."""
    if not _is_rich(of) or not _went_beside(of, beside):
        return True
    time_s, window_s = _times(of)
    if time_s.size < _LEAST_SAMPLES:
        return True
    alone = _rate(of, time_s, window_s)
    return _excess(alone) <= _CONSTANT * float(np.median(alone))


def _went_beside(one: View, other: View) -> bool:
    """Whether the other went the same way in a quarter of the shorter one's time, seen from the same end."""
    of, beside = one.evidence, other.evidence
    together_s = min(of.end_s, beside.end_s) - max(of.start_s, beside.start_s)
    return (
        other.size > 0
        and (of.direction, of.seen_from, of.of_packets)
        == (beside.direction, beside.seen_from, beside.of_packets)
        and together_s > _LEAST_TOGETHER * min(of.duration_s, beside.duration_s)
        and other.knows("segments_sent")
    )


def _is_rich(of: View) -> bool:
    return of.size >= _LEAST_SAMPLES and of.knows("segments_sent")


def _times(of: View) -> tuple[Floats, float]:
    """Those of its connection with most samples, and over how long rates are compared."""
    numbers, sizes = np.unique(of.connection, return_counts=True)
    own = of.connection == numbers[np.argmax(sizes)]
    begin_s = of.time_s[0] + (of.base_rtt_s or 0.0)
    inside = own & (of.time_s >= begin_s) & (of.time_s <= of.evidence.end_s)
    return of.time_s[inside], max(_LEAST_S, _ROUND_TRIPS * (of.base_rtt_s or 0.0))


def _rate(of: View, time_s: Floats, window_s: float) -> Floats:
    """Of all its connections, in the window before each of these times."""
    # At a receiver what is delivered waits for holes to be filled.
    arrived = of["arrived_bytes"] if of.knows("arrived_bytes") else of["segments_sent"] * of.mss
    found = np.zeros_like(time_s)
    for number in of.connections:
        own = of.connection == number
        at_s, count = of.time_s[own], np.nan_to_num(arrived[own])
        until, since = (np.interp(time_s - ago_s, at_s, count, left=0.0) for ago_s in (0.0, window_s))
        found += (until - since) * 8 / window_s
    return found


def _excess(rate: Floats) -> float:
    """By how much the highest tenth begins above the median."""
    half, high = np.quantile(rate, (0.5, 0.9))
    return float(high - half)
