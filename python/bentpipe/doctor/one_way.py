"""How long packets wait on one way, by the clock of the end that sent them (RFC 7323, time stamps).

A packet that was sent at T, by its sender's clock, and passes the capture at A, by the capture's, took A - T
and an offset that does not change. What it took longer than the fastest packet is its wait on that way.

- **Tick**: a sender's clock counts ticks of a length that it does not tell. Linux has 1 ms, or 1 us with
  `tcp_usec_ts`. The slope of A over ticks says which. Coarser clocks, of 10 ms and more, are not used.
- **Drift**: two clocks differ by up to 100 ppm. The slope of the fastest packets says by how much: the median
  of the slopes between any two of ten stretches of time (Theil and Sen).
"""

from itertools import pairwise

import numpy as np

from bentpipe.doctor.arrays import Floats

_TICKS_S = (1e-6, 1e-3)
_NEAR = 1.35
"""How far the slope is from a tick's length at most: waits that grow change it."""
_MOST_DRIFT = 1e-4
_STRETCHES = 10
_LEAST = 20
_LEAST_TICKS = 50


def one_way_waits(at_s: Floats, ticks: Floats) -> Floats | None:
    """The wait of each packet, in seconds, exact to 1 ms. Arrays of the same shape: when packets passed, and
    what their sender's clock said; NaN where not known. None: they do not tell."""
    known = np.isfinite(at_s) & np.isfinite(ticks)
    if known.sum() < _LEAST:
        return None
    at, said = at_s[known], ticks[known]
    first, last = int(np.argmin(at)), int(np.argmax(at))
    lasted_s, counted = float(at[last] - at[first]), float(said[last] - said[first])
    if lasted_s <= 0 or counted < _LEAST_TICKS:
        return None
    slope = lasted_s / counted
    tick_s = min(_TICKS_S, key=lambda each: abs(np.log(slope / each)))
    if not 1 / _NEAR <= slope / tick_s <= _NEAR:
        return None
    took = at - said * tick_s
    took = took - _drift(at, took) * at
    waits = np.full_like(at_s, np.nan)
    waits[known] = took - took.min()
    return waits


def _drift(at_s: Floats, took_s: Floats) -> float:
    """By how many seconds per second the fastest packets take longer."""
    edges = np.linspace(at_s.min(), at_s.max(), _STRETCHES + 1)
    times, lows = [], []
    for begin, end in pairwise(edges):
        own = (at_s >= begin) & (at_s <= end)
        if own.any():
            times.append((begin + end) / 2)
            lows.append(took_s[own].min())
    first, second = np.triu_indices(len(times), 1)
    if not first.size:
        return 0.0
    time_s, low_s = np.array(times), np.array(lows)
    found = float(np.median((low_s[second] - low_s[first]) / (time_s[second] - time_s[first])))
    return found if abs(found) <= _MOST_DRIFT else 0.0
