"""The way back carries fewer acknowledgements than the payload asks for.

A sample belongs to it if a queue of ACKs stands (return_way.py). So does what follows a slow start that
ended without a loss: HyStart takes the ACKs' wait for a full path.

The second test: how much less the ACKs' rate varied than the payload's; at a receiver, which sees the
payload's only, one half.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent

_AT_RECEIVER = 0.5


def ack_path(view: View) -> list[Claim]:
    if view.spreads is None or not view.returning.any():
        return []
    holds = view.returning | _left_slow_start(view)
    own = view.connection == view.connection[0]
    took_s = float(view.time_s[own][-1] - view.time_s[own][0])
    acks = view["acks"][own]
    ack_rate = float(acks[-1] - acks[0]) / took_s if took_s > 0 else float("nan")
    wait_s = middle(view.queue_s, view.returning)
    payload, returned = view.spreads.payload, view.spreads.acks
    seen = (
        f"the payload's rate varied by {percent(payload)} and the ACKs' by {percent(returned)}"
        if returned is not None
        else f"the payload's rate varied by {percent(payload)}, which it would not do behind a queue"
    )
    return [
        Claim(
            "ack-path",
            holds,
            _AT_RECEIVER if returned is None else 1 - min(returned / payload, 1.0),
            f"acknowledgements wait {duration(wait_s)} on their way back, not the payload: {seen}",
            {
                "queue_s": known(wait_s),
                "base_rtt_s": known(view.base_rtt_s or float("nan")),
                "payload_rate_spread": known(payload, 4),
                "ack_rate_spread": None if returned is None else known(returned, 4),
                "acks_per_s": known(ack_rate, 1) if view.sees_acks_return else None,
            },
            "a queue serves at a constant rate: the way with the constant rate is the one that is full",
            "a payload rate that stays the same while packets wait",
        )
    ]


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
