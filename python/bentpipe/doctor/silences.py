"""Silences: stretches in which something should have come and nothing did, and a transfer without them.

What an outage does to a transfer says nothing of what limits the rest of it, so the signs of that
(drop_signs.py, arrival_signs.py) are taken from what is left when one or two silences that stand out are cut
out. One stands out that is three times as long as any other gap: a retransmission timer doubles, so that
silences of lost retransmissions have others half as long beside them.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.view import View

_LEAST_S = 1.0
_LEAST_ROUND_TRIPS = 4
_FEW = 2
_STANDS_OUT = 3.0
_AFTER_ROUND_TRIPS = 3
_AND_A_BIT = 1.01
_ANOTHER_RATE = 1.3
_REGAINED = 0.9
_REGAINS_ROUND_TRIPS = 20
_BEFORE_ROUND_TRIPS = 4
_LEAST_BEFORE_S = 0.5
_ANEW_SEGMENTS = 5
_FALLS_TO_A = 4
_LEAST_LATE = 3
_LATE_OF_FIRST = 0.15
LESS_THAN_USUAL = 0.5
"""Share of the usual that is left when retransmissions are lost: most of a window was lost or has arrived."""
_COUNTERS = (
    *("sent_bytes", "delivered_bytes", "arrived_bytes", "retransmitted_bytes", "retransmits", "timeouts"),
    *("segments_sent", "acks", "out_of_order"),
)


def standing_out(view: View) -> Flags:
    """The samples of one or two silences that stand out after the first payload. The last may go on."""
    nothing = np.zeros(view.size, bool)
    came = view.grown("delivered_bytes") + view.grown("arrived_bytes") + view.grown("out_of_order") > 0
    places = np.flatnonzero(came)
    if places.size < _FEW + 2:
        return nothing
    places = np.append(places, view.size - 1)
    gaps = np.diff(view.time_s[places])
    order = np.argsort(gaps)[::-1]
    least_s = max(_LEAST_S, _LEAST_ROUND_TRIPS * (view.base_rtt_s or 0.0))
    for count in range(_FEW, 0, -1):
        shortest, longest_other = gaps[order[count - 1]], gaps[order[count]]
        if shortest >= max(least_s, _STANDS_OUT * longest_other):
            for number in order[:count]:
                nothing[places[number] + 1 : places[number + 1]] = True
            return nothing
    return nothing


def without_outages(view: View) -> View:
    """The transfer without what stands out, and without the round trips in which TCP gets over it. If to a
    receiver it goes on at another rate, only the longer part is left: signs of both are those of neither."""
    if view.connections.size != 1:
        return view
    silent = standing_out(view)
    if not silent.any():
        return view
    ends_s = view.time_s[np.flatnonzero(np.diff(silent.astype(int), append=0) < 0)]
    # The first sample after a silence, and what else TCP repairs then.
    until_s = max(_AFTER_ROUND_TRIPS * (view.base_rtt_s or 0.0), float(np.median(view.dt_s)) * _AND_A_BIT)
    cut = silent.copy()
    for end_s in ends_s:
        cut |= (view.time_s >= end_s) & (view.time_s <= end_s + until_s)
    if not view.at_sender and _differs_after(view, cut):
        cut |= _shorter_part(view, cut)
    keep = ~cut
    columns = dict(view.columns)
    for name in _COUNTERS:
        # What is counted in the time that is cut out is not of the rest.
        columns[name] = view.columns[name] - np.cumsum(np.where(cut, view.grown(name), 0.0))
    columns["time_s"] = view.time_s - np.cumsum(np.where(cut, view.dt_s, 0.0))
    return view.of(keep, columns)


def _parts(view: View, cut: Flags) -> tuple[Flags, Flags]:
    """What comes before the first sample that is cut out, and after the last."""
    places, number = np.flatnonzero(cut), np.arange(view.size)
    return number < places[0], number > places[-1]


def _differs_after(view: View, cut: Flags) -> bool:
    """Whether payload comes at another rate afterwards, as where a buffer holds more then."""
    before, after = (middle(view.total_bit_s, part & (view.total_bit_s > 0)) for part in _parts(view, cut))
    return bool(max(before, after) > _ANOTHER_RATE * min(before, after))


def _shorter_part(view: View, cut: Flags) -> Flags:
    return min(_parts(view, cut), key=lambda part: float(view.dt_s[part].sum()))


def until_regained(of_sum: View, silent: Flags) -> Flags:
    """After a silence, the samples until it comes as fast as just before, while TCP's window grows anew: for
    twenty round trips at most."""
    found = np.zeros(of_sum.size, bool)
    base_s = of_sum.base_rtt_s or 0.0
    before_s = max(_BEFORE_ROUND_TRIPS * base_s, _LEAST_BEFORE_S)
    for begin, end in stretches(silent):
        if end >= of_sum.size:
            continue
        just_before = (of_sum.time_s >= of_sum.time_s[begin] - before_s) & (np.arange(of_sum.size) < begin)
        usual = middle(of_sum.total_bit_s, just_before & (of_sum.total_bit_s > 0))
        over = of_sum.total_bit_s[end:] >= _REGAINED * usual
        over |= of_sum.time_s[end:] > of_sum.time_s[end] + _REGAINS_ROUND_TRIPS * base_s
        there = np.flatnonzero(over)
        found[end : end + int(there[0]) if there.size else of_sum.size] = True
    return found & ~of_sum.standing & ~of_sum.returning


def repaired_after(view: View, silence: Flags) -> Flags:
    """The samples that follow a silence while TCP repairs what was lost in it."""
    found = np.zeros(view.size, bool)
    for end in np.flatnonzero(silence & ~np.append(silence[1:], False)) + 1:
        place = int(end)
        while (
            place < view.size
            and view.recovering[place]
            and not silence[place]
            and view.connection[place] == view.connection[end - 1]
        ):
            found[place] = True
            place += 1
    return found


def begins_anew(view: View, begin: int, end: int) -> bool:
    """Whether much came in each round trip before a silence, and a few segments in the first one after it. A
    program that paused goes on with an initial window at least, unless it answers a request shortly."""
    if end >= view.size or not view.base_rtt_s or not view.knows("segments_sent") or _was_asked(view, end):
        return False
    window_s = max(view.base_rtt_s, float(view.dt_s[end]))
    counted = np.nan_to_num(view["segments_sent"])
    last_s, first_s = view.time_s[max(begin - 1, 0)], view.time_s[end - 1]
    before_s, until_s = np.interp([last_s - window_s, last_s], view.time_s, counted)
    after = float(np.interp(first_s + window_s, view.time_s, counted)) - counted[end - 1]
    most = min((until_s - before_s) / _FALLS_TO_A, _ANEW_SEGMENTS * window_s / view.base_rtt_s)
    return bool(0 < after <= most)


def begins_with_a_hole(view: View, end: int) -> bool:
    """Whether a good part of what comes first after a silence is late, or comes twice: packets of before were
    lost in it. A program that paused goes on where it was."""
    if end >= view.size or not view.knows("out_of_order", "segments_sent") or _was_asked(view, end):
        return False
    late, came = view.grown("out_of_order")[end], view.grown("segments_sent")[end]
    return bool(late >= max(_LEAST_LATE, _LATE_OF_FIRST * came))


def _was_asked(view: View, end: int) -> bool:
    """Whether the receiver's program asked for what comes after a silence."""
    return bool((view.grown("asked_bytes")[max(end - 1, 0) : end + 1] > 0).any())
