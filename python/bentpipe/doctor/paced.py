"""Where a sender's pacing rate is what it sends, and neither window is full."""

import numpy as np

from bentpipe.doctor.arrays import Flags
from bentpipe.doctor.view import LEAST_WINDOW_S, View

_FULL = 0.9
NEAR = 0.1
_COUNTED_SEGMENTS = 2
"""A rate over a window is a count of segments, which is exact to two."""


def paced(view: View) -> Flags:
    """Where there is more to send, less than 90 % of either window is in flight, nothing is repaired, and the
    rate is within 10 % of the pacing rate. False where the sender's socket is not seen."""
    if not view.at_sender or not view.knows("pacing_rate_bit_s", "cwnd_bytes", "notsent_bytes"):
        return np.zeros(view.size, bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        free = (view["in_flight_bytes"] < _FULL * view["cwnd_bytes"]) & (
            view.flight < _FULL * view["rwnd_bytes"]
        )
        paced_bit_s = view["pacing_rate_bit_s"]
        counted = _COUNTED_SEGMENTS * view.mss * 8 / max(view.base_rtt_s or 0.0, LEAST_WINDOW_S)
        near = np.abs(view.rate_bit_s - paced_bit_s) <= np.maximum(NEAR * paced_bit_s, counted)
        found: Flags = free & near & (view["notsent_bytes"] >= view.mss) & ~view.recovering
    return found
