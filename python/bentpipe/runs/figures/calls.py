"""Figures of a workload `call` for each direction, from its packets' send times and delays.

1. Jitter is the estimate of RFC 3550, 6.4.1, updated at each arrival; here its mean over the arrivals.
2. The receiver plays a packet `playout` after the least delay that it saw. What comes later is late: lost to
   the ear, not on the path.
3. The delay from mouth to ear is that instant, and one interval before it, in which the packet was filled.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from bentpipe.runs.figures.e_model import mean_opinion_score, rating
from bentpipe.runs.figures.times import percentile

Packet = tuple[float, float | None]
"""When it was sent, and its delay; None: it never came. In seconds."""


def direction_figures(
    packets: Sequence[Packet], *, playout_s: float, interval_s: float, concealed: bool
) -> dict[str, Any]:
    """Of one direction."""
    delays_s = [delay_s for _, delay_s in packets if delay_s is not None]
    found: dict[str, Any] = {
        "sent": len(packets),
        "lost": len(packets) - len(delays_s),
        "loss": 1 - len(delays_s) / len(packets) if packets else None,
        "late_loss": None,
        "jitter_ms": None,
        "delay_ms": None,
        "delay_p99_ms": None,
        "r": None,
        "mos": None,
    }
    if not packets:
        return found
    if not delays_s:
        return found | {"r": 0.0, "mos": 1.0}
    plays_s = min(delays_s) + playout_s
    late = sum(delay_s > plays_s for delay_s in delays_s)
    r = rating(1e3 * (plays_s + interval_s), (found["lost"] + late) / len(packets), concealed=concealed)
    slow_s = percentile(delays_s, 99)
    return found | {
        "late_loss": late / len(packets),
        "jitter_ms": 1e3 * jitter_s(packets),
        "delay_ms": 1e3 * fmean(delays_s),
        "delay_p99_ms": None if slow_s is None else 1e3 * slow_s,
        "r": r,
        "mos": mean_opinion_score(r),
    }


def jitter_s(packets: Sequence[Packet]) -> float:
    """Mean over the arrivals of RFC 3550's estimate."""
    arrivals = sorted((sent_s + delay_s, delay_s) for sent_s, delay_s in packets if delay_s is not None)
    estimate_s, estimates_s = 0.0, [0.0]
    for (_, before_s), (_, delay_s) in pairwise(arrivals):
        estimate_s += (abs(delay_s - before_s) - estimate_s) / 16
        estimates_s.append(estimate_s)
    return fmean(estimates_s[1:] or estimates_s)


def call_figures(
    down: Sequence[Packet], up: Sequence[Packet], *, playout_s: float, interval_s: float, concealed: bool
) -> dict[str, Any]:
    """Both directions, and the worse one's score."""
    both = {
        name: direction_figures(packets, playout_s=playout_s, interval_s=interval_s, concealed=concealed)
        for name, packets in (("down", down), ("up", up))
    }
    scores = [each["mos"] for each in both.values() if each["mos"] is not None]
    return {"mos": min(scores, default=None), **both}
