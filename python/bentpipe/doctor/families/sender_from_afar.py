"""What a receiver can tell of a sender that could have sent more: of its buffer, its application, its pacing.

Nothing was lost that limits, no queue stood and the window was open, so one of the three limits. Which one
follows from how the payload arrives (arrival_signs.py, drop_causes.py); the certainty is its chance by
that, among the three.

An application and pacing look the same where it comes smoothly, but for the start. What an application
writes while slow start sends less has to be caught up with: then more comes than in the steady rate. A
sender that paces itself never sends more, but Linux does not pace a connection's first ten segments
(`tcp_update_skb_after_send`, net/ipv4/tcp_output.c), which stand out where a round trip's payload is less.
So in sockets' samples the start decides between these two, where the other signs leave it open. It does not
tell where about an initial window is in flight.

A host that stops for some milliseconds lets payload come in a burst afterwards, which looks like catching up.
But a sender that paces itself never repays what the start, or such a stop, left behind. So pacing follows
from that even where the other signs tell an application.

A program that writes in blocks is told by its pauses: a full send buffer lets it write within a round trip.
One that answers requests is likelier than a buffer where the receiver's program asks often.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, middle, stretches
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.drop_causes import SENDER_SIDE
from bentpipe.doctor.families.requests import asks_often
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, rate, size

_NAMED = 0.05
_PAUSES = 0.25
_LONGER = 1.1
_PACED_SEGMENTS = 4
_PAUSES_OFTEN = 5
_LONG_ROUND_TRIPS = 3
_LONG_OFTEN = 2
_INITIAL_SEGMENTS = 10
_SOME_SEGMENTS = 3
_LEAST_SAMPLES = 8
_UNPACED = 1.2
"""Times the initial window: what stands out beyond that was not sent without pacing."""
_CAUGHT_UP = 0.3
"""Of a round trip's payload: an application is caught up with by more, a sender that paces itself by less."""
_EXACT = 0.02
"""Of a round trip's payload: how exactly the samples show what is ahead of the steady rate."""
_START_S = 1.5
_START_ROUND_TRIPS = 12
_OWED_SEGMENTS = 15
"""A half more than the initial window, which Linux sends without pacing: that hides as much."""
_REPAID = 0.5
"""Of what the start left behind: an application repays nearly all, a sender that paces itself nothing."""
_STEADY = 0.93
"""Of the steady rate is carried in the mean: a few stops of a host cost less, pauses of a program more."""
_NEARLY = 0.1
_STILL_MADE = 0.25
"""Of what the start left behind: if as much more is missing soon after, it is not the start that made it."""
_LEAST_AFTER = 0.5
"""Of the transfer's time is left after the start: what is missing has time to come."""
_WINDOW_SAMPLES = 4
_SETTLED_SHARE = 0.25
_ASKED = 0.6
_BY_START = 0.9
"""Chance of what the start tells. What is more certain by the other signs stays, unless nothing is repaid."""


def sender_side(view: View, holds: Flags, by_chance: Mapping[str, float]) -> Claim:
    """Of samples in which nothing else limits."""
    three = {kind: by_chance.get(kind, 0.0) for kind in SENDER_SIDE}
    whole = sum(three.values())
    chances = {kind: each / whole if whole > 0 else 1 / len(three) for kind, each in three.items()}
    chances = _by_requests(view, _by_pauses(view, holds, _by_start(view, chances)))
    kind = max(chances, key=lambda each: chances[each]) if whole > 0 else "sender-application"
    usual = middle(view.total_bit_s, holds & (view.total_bit_s > 0))
    flight = usual * (view.base_rtt_s or 0.0) / 8
    with np.errstate(invalid="ignore"):
        paused = holds & (view.grown("delivered_bytes") <= 0)
    pause_share = float(view.dt_s[paused].sum() / max(view.dt_s[holds].sum(), 1e-9))
    wrote = usual if pause_share < _PAUSES else view.evidence.goodput_bit_s or usual
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
            f"the sender's application wrote no more than {rate(wrote)}, though {limits}"
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


def _by_pauses(view: View, holds: Flags, chances: dict[str, float]) -> dict[str, float]:
    """The chances, or an application for sure if nothing came for longer than a round trip again and again,
    or for several round trips twice. A full send buffer is written to within one; pacing sends two segments
    at once, or a millisecond of its rate."""
    base_s = view.base_rtt_s or 0.0
    whole_s = float(view.dt_s[holds].sum())
    if view.evidence.of_packets or view.connections.size != 1 or base_s <= 0 or not whole_s > 0:
        return chances
    came = view.grown("segments_sent")
    least_s = max(_LONGER * base_s, _PACED_SEGMENTS * whole_s / max(float(came[holds].sum()), 1.0))
    lasted_s = [float(view.dt_s[begin:end].sum()) for begin, end in stretches(holds & (came <= 0))]
    long = [each for each in lasted_s if each >= least_s]
    longest = [each for each in long if each >= _LONG_ROUND_TRIPS * base_s]
    if len(long) < _PAUSES_OFTEN and len(longest) < _LONG_OFTEN:
        return chances
    if sum(long) < _PAUSES * whole_s:
        return chances
    return {each: float(each == "sender-application") for each in chances}


def _by_requests(view: View, chances: dict[str, float]) -> dict[str, float]:
    """The chances; those of an application are higher than those of a send buffer where the receiver's
    program asks often. What it asked for comes as what a buffer holds does, again and again after a wait."""
    if not asks_often(view):
        return chances
    together = chances["send-buffer"] + chances["sender-application"]
    asked = max(_ASKED * together, chances["sender-application"])
    return {**chances, "sender-application": asked, "send-buffer": together - asked}


def _by_start(view: View, chances: dict[str, float]) -> dict[str, float]:
    """The chances, with those of an application and of pacing as the start tells them apart."""
    both = ("sender-application", "pacing")
    top = max(chances, key=chances.__getitem__)
    if top not in both or view.evidence.of_packets or view.connections.size != 1 or not view.evidence.begun:
        return chances
    arrivals = _arrivals(view)
    if arrivals is None:
        return chances
    if _never_repaid(arrivals):
        told: str | None = "pacing"
    elif chances[top] >= _BY_START:
        return chances
    else:
        told = _told_by_start(arrivals)
    if told is None:
        return chances
    other = both[1 - both.index(told)]
    together = chances[told] + chances[other]
    likely = max(_BY_START * together, chances[told])
    return {**chances, told: likely, other: together - likely}


@dataclass(frozen=True)
class _Arrivals:
    """Of one connection, from its first payload on."""

    time_s: Floats
    ahead: Floats
    """Segments that came up to each sample, beyond those of the steady rate."""
    begins: Flags
    flight: float
    """Segments of the steady rate in a base round trip."""
    steadiness: float
    """The mean rate once it is steady, of the steady rate."""
    fine: bool
    """Samples no further apart than a base round trip."""


def _arrivals(view: View) -> _Arrivals | None:
    """None where too little came. The steady rate is the mean of the middle half of windows, which a few
    stops of a host do not change."""
    seen = np.isfinite(view["segments_sent"])
    time_s, arrived = view.time_s[seen], view["segments_sent"][seen]
    if time_s.size < _LEAST_SAMPLES:
        return None
    # A program may have its connection for long before the first payload.
    first = max(int(np.searchsorted(arrived, arrived[0] + _SOME_SEGMENTS)) - 1, 0)
    time_s, arrived = time_s[first:], arrived[first:]
    if time_s.size < _LEAST_SAMPLES:
        return None
    spacing_s, base_s = float(np.median(np.diff(time_s))), view.base_rtt_s or 0.0
    settled_s = float(time_s[0] + _SETTLED_SHARE * (time_s[-1] - time_s[0]))
    window_s = max(view.window_s, _WINDOW_SAMPLES * spacing_s)
    # Times in a file may be years apart.
    edges = np.linspace(settled_s, time_s[-1], int(min((time_s[-1] - settled_s) / window_s, time_s.size)) + 1)
    if edges.size < 2 or base_s <= 0:
        return None
    rates = np.sort(np.diff(np.interp(edges, time_s, arrived))) / (edges[1] - edges[0])
    per_s = float(rates[rates.size // 4 : rates.size - rates.size // 4].mean())
    if not per_s > 0:
        return None
    begins = time_s <= time_s[0] + max(_START_S, _START_ROUND_TRIPS * base_s)
    ahead = arrived - arrived[0] - per_s * (time_s - time_s[0])
    return _Arrivals(time_s, ahead, begins, per_s * base_s, float(rates.mean()) / per_s, spacing_s <= base_s)


def _never_repaid(arrivals: _Arrivals) -> bool:
    """Whether what came too little in the beginning is still missing at any time after it, though payload
    comes at the steady rate, but for a few stops.

    An application that had to wait meanwhile repays what the buffers before it hold, at least. One that
    pauses, or writes more slowly at first, shows nothing by this.
    """
    time_s, ahead = arrivals.time_s, arrivals.ahead
    # What was before the first payload is nothing that is missing.
    begin = ahead[1 : int(arrivals.begins.sum())]
    if not begin.size or arrivals.steadiness < _STEADY:
        return False
    least = int(begin.argmin())
    owed = float(begin[: least + 1].max() - begin[least])
    repaid = float(ahead[1 + least :].max() - begin[least])
    made = int(np.flatnonzero(begin <= begin[least] + _NEARLY * owed)[0])
    after_s = time_s[1 + made :] - time_s[1 + made]
    follows = ahead[1 + made :][after_s <= time_s[begin.size] - time_s[0]]
    if owed < _OWED_SEGMENTS or after_s[-1] < _LEAST_AFTER * (time_s[-1] - time_s[0]):
        return False
    if float(np.median(follows)) < begin[least] - _STILL_MADE * owed:
        return False
    return repaid <= min(_REPAID * owed, _CAUGHT_UP * arrivals.flight + _INITIAL_SEGMENTS)


def _told_by_start(arrivals: _Arrivals) -> str | None:
    """Which of the two it is; None where about an initial window is in flight, or too little came."""
    flight, ahead = arrivals.flight, arrivals.ahead[arrivals.begins]
    caught_up = float((ahead - np.minimum.accumulate(ahead)).max())
    if flight <= _INITIAL_SEGMENTS / 2:
        stands_out = _INITIAL_SEGMENTS / 2 <= caught_up <= _UNPACED * _INITIAL_SEGMENTS
        return "pacing" if stands_out else None
    if flight < 2 * _INITIAL_SEGMENTS or not arrivals.fine:
        return None
    if caught_up >= _CAUGHT_UP * flight + _INITIAL_SEGMENTS:
        return "sender-application"
    most = min(_CAUGHT_UP * flight, _INITIAL_SEGMENTS + _EXACT * flight)
    return "pacing" if caught_up <= most else None
