"""How many segments the path loses one after another where no queue stood before them.

An episode (episodes.py) holds all losses within two round trips of each other, so several independent
losses may be in one. If losses begin at random, with a chance e for each segment, episodes begin with that
chance for each segment outside of them. Then of R lost segments in E episodes, while a share s of all N
segments was sent outside of them:

    e = E / (s N), and a burst has R / (e N) = s R / E segments in the mean.

So the mean size of an episode is multiplied by s. Where episodes hold half of the segments or more, e is too
uncertain. A segment that is lost again when it is repeated counts again.

The interval is that of the mean over the episodes (analysis/intervals.py). Each gives the value to which the
estimate is linear in its size, in the segments that follow outside of it, and in both (the delta method).

A receiver's socket counts what came behind a hole, not what was lost. Of several connections each has a part
of a burst only. Neither tells it.
"""

from dataclasses import dataclass

import numpy as np

from bentpipe.analysis.intervals import interval
from bentpipe.doctor.arrays import Flags, Floats, Places, since
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.view import View

_LEAST_EPISODES = 3
_LEAST_OUTSIDE = 0.5


@dataclass(frozen=True)
class LossBursts:
    """None: not known."""

    segments: float | None = None
    """Of a burst in the mean, 1 at least."""
    interval: tuple[float | None, float | None] = (None, None)
    """The same; 95 %."""
    chance: float | None = None
    """That a burst begins at a segment."""


UNKNOWN = LossBursts()


def loss_bursts(of: Diagnosis) -> LossBursts:
    view = of.view
    is_alone = view.connections.size == 1 and not of.neighbours and not of.at_once
    if not is_alone or not view.knows("retransmits", "sent_bytes"):
        return UNKNOWN
    found = episodes(view)
    of_path = np.ones(found.count, bool) if found.overflow.all() else ~found.overflow
    if of_path.sum() < _LEAST_EPISODES:
        return UNKNOWN
    sent = view.grown("sent_bytes")
    ends = np.append(found.places, view.size - 1)
    whole, outside = _between(sent, ends), _between(np.where(_outside(view), sent, 0.0), ends)
    share = float(outside.sum() / max(whole.sum(), 1.0))
    lost, outside, whole = found.lost_segments[of_path], outside[of_path], whole[of_path]
    if share < _LEAST_OUTSIDE or not (lost.sum() and outside.sum()):
        return UNKNOWN
    mean = share * float(lost.mean())
    by_episode = mean * (lost / lost.mean() + outside / outside.mean() - whole / whole.mean())
    bounds = interval(by_episode.tolist())
    assert bounds is not None
    segments = max(mean, 1.0)
    return LossBursts(
        segments,
        (max(bounds.low, 1.0), max(bounds.high, 1.0)),
        chance=float(found.lost_segments[of_path].sum()) * view.mss / view.most("sent_bytes") / segments,
    )


def _outside(view: View) -> Flags:
    """The samples in which no loss belongs to the episode before."""
    loses = (view.grown("retransmits") > 0) | view.recovering
    return np.asarray(since(view.time_s[loses], view.time_s) > 2 * (view.base_rtt_s or 0.0))


def _between(grown: Floats, places: Places) -> Floats:
    """The sum from each place to the next; the last one has what was before the first place, too."""
    counted = np.cumsum(grown)
    found: Floats = np.diff(counted[places])
    found[-1] += counted[places[0]]
    return found
