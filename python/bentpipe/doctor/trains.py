"""The rate of the slowest link, by how fast segments came that came one after another.

Segments that waited for each other at a path's slowest link keep the distances that it gave them, so trains
of them show its rate, though the transfer as a whole never fills the path (Dovrolis, Ramanathan and Moore,
"What do packet dispersion techniques measure?", INFOCOM 2001; `crates/capture/src/flow/trains.rs`).

A train with pauses in it is too slow, so the fast ones tell: those of half the rate that hardly any train
exceeds, and more. Four in five of them are no faster than the link. They have to be close together: a device
that merges segments or an end that is woken seldom gives any rate. And they have to be a third above all that
the transfer carried in any time, since a sender that paces itself spaces its segments itself: Linux by 1.2
times a window per round trip. A capture whose clock does not tell segments apart tells nothing, nor one of
several transfers at once: then each has a share of the path.
"""

from collections.abc import Sequence

import numpy as np

from bentpipe.doctor.arrays import Floats
from bentpipe.doctor.told_rate import ToldRate

_LEAST_TRAINS = 10
_LEAST_SHARE = 0.03
_AT_ONCE_BIT_S = 9e10
"""What took no time that the capture's clock shows."""
_STEP = 0.03
"""From one rate that is counted to the next."""
_FASTEST = 0.98
_FAST = 0.5
_NO_FASTER = 0.8
_MOST_SPREAD = 1.6
_ABOVE = 1.35


def path_rate(trains: Sequence[tuple[float, int]], carried_bit_s: float) -> ToldRate | None:
    """Of payload, from the rates of trains and how many had each. `carried_bit_s`: the highest rate of the
    transfer. None: the trains do not tell."""
    if not trains or carried_bit_s <= 0:
        return None
    rates, counts = np.array(sorted(trains), float).T
    if counts[rates >= _AT_ONCE_BIT_S].sum() > (1 - _FASTEST) * counts.sum():
        return None
    fast = rates >= _FAST * _quantile(rates, counts, _FASTEST)
    if counts[fast].sum() < max(_LEAST_TRAINS, _LEAST_SHARE * counts.sum()):
        return None
    slower, usual, fastest = (
        _quantile(rates[fast], counts[fast], each) for each in (1 - _NO_FASTER, _NO_FASTER, _FASTEST)
    )
    if usual > _MOST_SPREAD * slower or usual < _ABOVE * carried_bit_s:
        return None
    return ToldRate(usual, min(slower, usual * (1 - _STEP)), max(fastest, usual * (1 + _STEP)))


def _quantile(values: Floats, counts: Floats, share: float) -> float:
    """Of values that are sorted, each of which was counted so often."""
    place = int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
    return float(values[min(place, values.size - 1)])
