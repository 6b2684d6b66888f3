"""Slow start by the rate alone: for a receiver and for a capture, which do not see cwnd."""

import numpy as np

from bentpipe.doctor.arrays import Flags
from bentpipe.doctor.view import View

_REACHED = 0.7
_GROWS = 1.2
_GROWS_WITHIN = 3
_LEAST_S = 0.5
_LAST_ROUND_TRIPS = 2


def rising(view: View) -> Flags:
    """Until 70 % of the largest rate is reached, or three round trips bring less than a fifth more. Where it
    is reached two round trips before the end or later, until the end: the last one carries what was left."""
    rate = np.nan_to_num(view.total_bit_s)
    nothing = np.zeros(view.size, bool)
    if not rate.size or rate.max() <= 0:
        return nothing
    reached = int(np.argmax(rate >= _REACHED * rate.max()))
    back_s = max(_GROWS_WITHIN * (view.base_rtt_s or 0.0), _LEAST_S)
    begin_s = view.time_s[int(np.argmax(rate > 0))]
    order = np.argsort(view.time_s, kind="stable")
    before = np.interp(view.time_s - back_s, view.time_s[order], rate[order])
    stalls = (rate < _GROWS * before) & (view.time_s - begin_s > back_s)
    reached_s = view.time_s[reached]
    if view.evidence.end_s - reached_s <= _LAST_ROUND_TRIPS * (view.base_rtt_s or 0.0):
        reached_s = np.inf
    ends_s = view.time_s[int(np.argmax(stalls))] if stalls.any() else np.inf
    lost = (np.nan_to_num(view["out_of_order"]) > 0) | (np.nan_to_num(view["retransmits"]) > 0)
    rises: Flags = (view.time_s < min(reached_s, ends_s)) & ~lost
    return rises
