"""What a capture tells of a sender that could have sent more: of its buffer, its application, its pacing.

A capture shows neither what is unsent nor the buffer. Where nothing was lost that limits, no queue stood and
the window was open, one of the three limits. Which one follows from how the payload comes and what is in
flight (arrival_signs.py, packet_signs.py, drop_causes.py), as at a receiver.

The same signs tell that the path was full, as with BBR, which keeps hardly a queue.

Some of it follows without trees:

- **A pause** is the application's: nothing is in flight for a round trip and for the time of three segments
  at the usual rate. A sender that paces itself sends the next segment sooner.
- **Pacing** holds back what is written, so its segments are full. Where one in ten is not, it is not pacing.
- **A send buffer** that is full has something in flight. Where nothing is in a quarter of the time, it is not
  the buffer.
- **Bursts.** A full send buffer lets a program write when an acknowledgement has made room. So where three of
  ten bursts begin without one it is not the buffer. If they are larger than what a sender that paces itself
  sends at once, it is not pacing either.
- **PSH.** Linux sets it on the last of several segments that it sends at once, and on the last of what was
  written. A segment that leaves alone while more waits has none. So where half of the segments come alone,
  each with PSH, it is not pacing. Nor is it a full send buffer of a dozen segments or more: a program may
  write again when a third of it is free (`sk_stream_write_space`), and PSH ends each such part. A sender
  that paces itself always has more to send: its segments are full, and it sends as many each time, a
  millisecond of its rate or two segments if that is less (`tcp_tso_autosize`). Where that holds it is not
  the application, unless that writes just so. Before Linux 6.10 each 64 kB that were written are sent by
  themselves, and their last part may be shorter.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.drop_causes import FULL, SENDER_SIDE, drop_causes
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.families.at_receiver import full_by_arrivals
from bentpipe.doctor.families.sender_from_afar import sender_side
from bentpipe.doctor.start_phase import rising
from bentpipe.doctor.view import View

_OPEN = 0.85
_PAUSE_SEGMENTS = 3
_PACED_SHORT = 0.1
_BUFFER_IDLE = 0.25
_SINGLES = 0.5
_LEAST_PUSHES = 20
_REFILLED_SEGMENTS = 12
"""In flight: a third of it is more than three segments."""
_EQUAL = 0.8
_FEWER = 0.1
_NEAR = 0.05
_HARDLY_ANY = 0.002
_LEAST_BURSTS = 10
_BURSTS_PER_S = 2.0
_UNPROMPTED = 0.3
_BEYOND_PACED = 4.0
_PER_S = 1024
"""Linux sends such a part of a second's payload at once (`sk_pacing_shift`)."""
_LEAST_AT_ONCE, _MOST_AT_ONCE_BYTES = 2, 65_536


def by_packets(view: View) -> list[Claim]:
    if not view.evidence.of_packets or not view.size:
        return []
    by_chance = drop_causes(view)
    calm = ~view.standing & ~view.returning & ~rising(view) & ~view.after_timeout
    with np.errstate(invalid="ignore"):
        calm &= ~(view.flight >= _OPEN * view["rwnd_bytes"])
    calm &= ~pauses(view)
    likeliest = max(by_chance, key=lambda cause: by_chance[cause]) if by_chance else None
    found = episodes(view)
    if likeliest == FULL:
        calm &= ~view.recovering
        return [full_by_arrivals(view, calm, found, by_chance[FULL])] if calm.any() else []
    if likeliest not in SENDER_SIDE:
        calm &= found.latest(view) < 0
    if not calm.any():
        return []
    claim = sender_side(view, calm, _possible(view, calm, by_chance))
    per_push = _segments_per_push(view, calm)
    return [replace(claim, evidence={**claim.evidence, "segments_per_push": known(per_push, 2)})]


def _possible(view: View, where: Flags, by_chance: Mapping[str, float]) -> Mapping[str, float]:
    """The chances without what the packets rule out."""
    if not by_chance:
        return by_chance
    found = dict(by_chance)
    if _writes_little(view, where):
        found["pacing"] = 0.0
    if _comes_singly(view, where):
        found["pacing"] = 0.0
        if middle(view.flight, where) >= _REFILLED_SEGMENTS * view.mss:
            found["send-buffer"] = 0.0
    elif _comes_as_paced(view, where):
        found["sender-application"] = 0.0
    if _is_unprompted(view, where):
        found["send-buffer"] = 0.0
        if _segments_per_burst(view, where) > _BEYOND_PACED * max(
            _paced_segments(view, where), _LEAST_AT_ONCE
        ):
            found["pacing"] = 0.0
    if float(view.dt_s[where & (view.flight == 0)].sum()) >= _BUFFER_IDLE * float(view.dt_s[where].sum()):
        found["send-buffer"] = 0.0
    if not any(found[kind] for kind in SENDER_SIDE):
        found["sender-application"] = 1.0
    return found


def _writes_little(view: View, where: Flags) -> bool:
    """Whether more segments than pacing explains were not full, as where all that was written is sent."""
    return _short_share(view, where) >= _PACED_SHORT


def _short_share(view: View, where: Flags) -> float:
    sent, short = (float(view.grown(name)[where].sum()) for name in ("segments_sent", "short_segments"))
    return short / sent if sent > 0 else 0.0


def _comes_singly(view: View, where: Flags) -> bool:
    """Whether most segments are sent alone, and end what was written."""
    sent, singles = (float(view.grown(name)[where].sum()) for name in ("segments_sent", "single_pushes"))
    return singles >= max(_SINGLES * sent, _LEAST_PUSHES)


def _comes_as_paced(view: View, where: Flags) -> bool:
    """Whether always as many segments are sent at once, as many as a paced sender of this rate sends."""
    pushes, equal = (float(view.grown(name)[where].sum()) for name in ("pushes", "equal_pushes"))
    if pushes < _LEAST_PUSHES or equal < _EQUAL * pushes or _short_share(view, where) > _HARDLY_ANY:
        return False
    paced = _paced_segments(view, where)
    low, high = (max((1 + way * _NEAR) * paced // 1, _LEAST_AT_ONCE) for way in (-1, 1))
    return (1 - _FEWER) * low <= _segments_per_push(view, where) <= (1 + _NEAR) * high


def _paced_segments(view: View, where: Flags) -> float:
    """What a paced sender of this rate sends at once."""
    usual_bit_s = middle(view.total_bit_s, where & (view.total_bit_s > 0))
    return min(usual_bit_s / 8 / _PER_S, _MOST_AT_ONCE_BYTES) / view.mss


def _is_unprompted(view: View, where: Flags) -> bool:
    """Whether bursts begin again and again though no acknowledgement made the sender send them."""
    bursts, unprompted = (float(view.grown(name)[where].sum()) for name in ("bursts", "unprompted_bursts"))
    least = max(_LEAST_BURSTS, _BURSTS_PER_S * float(view.dt_s[where].sum()))
    return bursts >= least and unprompted >= _UNPROMPTED * bursts


def _segments_per_burst(view: View, where: Flags) -> float:
    bursts, sent, again = (
        float(view.grown(name)[where].sum()) for name in ("bursts", "segments_sent", "retransmits")
    )
    return (sent - again) / bursts if bursts else 0.0


def _segments_per_push(view: View, where: Flags) -> float:
    """New segments for each PSH, in the mean; NaN where there is none."""
    pushes, sent, again = (
        float(view.grown(name)[where].sum()) for name in ("pushes", "segments_sent", "retransmits")
    )
    return (sent - again) / pushes if pushes else float("nan")


def pauses(view: View) -> Flags:
    """The samples of stretches in which nothing is in flight for longer than pacing explains."""
    idle: Flags = view.flight == 0
    usual_bit_s = middle(view.total_bit_s, ~idle & (view.total_bit_s > 0))
    if not usual_bit_s > 0:
        return idle
    least_s = max(view.base_rtt_s or 0.0, _PAUSE_SEGMENTS * view.mss * 8 / usual_bit_s)
    found = np.zeros(view.size, bool)
    for begin, end in stretches(idle):
        found[begin:end] = view.dt_s[begin:end].sum() >= least_s
    return found
