"""The path carries what it can, and how long its queue stands meanwhile.

A sample is at capacity if a queue stands (saturation.py), or if the rate is 95 % of the path's or more. A
rate at which something dropped is not the path's if payload arrived sooner than it allows.

`bufferbloat` stands beside it: in the median of these samples packets wait 30 ms and a quarter of the
base RTT or more.

The second test: the rate is within 10 % of the path's. Where BBR's probes found that rate, this is the
same test again, and a slow way back would look alike: then the certainty is 0.8 at most. So it is where
nothing was lost, no time stamps tell the ways apart, and the ACKs' rate was as constant as the payload's, or
was not seen for long enough: a queue of ACKs that has not overflowed yet may look the same from sockets.
"""

import numpy as np

from bentpipe.doctor.arrays import middle
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.drop_causes import SENDER_SIDE, drop_causes
from bentpipe.doctor.path_rate import at_its_rate
from bentpipe.doctor.view import ANOTHER_RATE, View
from bentpipe.words.wording import duration, percent, rate

_AT_CAPACITY = 0.95
_BLOATED_S = 0.03
_BLOATED_SHARE = 0.25
_SEVERE_S = 0.2
_EITHER_WAY = 0.8
_AS_STEADY = 2.0
_A_PROBE = 1
"""Segment sent again though nothing was lost, as while ACKs wait; a queue that overflows drops several."""
_SURE = 0.8
_BY_LOSSES = ("losses", "overshoot")
_BELOW_THE_RATE = ("random-loss", "short-queue", "reordering", "timeouts")


def capacity(view: View) -> list[Claim]:
    if view.capacity_bit_s is None:
        return []
    at_rate = view.total_bit_s >= _AT_CAPACITY * view.capacity_bit_s
    if view.capacity_from == "probing":
        at_rate |= at_its_rate(view)
    with np.errstate(invalid="ignore"):
        # Whoever has nothing more to send does not fill a path, whatever its rate.
        at_rate &= ~(view["notsent_bytes"] < view.mss)
    if view.capacity_from in _BY_LOSSES and view.sooner_s(view.capacity_bit_s) > 0:
        return []
    holds = view.standing | at_rate
    if not holds.any() or (not view.standing.any() and _drops_below(view)):
        return []
    wait_s = middle(view.queue_s, holds)
    agrees = np.abs(view.total_bit_s / view.capacity_bit_s - 1) <= 0.1
    agrees |= view.even
    certainty = share_of(agrees, holds, view.dt_s)
    way = ", on the way there or back" if _may_be_the_return(view) else ""
    if way:
        certainty = min(certainty, _EITHER_WAY)
    low, high = view.even_rates_bit_s
    if high >= ANOTHER_RATE * low:
        carried = f"its rate changed, and it carried {rate(low)} to {rate(high)} of payload"
    else:
        carried = f"it carried {rate(view.capacity_bit_s)} of payload"
    full = f"the path was full{way}: {carried} whatever was in flight"
    if view.capacity_from == "probing":
        certainty = min(certainty, _EITHER_WAY)
        full = (
            f"the path was full, on the way there or back: BBR asked for a quarter more again and again, and "
            f"never got more than {rate(view.capacity_bit_s)} of payload"
        )
    claims = [
        Claim(
            "capacity",
            holds,
            certainty,
            f"{full}, and packets waited {duration(max(wait_s, 0.0))} in its queue",
            {
                "rate_mbit_s": known(view.capacity_bit_s / 1e6, 3),
                "rtt_s": known(middle(view.rtt_s, holds)),
                "base_rtt_s": known(view.base_rtt_s or float("nan")),
                "queue_s": known(wait_s),
            },
            "a full pipe: RTT grows with what is in flight, and the rate does not",
            "an RTT that stays at its smallest, or a rate that grows with the window",
        )
    ]
    base_s = view.base_rtt_s or 0.0
    if wait_s >= max(_BLOATED_S, _BLOATED_SHARE * base_s):
        claims.append(
            Claim(
                "bufferbloat",
                holds,
                share_of(view.queue_s >= _BLOATED_S, holds, view.dt_s),
                f"the standing queue adds {duration(wait_s)} to an RTT of {duration(base_s)}"
                + (", which others on the path feel too" if wait_s >= _SEVERE_S else ""),
                {
                    "queue_s": known(wait_s),
                    "base_rtt_s": known(base_s),
                    "queue_bytes": known(wait_s * view.capacity_bit_s / 8),
                    "of_base_rtt": percent(wait_s / base_s) if base_s else None,
                },
                "wait = RTT - base RTT; bloated from max(30 ms, R / 4) on",
                "an RTT near its smallest while the path is full",
                beside=True,
            )
        )
    return claims


def limited_by_the_sender(view: View) -> bool:
    """Whether losses alone show the path's rate, and by all signs the sender's side limits, as seen in a
    capture or at a receiver's socket: then they show none. A sender's socket tells more directly what limits
    it."""
    if view.capacity_from not in _BY_LOSSES or (view.at_sender and not view.evidence.of_packets):
        return False
    by_chance = drop_causes(view)
    return sum(by_chance.get(cause, 0.0) for cause in SENDER_SIDE) >= _SURE


def _drops_below(view: View) -> bool:
    """Whether losses alone show the path's rate, and by all signs the path is not full then. In a capture
    they also come long before it is. Sockets may miss a queue between two samples."""
    if limited_by_the_sender(view):
        return True
    if view.capacity_from not in _BY_LOSSES or not view.evidence.of_packets:
        return False
    by_chance = drop_causes(view)
    return any(by_chance.get(cause, 0.0) >= _SURE for cause in _BELOW_THE_RATE)


def _may_be_the_return(view: View) -> bool:
    """Whether the queue may be one of ACKs, as far as this end knows."""
    spreads = view.spreads
    if view.return_share is not None:
        return False
    counter = "retransmits" if view.at_sender else "out_of_order"
    if np.nanmax(view[counter], initial=0.0) > _A_PROBE:
        return False
    if spreads is None or spreads.acks is None:
        return True
    return spreads.acks <= _AS_STEADY * max(spreads.payload, spreads.exact)
