"""How much the round trip scatters from one sample to the next while no queue stands: the jitter.

It is the median of the absolute differences, times 1.4826, which makes it the standard deviation of normal
ones. A socket's round trips are smoothed (RFC 6298), so theirs is less than that of single packets.

The interval is that of the median of blocks of time. Differences that follow each other depend on each
other; blocks hardly do. Of independent values the k-th lowest and the k-th highest hold the median with a
chance that follows from the binomial distribution alone. k is the largest with 95 % or more.
"""

import math

import numpy as np

from bentpipe.analysis.intervals import LEVEL
from bentpipe.doctor.arrays import Floats
from bentpipe.doctor.view import View

_MAD = 1.4826
_LEAST_SAMPLES = 8
_LEAST_IN_BLOCK = 4
_LEAST_BLOCKS = 6
"""Of fewer the lowest and the highest hold the median less often than at LEVEL."""
_MOST_BLOCKS = 20

Jitter = tuple[float | None, tuple[float | None, float | None]]


def jitter(view: View) -> Jitter:
    """In seconds, and its 95 % interval; None where too few round trips are known."""
    calm = ~view.standing & ~view.recovering & np.isfinite(view.rtt_s)
    if calm.sum() < _LEAST_SAMPLES:
        return None, (None, None)
    apart = np.abs(np.diff(view.rtt_s[calm]))
    usual = _MAD * float(np.median(apart))
    count = min(len(apart) // _LEAST_IN_BLOCK, _MOST_BLOCKS)
    if count < _LEAST_BLOCKS:
        return usual, (None, None)
    low, high = _of_median(np.array([_MAD * np.median(block) for block in np.array_split(apart, count)]))
    return usual, (min(low, usual), max(high, usual))


def _of_median(values: Floats) -> tuple[float, float]:
    count, outside, place = len(values), 0.5 ** len(values), 0
    while True:
        more = outside + math.comb(count, place + 1) * 0.5**count
        if 2 * more > 1 - LEVEL:
            break
        outside, place = more, place + 1
    ordered = np.sort(values)
    return float(ordered[place]), float(ordered[-1 - place])
