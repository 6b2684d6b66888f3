"""Without SACK (RFC 2018) a sender learns of one lost segment in each round trip (NewReno, RFC 6582), so
what an overflow of a queue lost takes as many round trips to repair.

At a sender the samples in recovery count from two round trips after it began on: with SACK it would be over
by then. At a receiver those count in which three segments or fewer become whole in a round trip, or no
more than a quarter of what usually does, while what came after a hole waits in the buffer.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration

_ROUND_TRIPS = 2
_SEGMENTS = 3
_LITTLE = 0.25
_LEAST_HELD = 10


def no_sack(view: View) -> list[Claim]:
    if not view.evidence.lacks_sack:
        return []
    holds = _long_repairs(view) if view.at_sender else waits_for_holes(view)
    if not holds.any():
        return []
    lasted_s = float(view.dt_s[holds].sum()) / max(view.connections.size, 1)
    return [
        Claim(
            "tcp-options",
            holds,
            1.0,
            f"losses took {duration(lasted_s)} to repair, one segment in each round trip, since an end did "
            "not offer SACK or a device removed it",
            {
                "option": "sack",
                "repairs_s": known(lasted_s),
                "base_rtt_s": known(view.base_rtt_s or float("nan")),
                "retransmitted_segments": known(float(np.nanmax(view["retransmits"], initial=0.0))),
            },
            "NewReno repairs one loss in a round trip (RFC 6582); with SACK all in one (RFC 6675)",
            "SACK in both SYNs, or repairs that last one round trip",
        )
    ]


def waits_for_holes(view: View) -> Flags:
    """Where a receiver waits for one hole after another to be filled; nowhere with SACK."""
    if not view.evidence.lacks_sack or view.at_sender or not view.base_rtt_s:
        return np.zeros(view.size, bool)
    with np.errstate(invalid="ignore"):
        held = view["unread_bytes"] >= _LEAST_HELD * view.mss
    rtt_s = np.maximum(view.base_rtt_s, view.dt_s)
    come = np.zeros(view.size)
    for number in view.connections:
        own = view.connection == number
        time_s, count = view.time_s[own], np.nan_to_num(view["delivered_bytes"][own])
        come[own] = count - np.interp(time_s - rtt_s[own], time_s, count)
    goes = view.rate_bit_s > 0
    # Repairs may last for most of the transfer.
    usual_bit_s = np.fmax(middle(view.rate_bit_s, goes), middle(view.rate_bit_s, goes & view.unharmed))
    allowed = np.maximum(_SEGMENTS * view.mss / view.base_rtt_s, _LITTLE * usual_bit_s / 8) * rtt_s
    waits: Flags = held & ~view.unharmed & (come <= allowed)
    return waits


def _long_repairs(view: View) -> Flags:
    found = np.zeros(view.size, bool)
    for begin, end in stretches(view.recovering & ~view.after_timeout):
        rtt_s = float(np.nan_to_num(view.rtt_s[begin])) or view.base_rtt_s or 0.0
        run = np.arange(begin, end)
        found[run] = view.time_s[run] >= view.time_s[begin] + _ROUND_TRIPS * rtt_s
    return found
