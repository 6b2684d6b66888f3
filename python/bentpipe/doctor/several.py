"""A transfer over several connections at once: their sum as one, each as if it were alone, and what they do
together.

What they share bounds their sum: a path's rate, a policer, a line. So the signs of arrivals are those of
the sum. Losses limit each by itself, so the signs of losses are those of the connections, in the median. A
queue, a policer or a line that they share drops packets of several within a round trip, and the sum of what
they carry at such moments is always the same. Random loss strikes each by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, stretches, summed
from bentpipe.doctor.view import View, before_losses

_COUNTERS = (
    *("sent_bytes", "delivered_bytes", "arrived_bytes", "retransmitted_bytes", "retransmits", "timeouts"),
    *("segments_sent", "acks", "out_of_order"),
)
_STATES = ("outstanding_bytes", "in_flight_bytes", "cwnd_bytes", "rwnd_bytes", "notsent_bytes")
_MAD = 1.4826
_LEAST_S = 0.02


def alone(view: View) -> list[View]:
    """Each connection by its own rate."""
    found = []
    for number in view.connections:
        own = view.of(view.connection == number)
        found.append(replace(own, total_bit_s=own.rate_bit_s))
    return found


def whole(view: View) -> View:
    """All of them as one connection, at the times of the one with most samples."""
    numbers, sizes = np.unique(view.connection, return_counts=True)
    if numbers.size == 1:
        return view
    columns = dict(view.columns)
    for names, counts in ((_COUNTERS, True), (_STATES, False)):
        for name in names:
            if view.knows(name):
                columns[name] = summed(view[name], view.time_s, view.connection, counts=counts)
    flight = summed(view.flight, view.time_s, view.connection)
    own = view.connection == numbers[np.argmax(sizes)]
    found = view.of(own, columns)
    return replace(found, rate_bit_s=found.total_bit_s, flight=flight[own])


def at_times_of(view: View, of_sum: View, holds: Flags) -> Flags:
    """The samples of all connections in the times in which something holds of their sum."""
    if view.connections.size == 1:
        return holds
    found = np.zeros(view.size, bool)
    for begin, end in stretches(holds):
        after_s = of_sum.time_s[begin] - of_sum.dt_s[begin]
        found |= (view.time_s > after_s) & (view.time_s <= of_sum.time_s[end - 1])
    return found


def middles(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each sign that some connections know."""
    names = {name for each in found for name in each}
    known = {name: [each[name] for each in found if np.isfinite(each.get(name, np.nan))] for name in names}
    return {name: float(np.median(values)) for name, values in known.items() if values}


def together(view: View) -> list[dict[str, float]]:
    """Of each connection, by name: the share of the others that lose with it, and how much the sums of all
    differ at its losses. NaN where not known."""
    flight = summed(view.flight, view.time_s, view.connection)
    places = before_losses(view)
    spacing_s = float(np.median(view.dt_s[view.dt_s > 0])) if (view.dt_s > 0).any() else 0.1
    near_s = max(2 * (view.base_rtt_s or 0.0), 2 * spacing_s, _LEAST_S)
    lost_at = {number: view.time_s[places[view.connection[places] == number]] for number in view.connections}
    found = []
    for number in view.connections:
        own = places[view.connection[places] == number]
        others = [times for other, times in lost_at.items() if other != number]
        shares = [np.mean([_any_near(times, at, near_s) for times in others]) for at in view.time_s[own]]
        found.append(
            {
                "together": float(np.mean(shares)) if shares else np.nan,
                "whole_flight_spread": _spread(flight[own]),
                "whole_rate_spread": _spread(view.total_bit_s[own]),
                "connections": float(np.log(view.connections.size)),
            }
        )
    return found


def _any_near(times: Floats, at_s: float, near_s: float) -> bool:
    return bool(times.size and np.abs(times - at_s).min() <= near_s)


def _spread(values: Floats) -> float:
    if values.size < 2 or not np.median(values) > 0:
        return float("nan")
    half = float(np.median(values))
    return float(np.log(_MAD * float(np.median(np.abs(values - half))) / half + 0.01))
