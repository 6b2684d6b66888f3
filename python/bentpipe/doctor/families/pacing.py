"""Pacing: the sender sends at a rate of its own, below what cwnd and the window allow.

paced.py says which samples are paced. CUBIC and Reno are paced at 1.2 cwnd / RTT or twice
that, above what they reach.

BBR's pacing rate is what it measured. BBR sends a quarter faster every eighth round trip and would have
found more: its samples are `capacity`, and the rate is the path's (path_rate.py). Where its pacing rate, once
reached, is never higher and mostly the same, a program bounds it.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.paced import NEAR, paced
from bentpipe.doctor.view import View
from bentpipe.words.wording import rate

_SAME = 0.015
"""BBR paces 1 % below what it has found. So where a program bounds it, its rate is the bound or 1 % less."""
_MOSTLY = 0.8
_LEAST_ROUND_TRIPS = 16
_LEAST_SAMPLES = 10


def pacing(view: View) -> list[Claim]:
    if view.evidence.is_bbr and not _is_bounded(view):
        return []
    holds = paced(view)
    if not holds.any():
        return []
    usual = middle(view["pacing_rate_bit_s"], holds)
    steady = np.abs(view["pacing_rate_bit_s"] / usual - 1) <= NEAR
    return [
        Claim(
            "pacing",
            holds,
            share_of(steady, holds, view.dt_s),
            f"the sender paces itself at {rate(usual)}, below what cwnd and the window allow",
            {
                "pacing_rate_mbit_s": known(usual / 1e6, 3),
                "cwnd_bytes": known(middle(view["cwnd_bytes"], holds)),
                "in_flight_bytes": known(middle(view["in_flight_bytes"], holds)),
            },
            "rate within 10 % of the pacing rate while in flight < 0.9 cwnd",
            "a full cwnd, or a rate below the pacing rate",
        )
    ]


def _is_bounded(view: View) -> bool:
    """Whether BBR's pacing rate is mostly the same and never higher, as its gains never leave it: a program
    bounds it, in each connection. BBR has to come to that rate first. From then on sixteen round trips, two
    of its cycles, tell."""
    own = [view.connection == number for number in view.connections]
    return bool(own) and all(_is_bounded_in(view, each & (view.flight > 0)) for each in own)


def _is_bounded_in(view: View, sends: Flags) -> bool:
    paced_bit_s, time_s = view["pacing_rate_bit_s"][sends], view.time_s[sends]
    with np.errstate(invalid="ignore"):
        off = paced_bit_s / middle(paced_bit_s) - 1
        same, higher = np.abs(off) <= _SAME, off > _SAME
    if not same.any() or not view.base_rtt_s:
        return False
    first = int(np.argmax(same))
    long_enough = time_s[-1] - time_s[first] >= _LEAST_ROUND_TRIPS * view.base_rtt_s
    enough = same[first:].size >= _LEAST_SAMPLES and long_enough
    return bool(enough and not higher[first:].any() and same[first:].mean() >= _MOSTLY)
