"""Whether a transfer had what its path carries."""

import numpy as np

from bentpipe.doctor.arrays import Floats, middle
from bentpipe.doctor.view import View

HEALTHY = 0.9
"""Share of the path's rate from which on a transfer has what the path carries."""


def carries_what_it_can(seen: View, rate_bit_s: float | None) -> bool:
    """Whether nine tenths of that rate. Where the transfer counts from the beginning of its connection, a
    round trip passes before the first payload is acknowledged, which does not count."""
    goodput, lasts_s = seen.evidence.goodput_bit_s, seen.evidence.duration_s
    if not goodput or not rate_bit_s:
        return False
    before_s = 0.0 if seen.evidence.counts_from_payload else float(np.nan_to_num(middle(seen.rtt_s)))
    carried_s = lasts_s - before_s
    return bool(carried_s > 0 and goodput * lasts_s / carried_s >= HEALTHY * rate_bit_s)


def all_carry(seen: View, rate_bit_s: float | None, weights: Floats) -> bool:
    """The same of a transfer and its neighbours together."""
    whole_s = float(weights.sum())
    if not rate_bit_s or not whole_s > 0:
        return False
    return float((weights * seen.total_bit_s).sum()) >= HEALTHY * rate_bit_s * whole_s
