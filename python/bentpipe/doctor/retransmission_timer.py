"""Linux's retransmission timer, as far as a silence tells of it: how often it ran out, and why."""

import math

import numpy as np

from bentpipe.doctor.view import View

_LEAST_VARIANCE_S = 0.2
"""Its smallest variance term (`TCP_RTO_MIN`)."""


def first_timer_s(rtt_s: float) -> float:
    """How long after a segment was sent the first timer runs out; its variance as large as the round trip."""
    return rtt_s + max(_LEAST_VARIANCE_S, rtt_s)


def ran_out(lasted_s: float, rtt_s: float) -> int:
    """How many timers, each twice as long as the one before (RFC 6298, 5.5), run out in so long a silence."""
    return math.floor(math.log2(max(lasted_s, 0.0) / first_timer_s(rtt_s) + 1))


def acks_outlast_the_timer(view: View) -> bool:
    """Whether ACKs waited on their way back for longer than the timer allows beyond the round trip: then it
    runs out though nothing was lost."""
    waits = view.queue_s[view.returning & np.isfinite(view.queue_s)]
    return bool(waits.size and waits.max() > _LEAST_VARIANCE_S)
