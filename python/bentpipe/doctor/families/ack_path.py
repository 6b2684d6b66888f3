"""The way back carries fewer acknowledgements than the payload asks for.

A sample belongs to it if a queue of ACKs stands (return_way.py). So does what follows a slow start that
ended without a loss: HyStart takes the ACKs' wait for a full path. And so does what TCP repairs after a
retransmission timeout, if the ACKs waited longer than its timer.

The second test: how much less the ACKs' rate varied than the payload's; at a receiver, which sees the
payload's only, one half: it would look the same if others' payload shares the queue, or if the path's own
rate varies. In a capture with time
stamps: the share of the wait that is on the way back.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.opposite import waits_for_others
from bentpipe.doctor.retransmission_timer import acks_outlast_the_timer
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent

_AT_RECEIVER = 0.5
_BEHIND = 0.9
_OFTEN = 0.25
_START_SHARE = 0.25
_STEADY = 0.25
_MOSTLY = 0.5


def ack_path(view: View) -> list[Claim]:
    if not view.returning.any():
        return _behind_others(view)
    holds = view.returning | _left_slow_start(view) | _settled_by_waits(view)
    if acks_outlast_the_timer(view):
        holds |= view.after_timeout
    own = view.connection == view.connection[0]
    took_s = float(view.time_s[own][-1] - view.time_s[own][0])
    acks = view["acks"][own]
    ack_rate = float(acks[-1] - acks[0]) / took_s if took_s > 0 else float("nan")
    wait_s = middle(view.queue_s, view.returning)
    certainty, seen = _by_another(view) or _by_stamps(view) or _by_rates(view)
    spreads = view.spreads
    return [
        Claim(
            "ack-path",
            holds,
            certainty,
            f"acknowledgements wait {duration(wait_s)} on their way back, not the payload: {seen}",
            {
                "queue_s": known(wait_s),
                "base_rtt_s": known(view.base_rtt_s or float("nan")),
                "return_share": None if view.return_share is None else known(view.return_share, 4),
                "payload_rate_spread": None if spreads is None else known(spreads.payload, 4),
                "ack_rate_spread": None
                if spreads is None or spreads.acks is None
                else known(spreads.acks, 4),
                "acks_per_s": known(ack_rate, 1) if view.sees_acks_return else None,
            },
            "a queue serves at a constant rate: the way with the constant rate is the one that is full"
            if view.return_share is None
            else "wait on a way = (when a packet passed) - (its time stamp) - the least such difference",
            "a payload rate that stays the same while packets wait"
            if view.return_share is None
            else "payload that waits as long as the round trip grows",
        )
    ]


def _behind_others(view: View) -> list[Claim]:
    """A queue that this transfer does not fill, where nothing tells on which way it is: one that others fill
    on the way there would drop its packets, too."""
    holds = waits_for_others(view)
    if share_of(holds, view.flight > 0, view.dt_s) < _OFTEN:
        return []
    wait_s = middle(view.queue_s, holds)
    return [
        Claim(
            "ack-path",
            holds,
            _AT_RECEIVER,
            f"packets wait {duration(wait_s)} in a queue that this transfer does not fill, and none is lost: "
            "others fill it, likely on the way back",
            {"queue_s": known(wait_s), "base_rtt_s": known(view.base_rtt_s or float("nan"))},
            "rate = cwnd / RTT, at an RTT that does not follow cwnd",
            "a rate that stays the same while cwnd grows, or losses",
        )
    ]


def _by_another(view: View) -> tuple[float, str] | None:
    """Certainty and words, by a transfer the other way."""
    if view.filled_return is None:
        return None
    return _BEHIND, f"{view.filled_return} fills that way, and waits as long there"


def _by_stamps(view: View) -> tuple[float, str] | None:
    """Certainty and words, by the time stamps of a capture."""
    if view.return_share is None:
        return None
    share = percent(view.return_share)
    return view.return_share, f"by the ends' time stamps {share} of the wait is on the way back"


def _by_rates(view: View) -> tuple[float, str]:
    """Certainty and words, by which way's rate is the constant one."""
    if view.early_s > 0:
        return (
            _AT_RECEIVER,
            f"payload came up to {duration(view.early_s)} sooner than a queue of its own would let it",
        )
    if view.spreads is None:
        return 0.0, "the rates of both ways are not known"
    payload, returned = view.spreads.payload, view.spreads.acks
    if returned is None:
        return (
            _AT_RECEIVER,
            f"the payload's rate varied by {percent(payload)}, which it would not do behind a queue, if the "
            "path's own rate is constant and nobody else uses it",
        )
    return (
        1 - min(returned / payload, 1.0),
        f"the payload's rate varied by {percent(payload)} and the ACKs' by {percent(returned)}",
    )


def _settled_by_waits(view: View) -> Flags:
    """At a receiver: what comes at a steady rate without a queue and a loss, after ACKs waited at the start
    for longer than the base round trip. BBR takes what came meanwhile for the path's rate."""
    found = np.zeros(view.size, bool)
    if view.at_sender or view.base_rtt_s is None or not view.unharmed.all():
        return found
    waited = np.flatnonzero(view.returning & (view.queue_s > view.base_rtt_s))
    if not waited.size or view.time_s[waited[0]] > view.time_s[0] + _START_SHARE * np.ptp(view.time_s):
        return found
    later = (np.arange(view.size) > waited[0]) & (view.total_bit_s > 0)
    usual = middle(view.total_bit_s, later)
    steady: Flags = later & (np.abs(view.total_bit_s / usual - 1) <= _STEADY)
    return steady if steady.sum() >= _MOSTLY * later.sum() else found


def _left_slow_start(view: View) -> Flags:
    """After slow start that ended without a loss."""
    if not view.knows_cwnd:
        return np.zeros(view.size, bool)
    with np.errstate(invalid="ignore"):
        left: Flags = (
            np.isfinite(view["ssthresh_bytes"])
            & (view["cwnd_bytes"] >= view["ssthresh_bytes"])
            & (np.nan_to_num(view["retransmits"]) == 0)
        )
    return left
