"""Episodes of losses: a loss and what is lost within two round trips of it, and whether something
overflowed.

An episode is an **overflow** if one of these holds; any other is **random**: nothing on the path was
full.

1. A queue stood just before it, at 40 % or more of the longest that was seen.
2. It ended slow start, and a tenth of what was in flight was lost, 8 segments or more. Slow start
   doubles what it sends each round trip, so an overflow loses up to half of it; random loss loses its
   share.
3. No queue was seen, and all losses came at one rate (within a tenth in the median), to which this one
   belongs.

If three quarters of the episodes are of one kind, the others are taken for it too: a sample can miss a
queue.
"""

from dataclasses import dataclass

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places, summed
from bentpipe.doctor.start_phase import rising
from bentpipe.doctor.view import View, before_losses

_NEAR_ITS_LONGEST = 0.4
_OF_ONE_RATE = 0.8
_MOSTLY = 0.75
_OVERSHOT_SEGMENTS = 8
_OVERSHOT_SHARE = 0.1
_LONG_SHARE = 0.25


@dataclass(frozen=True)
class Episodes:
    """In the order of the view's samples."""

    places: Places
    """The sample before each."""
    overflow: Flags
    started: Flags
    """Which ended slow start."""
    lost_segments: Floats
    """Retransmitted until the next one."""
    wait_s: Floats
    """The longest wait within two round trips before."""

    @property
    def count(self) -> int:
        return len(self.places)

    def latest(self, view: View) -> Places:
        """For each sample the number of the latest episode of its connection; -1 before the first."""
        if not self.count:
            return np.full(view.size, -1, dtype=np.int64)
        latest = np.searchsorted(self.places, np.arange(view.size), side="right") - 1
        other = view.connection[self.places[np.maximum(latest, 0)]] != view.connection
        return np.where((latest >= 0) & ~other, latest, -1)


def episodes(view: View) -> Episodes:
    places = before_losses(view)
    near = [_just_before(view, int(place)) for place in places]
    with np.errstate(invalid="ignore"):
        started = (view["cwnd_bytes"] < view["ssthresh_bytes"])[places]
    if not view.at_sender:
        started = np.zeros(len(places), bool)  # A receiver does not see how many were lost.
    elif not view.knows_cwnd:
        started = rising(view)[places]
    retransmits = np.nan_to_num(view["retransmits"])
    lost = np.array([_until_next(retransmits, view, places, number) for number in range(len(places))])
    found = Episodes(
        places,
        np.zeros(len(places), bool),
        started,
        lost,
        np.array([_longest(view.queue_s[each]) for each in near]),
    )
    overflow = np.array(
        [_overflows(view, found, number, near[number]) for number in range(len(places))], bool
    )
    if overflow.size:
        share = float(overflow.mean())
        overflow = (
            np.ones_like(overflow)
            if share >= _MOSTLY
            else overflow & (share > 1 - _MOSTLY) | (overflow & started)
        )
    return Episodes(places, overflow, started, lost, found.wait_s)


def _just_before(view: View, place: int) -> Places:
    """The samples within two round trips before an episode, and the one that shows it."""
    begin_s = view.time_s[place] - 2 * (view.base_rtt_s or 0.0)
    first = max(place - 40, 0)
    window = np.arange(first, min(place + 2, view.size))
    own = (view.connection[window] == view.connection[place]) & (view.time_s[window] >= begin_s)
    near: Places = window[own]
    return near


def _longest(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return float(values.max()) if values.size else 0.0


def _until_next(retransmits: Floats, view: View, places: Places, number: int) -> float:
    place = int(places[number])
    own = np.flatnonzero(view.connection == view.connection[place])
    last = int(own[-1])
    following = places[number + 1] if number + 1 < len(places) else last
    return float(retransmits[min(int(following), last)] - retransmits[place])


def _overflows(view: View, of: Episodes, number: int, near: Places) -> bool:
    place = int(of.places[number])
    lost, flight = of.lost_segments[number], view.flight[place] / view.mss
    if of.started[number] and lost >= max(_OVERSHOT_SEGMENTS, _OVERSHOT_SHARE * flight):
        return True
    if view.standing.any():
        longest = float(np.nanpercentile(view.queue_s[view.standing], 95))
        return bool(of.wait_s[number] >= _NEAR_ITS_LONGEST * longest and view.standing[near].any())
    if view.capacity_from not in ("losses", "overshoot") or view.capacity_bit_s is None or not near.size:
        return False
    return bool(view.total_bit_s[near].max() >= _OF_ONE_RATE * view.capacity_bit_s)


def policed(view: View) -> tuple[float, float]:
    """The rate (bit/s) and the burst (bytes) of a policer that would just have let pass what arrived: the
    highest rate for a quarter of the time after the first loss, and the most that exceeded it at any time."""
    arrived = view["arrived_bytes"] if view.knows("arrived_bytes") else view["delivered_bytes"]
    own = view.connection == view.connection[0]
    counted = summed(np.nan_to_num(arrived), view.time_s, view.connection, counts=True)
    time_s, count = view.time_s[own], counted[own]
    places = before_losses(view)
    begin_s = float(view.time_s[places[0]]) if places.size else float(time_s[0])
    window_s = max((time_s[-1] - begin_s) * _LONG_SHARE, 1e-3)
    later = time_s[time_s >= begin_s + window_s]
    if not later.size:
        later = time_s[-1:]
    passed = np.interp(later, time_s, count) - np.interp(later - window_s, time_s, count)
    rate_bit_s = float(passed.max()) * 8 / window_s
    level = count - rate_bit_s / 8 * (time_s - time_s[0])
    return rate_bit_s, float((level - np.minimum.accumulate(level)).max())
