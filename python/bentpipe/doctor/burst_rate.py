"""The rate of a path that was never full, by how fast payload comes within a round trip, in fine samples.

A window that leaves its path idle comes as one burst per round trip, at the rate of the slowest link. Samples
of a socket that are several times finer than a burst show that rate: between the first and the last sample of
a burst all time is the link's.

1. A burst is a stretch of samples in each of which at least half as much came as in the busiest ones. Its
   first and last sample are part idle and do not count.
2. Some bursts are needed, and their rates have to be close together and a third above all that the transfer
   carried in any round trip.
3. A sender that paces itself sends bursts, too, and their spacing stays when nothing is paced any longer.
   Such segments did not wait for each other at the slowest link. So the beginning has to be seen, and round
   trips in it have to be longer by a twelfth of a burst's time: in slow start half a burst waits, and the
   smoothed round trip shows half of that or less.
4. Where a receiver misses a segment its socket counts nothing, and all at once when it is there. Such times
   do not count.
"""

import numpy as np

from bentpipe.doctor.arrays import Floats, since, stretches
from bentpipe.doctor.told_rate import ToldRate
from bentpipe.doctor.view import View

_OF_THE_BUSIEST = 0.5
_BUSIEST = 0.98
_LEAST_INNER = 2
_LEAST_SEGMENTS = 4
_LEAST_BURSTS = 5
_SLOWER = 0.2
_MOST_SPREAD = 1.25
_ABOVE = 1.35
_OF_A_BURST = 12
_REPAIRED_ROUND_TRIPS = 3


def burst_rate(view: View, carried_bit_s: float) -> ToldRate | None:
    """Of payload. `carried_bit_s`: the highest rate of the transfer's. None: the samples do not tell."""
    if view.evidence.of_packets or len(view.connections) != 1 or carried_bit_s <= 0 or not view.base_rtt_s:
        return None
    arrived = view["arrived_bytes"] if view.knows("arrived_bytes") else view["delivered_bytes"]
    time_s, came = view.time_s[1:], np.diff(np.nan_to_num(arrived))
    took_s = np.diff(view.time_s)
    late_s = view.time_s[(view.grown("out_of_order") > 0) | (view.grown("retransmits") > 0)]
    came = np.where(since(late_s, time_s) < _REPAIRED_ROUND_TRIPS * view.base_rtt_s, 0.0, came)
    if not (took_s > 0).all() or not (came > 0).any():
        return None
    rates, weights = _of_bursts(came, took_s, view.mss)
    if rates.size < _LEAST_BURSTS:
        return None
    low, high = (float(np.quantile(rates, each)) for each in (_SLOWER, 1 - _SLOWER))
    usual = float(np.average(rates, weights=weights))
    if high > _MOST_SPREAD * low or usual < _ABOVE * carried_bit_s:
        return None
    if not _waited(view, view.base_rtt_s * carried_bit_s / usual):
        return None
    return ToldRate(usual, min(low, usual), max(high, usual))


def _waited(view: View, burst_s: float) -> bool:
    """Whether segments waited for each other in the beginning, for a part of a burst's time."""
    waits = view.rtt_s[view.unharmed & np.isfinite(view.rtt_s)] - (view.base_rtt_s or 0.0)
    return bool(view.evidence.begun and waits.size and waits.max() >= burst_s / _OF_A_BURST)


def _of_bursts(came: Floats, took_s: Floats, mss: float) -> tuple[Floats, Floats]:
    """The rate within each burst, and how many bytes it rests on."""
    rate = came * 8 / took_s
    busy = rate >= _OF_THE_BUSIEST * np.quantile(rate[came > 0], _BUSIEST)
    rates, weights = [], []
    for begin, end in stretches(busy):
        inner = slice(begin + 1, end - 1)
        if end - begin - 2 >= _LEAST_INNER and came[inner].sum() >= _LEAST_SEGMENTS * mss:
            rates.append(came[inner].sum() * 8 / took_s[inner].sum())
            weights.append(came[inner].sum())
    return np.array(rates), np.array(weights)
