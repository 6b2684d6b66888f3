"""The rates of a full path that changes its rate, and when each began.

Stretches in which payload came or was acknowledged at one rate (saturation.py) have that rate. Beside them
the path has the median rate if a queue stood mostly. Otherwise it may not have been full, so what came says
only the least that it carried: it counts where it is more than in the stretches around. A rate is that of the
window before a sample, so a step is a window earlier; it is known to about as much, 0.2 s or a round trip.
"""

from dataclasses import dataclass

import numpy as np

from bentpipe.doctor.arrays import Places, middle
from bentpipe.doctor.claim import share_of
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import without_holes
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
    all the time or steady for less than half of it, or if there are more than fifty steps."""
    view = of.view
    carried = view.total_bit_s > 0
    if of.findings[0].kind != "capacity" or share_of(view.even, carried, view.dt_s) < _MOSTLY:
        return []
    first_s = float(view.time_s[carried].min())
    numbers, counts = np.unique(view.connection, return_counts=True)
    own = np.flatnonzero(view.connection == numbers[counts.argmax()])
    stretches = sorted(
        (each for each in view.even_stretches if each[0] in own), key=lambda each: int(each[0])
    )
    rates = [middle(view.total_bit_s[each]) for each in stretches]
    steps: list[Step] = []

    def add(begin: int, rate_bit_s: float) -> None:
        if not steps or not _same(steps[-1].rate_bit_s, rate_bit_s * view.wire_scale):
            at_s = float(view.time_s[begin]) - view.window_s - first_s
            steps.append(Step(max(at_s, 0.0) if steps else 0.0, rate_bit_s * view.wire_scale))

    def add_beside(begin: int, end: int, *around: float) -> None:
        rate_bit_s = _beside(view, np.arange(begin, end), max(around))
        if rate_bit_s is not None:
            add(begin, rate_bit_s)

    begin, before = int(own[0]), 0.0
    for places, rate in zip(stretches, rates, strict=True):
        add_beside(begin, int(places[0]), before, rate)
        add(int(places[0]), rate)
        begin, before = int(places[-1]) + 1, rate
    if stretches:
        add_beside(begin, int(own[-1]) + 1, before)
    return steps if 1 < len(steps) <= _MOST_STEPS else []


def _beside(view: View, places: Places, around_bit_s: float) -> float | None:
    """The path's rate in samples beside stretches of one rate; None for fewer than some windows, or if it is
    not known. `around_bit_s`: the highest rate around."""
    places = places[without_holes(view)[places]]
    if not places.size or view.time_s[places[-1]] - view.time_s[places[0]] < _LEAST_WINDOWS * view.window_s:
        return None
    if view.standing[places].mean() >= _MOSTLY:
        return middle(view.total_bit_s[places])
    most_bit_s = float(np.quantile(view.total_bit_s[places], _TOP))
    return most_bit_s if most_bit_s >= ANOTHER_RATE * around_bit_s else None


def _same(one: float, other: float) -> bool:
    return max(one, other) < ANOTHER_RATE * min(one, other)
