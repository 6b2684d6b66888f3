"""Figures of a capture that tell what keeps a sender from sending more, and reordering from loss. Ratios.

- **A send buffer** holds a window: the most in flight in each round trip is always the same, it drains until
  the program is woken, and what is in flight at most does not grow, though nothing was lost.
- **cwnd** grows between losses.
- **An application** sends segments that are not full, and pauses.
- **Reordering**: acknowledgements report segments beyond a hole much of the time, what is sent again has
  arrived already (D-SACK), and at a receiver late segments were sent before those that they follow.
"""

import numpy as np

from bentpipe.doctor.arrays import Floats, middle
from bentpipe.doctor.view import View

_LEAST_SAMPLES = 8
_LEAST_S = 0.2
_SETTLED_SHARE = 0.25
_FLAT = 0.02
_USUAL_DEGREE = 3.0


def packet_signs(view: View) -> dict[str, float]:
    """By name; NaN where not known."""
    if view.size < _LEAST_SAMPLES:
        return {}
    return {**_flights(view), **_reordering(view)}


def _flights(view: View) -> dict[str, float]:
    time_s, flight = view.time_s, np.nan_to_num(view.flight)
    settled = time_s >= time_s[0] + _SETTLED_SHARE * (time_s[-1] - time_s[0])
    window_s = max(view.base_rtt_s or 0.0, _LEAST_S)
    most, least = _per_window(time_s[settled], flight[settled], window_s)
    usual = middle(most, most > 0)
    if most.size < 3 or not usual > 0:
        return {}
    low, high = np.quantile(most, (0.25, 0.75))
    half = most.size // 2
    with np.errstate(invalid="ignore"):
        window = np.where(view["rwnd_bytes"] > 0, view["rwnd_bytes"], np.nan)
        of_window = middle(view.flight / window, settled)
    return {
        "flight_varies": float(np.log((high - low) / 2 / usual + 0.003)),
        "flight_at_usual": float((np.abs(most - usual) <= _FLAT * usual + view.mss).mean()),
        "flight_drains": float(np.median(least[most > 0] / most[most > 0])),
        "flight_grows": float(np.log((np.median(most[half:]) + 1) / (np.median(most[:half]) + 1))),
        "flight_of_window": float(np.log(of_window)) if of_window > 0 else np.nan,
        "all_sent": float((np.nan_to_num(view["app_limited"]) > 0.5)[settled].mean()),
    }


def _per_window(time_s: Floats, values: Floats, window_s: float) -> tuple[Floats, Floats]:
    """The largest and the smallest value of each stretch of time."""
    numbers = ((time_s - time_s[0]) / window_s).astype(int)
    edges = np.flatnonzero(np.diff(numbers, prepend=-1))
    return np.maximum.reduceat(values, edges), np.minimum.reduceat(values, edges)


def _reordering(view: View) -> dict[str, float]:
    events = view.evidence.events
    counts = dict(events["kind"].value_counts().iter_rows())
    again = float(np.nanmax(view["retransmits"], initial=0.0))
    segments = float(np.nanmax(view["segments_sent"], initial=0.0))
    late = events.filter(events["kind"] == "reordering")["lasted_s"].drop_nulls().to_numpy()
    found = {
        "unneeded": float(np.log((counts.get("duplicate", 0) + 0.5) / (again + 1))),
        "disorder": float((view.evidence.samples["recovery"] != "open").to_numpy().mean()),
    }
    if segments > 0:
        found["late_of_all"] = float(np.log((late.size + 0.5) / (segments + 1)))
    if late.size and view.size:
        usual = middle(view.total_bit_s, view.total_bit_s > 0)
        degree = float(np.quantile(late, 0.9)) * usual / 8 / view.mss
        found["late_segments"] = float(np.log(max(degree, 0.1) / _USUAL_DEGREE))
    return found
