"""Figures that tell at a receiver what keeps a sender from sending more. Each is a ratio.

- **Pacing** and an application that writes at a rate come smoothly: from one sample to the next the payload
  differs by two segments, or by a millisecond of the rate, which is what a host sends at once.
- **An application** that writes at a rate has written more than slow start could send, and is caught up
  with: the rate exceeds the steady one first. Pacing never does. Or it pauses.
- **A send buffer** gives a window: as much in each round trip, in bursts that return a round trip later.
- **cwnd** grows between losses, so that what comes per round trip grows too.
"""

import numpy as np

from bentpipe.doctor.arrays import Floats
from bentpipe.doctor.view import View

_MAD = 1.4826
_EXACT_SEGMENTS = 2.0
_BURST_S = 0.001
_INITIAL_SEGMENTS = 10
_LEAST_SAMPLES = 8
_MOST_WINDOWS = 1e5
_NEAR = 0.03
_SETTLED_SHARE = 0.25


def arrival_signs(view: View) -> dict[str, float]:
    """By name; NaN where not known. Empty where too little came."""
    own = (view.connection == view.connection[0]) if view.size else np.zeros(0, bool)
    time_s, arrived = view.time_s[own], np.nan_to_num(view["segments_sent"][own])
    if time_s.size < _LEAST_SAMPLES or arrived[-1] - arrived[0] < _LEAST_SAMPLES:
        return {}
    base_s = max(view.base_rtt_s or 0.0, 1e-4)
    # Times in a file may be years apart.
    window_s = max(view.window_s, float(time_s[-1] - time_s[0]) / _MOST_WINDOWS)
    settled = time_s >= time_s[0] + _SETTLED_SHARE * (time_s[-1] - time_s[0])
    counts = _per_window(time_s, arrived, float(time_s[settled][0]), window_s)
    steps, took = np.diff(arrived[settled]), np.diff(time_s[settled])
    steps, took = steps[took > 0], took[took > 0]
    if counts.size < 3 or not took.size or np.median(counts) <= 0:
        return {}
    usual = float(np.median(counts)) / window_s
    exact = max(_EXACT_SEGMENTS, usual * _BURST_S)
    differs = float(np.median(np.abs(steps - usual * took))) * _MAD
    low, high = np.quantile(counts, (0.25, 0.75))
    flight = usual * base_s
    level = arrived - arrived[-1] - usual * (time_s - time_s[-1])
    earlier = np.interp(time_s - window_s, time_s, arrived, left=arrived[0])
    half = counts.size // 2
    with np.errstate(invalid="ignore"):
        wait = float(np.nanmedian(view.rtt_s[own][settled])) / base_s if view.knows("srtt_s") else np.nan
    return {
        "differs": float(np.log((differs + 0.1) / exact)),
        "differs_of_flight": float(np.log((differs + 0.1) / (flight + 1))),
        "varies": float(np.log((high - low) / 2 / np.median(counts) + 0.003)),
        "near_usual": float((np.abs(counts - np.median(counts)) <= _NEAR * np.median(counts) + 2).mean()),
        "overshoot": float(np.log(max((arrived - earlier).max() / window_s / usual, 0.1))),
        "flight_of_initial": float(np.log((flight + 0.5) / _INITIAL_SEGMENTS)),
        "behind": float(np.arcsinh((level.max() - level[-1]) / (flight + _INITIAL_SEGMENTS))),
        "start_behind": float(np.arcsinh(level[0] / (flight + _INITIAL_SEGMENTS))),
        "pauses": float(took[steps <= 0].sum() / took.sum()) if usual * np.median(took) > 2 else np.nan,
        "grows": float(np.log((np.median(counts[half:]) + 1) / (np.median(counts[:half]) + 1))),
        "waits": float(np.log(max(wait, 0.5))),
        "returns": _returns(time_s[settled], arrived[settled], base_s),
    }


def _per_window(time_s: Floats, arrived: Floats, begin_s: float, window_s: float) -> Floats:
    edges = np.arange(begin_s, float(time_s[-1]), window_s)
    counts: Floats = np.diff(np.interp(edges, time_s, arrived))
    return counts


def _returns(time_s: Floats, arrived: Floats, base_s: float) -> float:
    """How much more alike the arrivals are a round trip apart than half of one; NaN of coarse samples."""
    spacing_s = float(np.median(np.diff(time_s)))
    lag = round(base_s / spacing_s) if spacing_s > 0 else 0
    steps = np.diff(arrived)
    if lag < 3 or steps.size < 4 * lag or steps.std() <= 0:
        return float("nan")
    steps = steps - steps.mean()

    def alike(by: int) -> float:
        return float((steps[by:] * steps[:-by]).mean() / steps.var())

    return alike(lag) - alike(lag // 2)
