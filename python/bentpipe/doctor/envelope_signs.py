"""Figures of how much arrives at most in a time T, from one sample to many round trips. Each is a ratio.

The most that arrives in any time T, over T, is the arrivals' envelope E(T). Each thing that limits bounds it
at its own T:

- **the path's rate** C bounds every T, however short. Where the path is full, E is C from a sample to the
  whole transfer. Where something else limits, bursts still come at C: E falls within a round trip.
- **a line of N packets** bounds what comes within a round trip, and cwnd is below that most of the time: E is
  flat for some round trips and falls towards the mean over many.
- **a policer** of rate r and burst b lets pass r T + b: E is above r for T < b / r. The mean is r, since
  unused tokens stay in the bucket.
- **random loss** bounds nothing: E falls evenly.
- **pacing** and an application that writes at a rate: E is the mean at any T; the one from the first round
  trip on, the other after a start that is slower or, while it catches up, faster.

Between two losses cwnd grows from 0.7 of what was in flight to all of it, if the same flight is lost each
time: by CUBIC's law, or Reno's. Where a bucket decides, or chance, it takes another time.

How coarse the samples are, and how much is in flight, says which of these a sample can show.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, stretches, whole_round_trips
from bentpipe.doctor.view import View, before_losses

_LEAST_SAMPLES = 8
_ROUND_TRIPS = (1, 4, 16)
_SETTLED_SHARE = 0.15
_SETTLED_ROUND_TRIPS = 8
_MOST = 0.98
_SAME = 0.05
_COUNTED_SEGMENTS = 2
_KEEPS = 0.7
_CUBIC = 0.4


def envelope_signs(view: View) -> dict[str, float]:
    """By name; NaN where not known. Empty where too little came."""
    own = (view.connection == view.connection[0]) if view.size else np.zeros(0, bool)
    time_s, arrived = view.time_s[own], _arrived(view)[own]
    if time_s.size < _LEAST_SAMPLES or arrived[-1] - arrived[0] < _LEAST_SAMPLES:
        return {}
    base_s = max(view.base_rtt_s or 0.0, 1e-4)
    steps_s = np.diff(time_s)
    spacing_s = float(np.median(steps_s[steps_s > 0])) if (steps_s > 0).any() else 0.1
    begins = int(np.argmax(arrived > arrived[0]))
    begin_s, end_s = float(time_s[begins]), float(time_s[-1])
    lasted_s = end_s - begin_s
    after_s = max(_SETTLED_SHARE * lasted_s, min(_SETTLED_ROUND_TRIPS * base_s, lasted_s / 2))
    settled = time_s >= begin_s + after_s
    if settled.sum() < _LEAST_SAMPLES or arrived[settled][-1] <= arrived[settled][0]:
        return {}
    usual = float((arrived[-1] - arrived[settled][0]) / (end_s - time_s[settled][0]))
    flight = usual * base_s
    return {
        "coarse": float(np.log(max(spacing_s / base_s, 1 / 32))),
        "round_trip": float(np.log(base_s / 0.1)),
        "flight_segments": float(np.log(flight + 0.5)),
        **_envelope(time_s, arrived, settled, usual, (base_s, spacing_s)),
        **_begins(time_s[begins:] - begin_s, arrived[begins:], usual, max(base_s, spacing_s)),
        **_losses(view.of(own), arrived, max(base_s, spacing_s)),
        **_cycle(view.of(own), flight, base_s),
        **_waits(view.of(own & (view.time_s >= begin_s + after_s)), base_s),
        "filled_segments": _filled(view.of(own)),
    }


def _arrived(view: View) -> Floats:
    """Segments so far, without regard to their order."""
    if view.at_sender and view.knows("arrived_bytes"):
        return np.asarray(np.nan_to_num(view["arrived_bytes"]) / view.mss)
    return np.nan_to_num(view["segments_sent"])


def _per_s(time_s: Floats, arrived: Floats, settled: Flags, over_s: float) -> Floats:
    """What came in the time before each settled sample."""
    ends = time_s[settled & (time_s >= time_s[settled][0] + over_s)]
    if ends.size < _LEAST_SAMPLES // 2:
        return np.zeros(0)
    return np.asarray((np.interp(ends, time_s, arrived) - np.interp(ends - over_s, time_s, arrived)) / over_s)


def _envelope(
    time_s: Floats, arrived: Floats, settled: Flags, usual: float, widths_s: tuple[float, float]
) -> dict[str, float]:
    base_s, spacing_s = widths_s
    round_trip_s = max(base_s, spacing_s)
    fine = _per_s(time_s, arrived, settled, spacing_s)
    by_width = [
        _per_s(time_s, arrived, settled, whole_round_trips(base_s, spacing_s, count * round_trip_s))
        for count in _ROUND_TRIPS
    ]
    most = [float(np.quantile(each, _MOST)) if each.size else np.nan for each in (fine, *by_width)]
    least = [float(np.quantile(each, 1 - _MOST)) if each.size else np.nan for each in by_width]
    found = {
        "most_of_sample": _log(most[0], most[1]),
        "most_of_1": _log(most[1], most[2]),
        "most_of_4": _log(most[2], most[3]),
        "most_of_16": _log(most[3], usual),
        "least_of_1": _low(least[0], usual),
        "least_of_4": _low(least[1], usual),
        "least_of_16": _low(least[2], usual),
    }
    if fine.size and most[0] > 0:
        near = max(_SAME * most[0], _COUNTED_SEGMENTS / spacing_s)
        found["at_most"] = float((fine >= most[0] - near).mean())
    if by_width[0].size and most[1] > 0:
        near = max(_SAME * most[1], _COUNTED_SEGMENTS / round_trip_s)
        found["at_most_of_1"] = float((by_width[0] >= most[1] - near).mean())
    return found


def _begins(time_s: Floats, arrived: Floats, usual: float, round_trip_s: float) -> dict[str, float]:
    """How the first round trips compare with the usual rate, and how long it takes to reach that."""
    came = arrived - arrived[0]
    first = float(np.interp(round_trip_s, time_s, came))
    rates = (came - np.interp(time_s - round_trip_s, time_s, came, left=0.0)) / round_trip_s
    reached = np.flatnonzero(rates >= 0.9 * usual - 1 / round_trip_s)
    took_s = float(time_s[reached[0]]) if reached.size else float(time_s[-1])
    return {
        "first_round": _log(first + 0.5, usual * round_trip_s + 0.5),
        "rise_round_trips": float(np.log(max(took_s / round_trip_s, 0.5))),
        "highest_at_start": _log(float(rates.max()), usual),
    }


def _losses(view: View, arrived: Floats, round_trip_s: float) -> dict[str, float]:
    """How far the rate falls after losses, and for how long segments come behind a hole."""
    places = before_losses(view)
    if not places.size:
        return {}
    time_s = view.time_s

    def rate(begin_s: Floats, end_s: Floats) -> Floats:
        came = np.interp(end_s, time_s, arrived) - np.interp(begin_s, time_s, arrived)
        return np.asarray(came / np.maximum(end_s - begin_s, 1e-6))

    at_s = time_s[places]
    before = rate(at_s - 2 * round_trip_s, at_s)
    after = rate(at_s + round_trip_s, at_s + 3 * round_trip_s)
    known = (before > 0) & (at_s + 3 * round_trip_s <= time_s[-1])
    found: dict[str, float] = {}
    if known.any():
        falls = np.log((after[known] + 0.1 / round_trip_s) / before[known])
        found["falls"] = float(np.median(falls))
        found["falls_most"] = float(np.quantile(falls, 0.1))
    late = view.grown("out_of_order" if view.knows("out_of_order") else "retransmits") > 0
    pairs = stretches(late)
    if pairs:
        lasted_s = [float(view.dt_s[begin:end].sum()) for begin, end in pairs]
        found["hole_lasts"] = float(np.log(max(float(np.median(lasted_s)) / round_trip_s, 0.1)))
        found["hole_lasts_most"] = float(np.log(max(max(lasted_s) / round_trip_s, 0.1)))
    return found


def _cycle(view: View, flight: float, base_s: float) -> dict[str, float]:
    """The time between losses over what cwnd needs to grow back to its flight (RFC 9438, 4.2 and 4.3)."""
    at_s = view.time_s[before_losses(view)]
    if at_s.size < 3:
        return {}
    window = max(flight, 2.0)
    by_cubic_s = ((1 - _KEEPS) * window / _CUBIC) ** (1 / 3)
    by_reno_s = (1 - _KEEPS) * window / (3 * (1 - _KEEPS) / (1 + _KEEPS)) * base_s
    apart_s = np.diff(at_s)
    return {
        "cycle_of_growth": float(np.log(max(float(np.median(apart_s)), 1e-3) / min(by_cubic_s, by_reno_s))),
        "cycles_differ": float(np.log(float(np.std(np.log(np.maximum(apart_s, 1e-3)))) + 0.05)),
    }


def _waits(view: View, base_s: float) -> dict[str, float]:
    """How far round trips rise above the smallest, in the middle and at most, and how much they differ."""
    waits = view.queue_s[np.isfinite(view.queue_s)] / base_s
    if waits.size < _LEAST_SAMPLES:
        return {}
    low, half, high = np.quantile(waits, (0.1, 0.5, 0.95))
    return {
        "wait_usual": float(np.log(max(half, 0.0) + 0.02)),
        "wait_most": float(np.log(max(high, 0.0) + 0.02)),
        "wait_varies": float(np.log(max(high - low, 0.0) + 0.02)),
    }


def _filled(view: View) -> float:
    """How full segments are: an application's may be smaller, and what comes twice fills none."""
    delivered, segments = view["delivered_bytes"] / view.mss, view["segments_sent"]
    known = np.isfinite(delivered) & np.isfinite(segments)
    if not known.any() or not segments[known][-1] > segments[known][0]:
        return float("nan")
    share = (delivered[known][-1] - delivered[known][0]) / (segments[known][-1] - segments[known][0])
    return float(np.log(1.01 - min(max(float(share), 0.0), 1.0)))


def _log(value: float, over: float) -> float:
    return float(np.log(value / over)) if value > 0 and over > 0 else float("nan")


def _low(value: float, usual: float) -> float:
    return float(np.log(value / usual + 0.01)) if np.isfinite(value) else float("nan")
