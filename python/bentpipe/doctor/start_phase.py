"""Slow start by the rate alone: for a receiver and for a capture, which do not see cwnd."""

import numpy as np

from bentpipe.doctor.arrays import Flags
from bentpipe.doctor.view import View

_REACHED = 0.7
_GROWS = 1.2
_GROWS_WITHIN = 3
_LEAST_S = 0.5
_LAST_ROUND_TRIPS = 2
_SEVERAL = 2
_MOSTLY = 0.5
_INITIAL_SEGMENTS = 10
_BEFORE = 2
"""Round trips of the handshake and of a request."""


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
    rises: Flags = ((view.time_s < min(reached_s, ends_s)) | _of_short_ones(view)) & ~lost
    return rises


def slow_start_s(payload_bytes: float, view: View) -> float:
    """How long slow start takes to carry so much over a new connection, if nothing else limits."""
    doublings = float(np.log2(payload_bytes / (_INITIAL_SEGMENTS * view.mss) + 1))
    return (view.base_rtt_s or 0.0) * (doublings + _BEFORE)


def _of_short_ones(view: View) -> Flags:
    """The samples of connections that end within slow start, if several of these carry most of the payload,
    as files that are fetched one by one."""
    found = np.zeros(view.size, bool)
    counted = np.nan_to_num(view["delivered_bytes"])
    short, whole = [], 0.0
    for number in view.connections:
        own = view.connection == number
        count, time_s = float(counted[own].max()), view.time_s[own]
        whole += count
        allowed_s = slow_start_s(count, view) + 2 * float(np.median(view.dt_s[own]))
        if count > 0 and time_s[-1] - time_s[0] <= allowed_s:
            short.append((own, count))
    if len(short) >= _SEVERAL and sum(count for _, count in short) >= _MOSTLY * whole:
        for own, _ in short:
            found |= own
    return found
