"""A transfer over several connections at once: each as if it were alone, and what they do together.

A queue, a policer or a line that they share drops packets of several within a round trip, and the sum of
what they carry at such moments is always the same. Random loss strikes each by itself.
"""

from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Floats, summed
from bentpipe.doctor.view import View, before_losses

TOGETHER = ("together", "whole_flight_spread", "whole_rate_spread", "connections")
_MAD = 1.4826
_LEAST_S = 0.02


def alone(view: View) -> list[View]:
    """Each connection by its own rate."""
    found = []
    for number in view.connections:
        own = view.of(view.connection == number)
        found.append(replace(own, total_bit_s=own.rate_bit_s))
    return found


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
