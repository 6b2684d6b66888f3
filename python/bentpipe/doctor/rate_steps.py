"""The rates of a full path that changes its rate, and when each began.

Stretches in which payload came or was acknowledged at one rate (saturation.py) have that rate. Between two of
them the path may not have been full, so what came says only the least that it carried: it counts where it is
more than both. A step is known to about a window of the rates, 0.2 s or a round trip."""

from dataclasses import dataclass

import numpy as np

from bentpipe.doctor.arrays import Places, middle
from bentpipe.doctor.claim import share_of
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.view import ANOTHER_RATE, View

_MOSTLY = 0.5
_TOP = 0.9
_LEAST_WINDOWS = 4
_MOST_STEPS = 50


@dataclass(frozen=True)
class Step:
    at_s: float
    """After its first payload."""
    rate_bit_s: float
    """Of IP bytes."""


def rate_steps(of: Diagnosis) -> list[Step]:
    """The steps of the path's rate, the first at 0. Empty if the path was not full, if its rate was the same
    all the time, or if it was no steady one for half of the time."""
    view = of.view
    carried = view.total_bit_s > 0
    if of.findings[0].kind != "capacity" or share_of(view.even, carried, view.dt_s) < _MOSTLY:
        return []
    first_s = float(view.time_s[carried].min())
    own = np.flatnonzero(view.connection == view.connections[0])
    stretches = sorted(
        (each for each in view.even_stretches if each[0] in own), key=lambda each: int(each[0])
    )
    rates = [middle(view.total_bit_s[each]) for each in stretches]
    steps: list[Step] = []

    def add(begin: int, rate_bit_s: float) -> None:
        if not steps or not _same(steps[-1].rate_bit_s, rate_bit_s * view.wire_scale):
            at_s = float(view.time_s[begin]) - view.window_s - first_s
            steps.append(Step(max(at_s, 0.0) if steps else 0.0, rate_bit_s * view.wire_scale))

    begin = int(own[0])
    for number, places in enumerate(stretches):
        around = max(rates[max(number - 1, 0)], rates[number])
        between_bit_s = _between(view, np.arange(begin, int(places[0])))
        if between_bit_s >= ANOTHER_RATE * around:
            add(begin, between_bit_s)
        add(int(places[0]), rates[number])
        begin = int(places[-1]) + 1
    return steps if 1 < len(steps) <= _MOST_STEPS else []


def _between(view: View, places: Places) -> float:
    """What the path carried at least, by samples between two stretches; 0 for fewer than some windows."""
    if not places.size or view.time_s[places[-1]] - view.time_s[places[0]] < _LEAST_WINDOWS * view.window_s:
        return 0.0
    return float(np.quantile(view.total_bit_s[places], _TOP))


def _same(one: float, other: float) -> bool:
    return max(one, other) < ANOTHER_RATE * min(one, other)
