"""Slow start: the transfer was too short for the path, or it left slow start too early.

At a sender a sample is in slow start if cwnd is below ssthresh, TCP repairs nothing, and the sender has
more to send or 90 % of cwnd in flight. With a finite ssthresh, no loss so far and a window that is
full, slow start was left early (HyStart), and cwnd grows by congestion avoidance.

At a receiver, and in a capture, it is the time before the rate first reached 70 % of its largest, as
long as it grows by a fifth in three round trips or more.

The second test is the formula: slow start takes R log2(BDP / initial window), within a factor of two.
"""

import math

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, Finding, known
from bentpipe.doctor.families.marks import cuts
from bentpipe.doctor.opposite import waits_for_others
from bentpipe.doctor.start_phase import rising, slow_start_s
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, size

_FULL = 0.9
_INITIAL_SEGMENTS = 10
_WITHIN = 2
_FEW_SAMPLES = 0.7
"""Certainty at most where samples do not show it."""


def slow_start(view: View) -> list[Claim]:
    holds, early = _at_sender(view) if view.knows_cwnd else (rising(view), None)
    if early is not None and early.any():
        holds = holds | early
    if not holds.any():
        return []
    took_s = float(view.dt_s[holds].sum()) / max(len(np.unique(view.connection)), 1)
    expected_s = _expected_s(view)
    flight = view.flight[holds & np.isfinite(view.flight)]
    largest = float(flight.max()) if flight.size else math.nan
    left_early = early is not None and bool(early.any())
    how = (
        "slow start ended before a loss and before the path was full, and cwnd has grown slowly since"
        if left_early
        else "slow start: cwnd was still growing towards what the path carries"
    )
    if left_early and view.reorders:
        return [_fooled(view, holds, largest)]
    agrees = 0.5
    if expected_s:
        agrees = min(1.0, max(expected_s, view.base_rtt_s or 0) * 2 / took_s) if took_s > 0 else 0.5
    return [
        Claim(
            "slow-start",
            holds,
            1.0 if left_early else agrees,
            f"{how}; {size(largest)} in flight at most" if np.isfinite(largest) else how,
            {
                "slow_start_s": known(took_s),
                "rtt_s": known(middle(view.rtt_s, holds)),
                "cwnd_bytes": known(middle(view["cwnd_bytes"], holds)),
                "formula_s": None if expected_s is None else known(expected_s),
            },
            "time = R log2(BDP / initial window)",
            "cwnd above ssthresh, or a full pipe",
        )
    ]


def too_short(view: View) -> Finding | None:
    """Slow start of a transfer that is over before there are samples enough to tell anything else: nothing
    was sent again, and it lasted no longer than slow start takes for its payload, within a factor of two."""
    of = view.evidence
    expected_s = slow_start_s(of.bytes, view)
    if of.ended != "finished" or view.most("retransmits") or not 0 < of.duration_s <= _WITHIN * expected_s:
        return None
    certainty = _FEW_SAMPLES * min(expected_s / of.duration_s, 1.0)
    return Finding(
        "slow-start",
        1.0,
        round(certainty, 3),
        f"slow start: it lasted {duration(of.duration_s)}, and slow start takes {duration(expected_s)} for "
        f"{size(of.bytes)} at an RTT of {duration(view.base_rtt_s or 0.0)}",
        {"rtt_s": known(view.base_rtt_s or math.nan), "formula_s": known(expected_s)},
        "time = R (2 + log2(1 + size / initial window))",
        "a transfer that lasts more than twice as long",
    )


def _fooled(view: View, holds: Flags, largest: float) -> Claim:
    degree = float(np.nanmax(view["reordering_segments"]))
    return Claim(
        "reordering",
        holds,
        1.0,
        f"segments arrive up to {int(degree)} segments late, which slow start took for a queue: it ended at "
        f"{size(largest)} in flight at most, without a loss",
        {
            "reordering_segments": degree,
            "in_flight_bytes": known(largest),
            "rtt_s": known(middle(view.rtt_s, holds)),
        },
        "HyStart ends slow start where round trips grow by an eighth (RFC 9406)",
        "segments that keep their order, or a queue that stands",
    )


def _expected_s(view: View) -> float | None:
    reached = view.capacity_bit_s or float(np.nanmax(view.total_bit_s, initial=0.0))
    if not view.base_rtt_s or reached <= 0:
        return None
    bdp = reached * view.base_rtt_s / 8
    return view.base_rtt_s * max(math.log2(max(bdp / (_INITIAL_SEGMENTS * view.mss), 1.0)), 1.0)


def _at_sender(view: View) -> tuple[Flags, Flags]:
    cwnd, ssthresh = view["cwnd_bytes"], view["ssthresh_bytes"]
    with np.errstate(invalid="ignore"):
        full = view["in_flight_bytes"] >= _FULL * cwnd
        more = view["notsent_bytes"] >= view.mss
        sends = (full | more) & ~view.recovering
        rises = (cwnd < ssthresh) & sends
        no_loss = (np.nan_to_num(view["retransmits"]) == 0) & ~np.logical_or.accumulate(cuts(view))
        early = (cwnd >= ssthresh) & np.isfinite(ssthresh) & no_loss & full & ~waits_for_others(view)
    return rises, early
