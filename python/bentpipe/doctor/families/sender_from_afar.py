"""What a receiver can tell of a sender that could have sent more: of its buffer, its application, its pacing.

Nothing was lost that limits, no queue stood and the window was open, so one of the three limits. Which one
follows from how the payload arrives (arrival_signs.py, drop_causes.py); the certainty is its chance by
that, among the three. Where it comes smoothly and below an initial window per round trip, an application
and pacing look the same.
"""

from collections.abc import Mapping

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.drop_causes import SENDER_SIDE
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, rate, size

_NAMED = 0.05
_PAUSES = 0.25


def sender_side(view: View, holds: Flags, by_chance: Mapping[str, float]) -> Claim:
    """Of samples in which nothing else limits."""
    three = {kind: by_chance.get(kind, 0.0) for kind in SENDER_SIDE}
    whole = sum(three.values())
    chances = {kind: each / whole if whole > 0 else 1 / len(three) for kind, each in three.items()}
    kind = max(chances, key=lambda each: chances[each]) if whole > 0 else "sender-application"
    usual = middle(view.total_bit_s, holds & (view.total_bit_s > 0))
    flight = usual * (view.base_rtt_s or 0.0) / 8
    with np.errstate(invalid="ignore"):
        paused = holds & (view.grown("delivered_bytes") <= 0)
    pause_share = float(view.dt_s[paused].sum() / max(view.dt_s[holds].sum(), 1e-9))
    others = [
        f"{each} {percent(chance)}" for each, chance in chances.items() if each != kind and chance >= _NAMED
    ]
    maybe = f"; it may be {' or '.join(others)}" if others else ""
    limits = "no loss limits it, no queue stood and the window was open"
    how, formula, otherwise = {
        "send-buffer": (
            f"the sender sends windows of {size(flight)} and waits for them, though {limits}: its send "
            f"buffer, at an RTT of {duration(view.base_rtt_s or 0.0)}",
            "rate = payload that the buffer holds in flight / RTT",
            "payload at a steady rate, or round trips that differ",
        ),
        "sender-application": (
            f"the sender's application wrote no more than {rate(usual)}, though {limits}"
            + (f"; it paused in {percent(pause_share)} of the time" if pause_share >= _PAUSES else ""),
            "rate x RTT < 0.85 window, RTT at its smallest; a higher rate while it catches up, or pauses",
            "losses, a queue, a full window, or as much in each round trip in bursts",
        ),
        "pacing": (
            f"the sender sends {rate(usual)} evenly and never more, though {limits}: it paces itself",
            "as much between any two samples, within what a host sends at once; no higher rate at the start",
            "bursts, or a higher rate before the steady one",
        ),
    }[kind]
    return Claim(
        kind,
        holds,
        chances[kind],
        how + maybe,
        {
            "rate_mbit_s": known(usual / 1e6, 3),
            "in_flight_bytes": known(flight),
            "paused_share": known(pause_share),
            "chances": {each: round(chance, 3) for each, chance in chances.items()},
        },
        formula,
        otherwise,
    )
