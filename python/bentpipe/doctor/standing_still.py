"""Connections that stand still: more than a segment is outstanding, and TCP repeats it in vain.

A connection that carried little tells nothing, unless this is why. A black hole for large packets
(families/mtu.py) and an outage at the beginning both let it deliver less than a segment.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, stretches

LEAST_TIMEOUTS = 2


def stands_still(
    acknowledged: Floats, outstanding_bytes: Floats, timeouts: Floats, mss: float, before: float = 0.0
) -> Flags:
    """The samples of one connection, by time, in which more than `mss` bytes were outstanding and nothing
    was acknowledged during two retransmission timeouts or more. `acknowledged` and `timeouts` are counters;
    `before`: timeouts before what was outstanding at the first sample. Unknown figures are NaN."""
    found = np.zeros(acknowledged.size, bool)
    if not acknowledged.size:
        return found
    counted = np.nan_to_num(timeouts)
    if counted.max() - before < LEAST_TIMEOUTS:
        return found
    with np.errstate(invalid="ignore"):
        waits = outstanding_bytes > mss
    # A sample belongs to the time since the one before, so one that shows progress begins a new stretch.
    part = np.cumsum(np.diff(np.nan_to_num(acknowledged), prepend=acknowledged[:1]) > 0)
    for number in np.unique(part):
        for begin, end in stretches(waits & (part == number)):
            known = counted[begin - 1] if begin else before
            found[begin:end] = counted[end - 1] - known >= LEAST_TIMEOUTS
    return found
