"""How much a short queue or a delay line holds, so that a lab carries what was seen.

Samples of a socket show what was in flight when something dropped, which is more than what was in that
queue or line by then. Where the path's rate is known, this is the only unknown of the lab. So it is
scaled until the simulated goodput is the seen one, which grows with it. A queue whose waits showed the
path's rate was measured itself, and stays.
"""

import math
from collections.abc import Callable
from typing import Any

from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import PathSeen
from bentpipe.doctor.simulating import goodputs, shortened
from bentpipe.doctor.view import OF_THE_PATH
from bentpipe.errors import BentpipeError

_HOLDS = {"short-queue": "queue", "line-drops": "delay_limit"}
_SEEDS = (1, 2)
_MOST_TIMES = 8.0
_STEPS = 6
_NEAR = 0.03


def matched(document: dict[str, Any], of: Diagnosis, path: PathSeen) -> dict[str, Any]:
    """The lab with that scaled; the same lab where nothing is to be scaled, or no scale is better."""
    seen = of.evidence.goodput_bit_s
    way = of.evidence.direction or "down"
    key = _HOLDS.get(of.findings[0].kind)
    pipe = document["path"].get(way, {})
    if not path.rate_bounds or path.rate_bit_s is None or not seen or key not in pipe:
        return document
    if key == "queue" and path.rate_from in OF_THE_PATH:
        return document
    number, unit = pipe[key].split()
    short = shortened(document, path.rate_bit_s, path.rtt_s or 0.0)

    def scaled(lab: dict[str, Any], times: float) -> dict[str, Any]:
        held = f"{max(round(float(number) * times), 1)} {unit}"
        return {**lab, "path": {**lab["path"], way: {**pipe, key: held}}}

    def off(times: float) -> float:
        simulated = goodputs(scaled(short, times), {}, _SEEDS)
        return math.log(max(sum(simulated) / len(simulated), 1.0) / seen)

    try:
        return scaled(document, _root(off))
    except BentpipeError:
        return document


def _root(off: Callable[[float], float]) -> float:
    """The scale at which `off` is nearest to zero, by halving the logarithm's interval."""
    tried: dict[float, float] = {1.0: off(1.0)}
    if abs(tried[1.0]) <= _NEAR:
        return 1.0
    low, high = (1 / _MOST_TIMES, 1.0) if tried[1.0] > 0 else (1.0, _MOST_TIMES)
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        tried[middle] = off(middle)
        if abs(tried[middle]) <= _NEAR:
            break
        low, high = (low, middle) if tried[middle] > 0 else (middle, high)
    return min(tried, key=lambda times: abs(tried[times]))
