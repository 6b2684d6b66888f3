"""Times in which nothing comes to a receiver: outages, and timeouts after losses that it may not see.

- `outage`: nothing came for a second and four round trips, once or twice. More often, or for less, it is the
  sender's application that pauses, unless the sender then began anew or segments came late.
- `timeouts`: half of these silences or more begin with little that is late.
- `timeouts` instead of random loss: nothing came in most of the time that belongs to losses, each time for as
  long as a timer runs.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.families.requests import large_requests
from bentpipe.doctor.retransmission_timer import first_timer_s, ran_out
from bentpipe.doctor.several import at_times_of, whole
from bentpipe.doctor.silences import (
    LESS_THAN_USUAL,
    begins_anew,
    begins_with_a_hole,
    standing_out,
    until_regained,
)
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration

_LEAST_S = 1.0
_LEAST_ROUND_TRIPS = 4
_SHORT_S = 0.4
_FEW = 2
_MUCH_LONGER = 3.0
_LIKELY = 0.5
_UNLIKELY = 0.05
_LEAST_RTO_S = 0.2
_RAREST, _MOST_FREQUENT = 1e-5, 0.3
_MOSTLY = 0.5
_JUST_BEFORE_S = 0.5
_REPAIR_ROUND_TRIPS = 2


def stalled(
    view: View, by_chance: Mapping[str, float], losses: int, waiting: Flags
) -> tuple[list[Claim], Flags]:
    """What the silences are, and the samples of those that belong to what losses cost. `waiting`: where the
    sender waits for requests."""
    nothing = np.zeros(view.size, bool)
    if view.evidence.within_host:
        return [], nothing
    of_sum = whole(view)
    quiet, lengths = _silences(of_sum, waiting if view.connections.size == 1 else np.zeros(of_sum.size, bool))
    if not lengths:
        return [], nothing
    silent = at_times_of(view, of_sum, quiet)
    if _alone(of_sum, by_chance, losses, quiet):
        regains = at_times_of(view, of_sum, until_regained(of_sum, quiet))
        return [replace(_outage(view, silent, lengths), holds=silent | regains)], nothing
    explained = silent & ~view.returning
    if _mostly_in_repair(of_sum, quiet):
        return [_timed_out(explained, lengths)], nothing
    return [], explained


def mostly_waits(view: View, where: Flags) -> bool:
    """Whether nothing came in most of that time, each time for as long as a retransmission timer runs at
    least: losses come in runs then, and timers repair them."""
    came = (
        view.grown("delivered_bytes")
        + view.grown("out_of_order")
        + np.nan_to_num(view.grown("segments_sent"))
    )
    least_s = first_timer_s(view.base_rtt_s or 0.0)
    waits = np.zeros(view.size, bool)
    for number in view.connections:
        own = np.flatnonzero(view.connection == number)
        for begin, end in stretches((where & (came <= 0))[own]):
            places = own[begin:end]
            waits[places] = view.dt_s[places].sum() >= least_s
    return share_of(waits, where, view.dt_s) >= _MOSTLY


def _alone(view: View, by_chance: Mapping[str, float], losses: int, silent: Flags) -> bool:
    """Of all connections together: whether losses elsewhere do not explain the silences. Where they mostly
    end in timeouts they may: then they have to stand out, and so many timers in a row have to be unlikely.
    Where windows are small, the first timer runs out if a segment is lost, and each further one if its
    repetition is: k of them N p^k times.

    A receiver does not see all losses: of a window that was lost whole no segment arrives out of order. If
    timeouts are what limits, then losses are as frequent as PFTK's formula says for the rate at which the
    rest arrived.
    """
    if _mostly_in_repair(view, silent):
        return False
    if by_chance.get("timeouts", 0.0) < _LIKELY:
        return True
    if not standing_out(view).any():
        return False
    segments = max(float(np.nansum(view.grown("delivered_bytes"))) / view.mss, 1.0)
    active_s = max(float(view.dt_s[~silent].sum()), _LEAST_RTO_S)
    lost = max(losses, segments * _loss_share(view, segments / active_s))
    share = min((lost + 2 * lost**0.5 + 1) / segments, 1.0)
    return bool(segments * share ** _timers(view, silent) < _UNLIKELY)


def _mostly_in_repair(view: View, silent: Flags) -> bool:
    """Whether less than usual came just before half of the silences or more, and late: then retransmissions
    were lost, too. An outage begins at any time. One that follows another so soon that TCP still repairs says
    nothing."""
    if not view.knows("segments_sent", "out_of_order"):
        return False
    repairs = until_regained(view, silent)
    begins = [begin for begin, _ in stretches(silent)]
    found = [not repairs[max(begin - 1, 0)] and _in_repair(view, begin, silent) for begin in begins]
    return sum(found) >= _MOSTLY * len(found)


def _in_repair(view: View, begin: int, silent: Flags) -> bool:
    last = max(begin - 1, 0)
    late_s = _JUST_BEFORE_S + _REPAIR_ROUND_TRIPS * (view.base_rtt_s or 0.0)
    just_before = view.time_s[: last + 1] >= view.time_s[last] - late_s
    late = bool((view.grown("out_of_order")[: last + 1][just_before] > 0).any())
    window_s = view.window_s + float(view.dt_s[last])
    came = np.nan_to_num(view["segments_sent"])
    before = came[last] - np.interp(view.time_s[last] - window_s, view.time_s, came)
    usual_s = middle(view.total_bit_s, (view.total_bit_s > 0) & ~silent) / 8 / view.mss
    return late and bool(before < LESS_THAN_USUAL * usual_s * window_s)


def _timers(view: View, silent: Flags) -> int:
    """How many retransmission timers, each twice as long as the one before, ran out in the silence with the
    most: by how long nothing new had arrived at its end and at its begin. What comes twice is no answer to
    the timer."""
    new = np.concatenate(([view.time_s[0]], view.time_s[(view.grown("delivered_bytes") > 0) & ~silent]))
    most = 0
    for begin, end in stretches(silent):
        latest_s = float(new[new <= view.time_s[begin]].max(initial=view.time_s[0]))
        before, until = (
            ran_out(float(time_s) - latest_s, view.base_rtt_s or 0.0)
            for time_s in (view.time_s[max(begin - 1, 0)], view.time_s[end - 1])
        )
        most = max(most, until - before)
    return most


def _loss_share(view: View, rate_s: float) -> float:
    """The share of losses with which so many segments a second arrive: Padhye et al., "Modeling TCP
    Throughput", SIGCOMM 1998, equation 31 with an ACK for each segment, solved for p."""
    share = np.geomspace(_RAREST, _MOST_FREQUENT, 200)
    waits_s = (
        first_timer_s(view.base_rtt_s or 0.0)
        * np.minimum(1.0, 3 * np.sqrt(3 * share / 8))
        * share
        * (1 + 32 * share**2)
    )
    seconds = (view.base_rtt_s or 0.0) * np.sqrt(2 * share / 3) + waits_s
    return float(share[min(int(np.searchsorted(seconds, 1 / rate_s)), share.size - 1)])


def _silences(view: View, waiting: Flags) -> tuple[Flags, list[float]]:
    """Stretches in which nothing came after the first payload, not even what had come before. The last may
    go on. Of more than two, and of short ones, those count after which the sender began with a few segments,
    as after a retransmission timeout, or with segments that are late. If most of them are such, all count. A
    wait for an answer that is not much longer than others is none."""
    came = view.grown("delivered_bytes") + view.grown("out_of_order")
    if view.knows("segments_sent"):
        came += view.grown("segments_sent")
    with np.errstate(invalid="ignore"):
        quiet = (came <= 0) & (view.dt_s > 0) & ~(view["rwnd_bytes"] < view.mss)
    least_s = max(_SHORT_S, _LEAST_ROUND_TRIPS * (view.base_rtt_s or 0.0))
    waits_s = [float(view.dt_s[begin:end].sum()) for begin, end in stretches(waiting)]
    asked = large_requests(view)
    usual_wait_s = float(np.median(waits_s)) if waits_s else 0.0
    found = []
    for begin, end in stretches(quiet):
        length = float(view.dt_s[begin:end].sum())
        if (
            asked[max(begin - 1, 0) : end].any()
            and waiting[begin:end].all()
            and length <= _MUCH_LONGER * usual_wait_s
        ):
            continue
        began = np.nan_to_num(view["delivered_bytes"][begin]) > 0
        if length >= least_s and began:
            anew = begins_anew(view, begin, end) or begins_with_a_hole(view, end)
            found.append((begin, end, length, anew))
    long = [anew for _, _, length, anew in found if length >= _LEAST_S]
    several = len(long) > _FEW and sum(long) <= len(long) / 2
    chosen = [each for each in found if each[3] or (each[2] >= _LEAST_S and not several)]
    silent = np.zeros(view.size, bool)
    for begin, end, _, _ in chosen:
        silent[begin:end] = True
    return silent, [length for _, _, length, _ in chosen]


def _outage(view: View, holds: Flags, lengths: list[float]) -> Claim:
    before = view.total_bit_s[: int(np.flatnonzero(holds)[0])]
    busy = bool(before.size and middle(before) > 0)
    then = ", and then it went on" if not holds[-1] else " to the end"
    return Claim(
        "outage",
        holds,
        0.7 if busy else 0.3,
        f"nothing came for {duration(max(lengths))}{then}; a pause of the sender's application would look "
        "the same from here",
        {"outages": len(lengths), "longest_s": known(max(lengths)), "total_s": known(sum(lengths))},
        "a silence of a second and four round trips or more",
        "payload within the time, or many pauses",
    )


def _timed_out(holds: Flags, lengths: list[float]) -> Claim:
    return Claim(
        "timeouts",
        holds,
        _LIKELY,
        f"nothing came for {duration(max(lengths))}{' at most' if len(lengths) > 1 else ''}, after segments "
        "that came late: retransmissions were lost, so TCP waited for its timer",
        {"stalls": len(lengths), "longest_s": known(max(lengths)), "total_s": known(sum(lengths))},
        "a timer that ran out doubles: 2^k - 1 times the first in all, for k of them in a row",
        "a silence that begins while everything comes in order",
    )
