"""Other transfers that share a queue with this one: they have what this one does not get of the path.

The rate of one of several varies, though the path is full all the while: that of their sum does not, but for
the times after losses. So a transfer has neighbours where the sum's highest tenth is near its median: by a
tenth, and by half of what its own is from its own, in bit/s. That is over the time in which all were there,
which has to be a quarter of this one's.

A transfer with neighbours is then judged with their connections beside its own (several.py): what they share
bounds their sum. Neighbours of other hosts are not seen, so nothing is known of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from bentpipe.doctor.arrays import Flags, Floats
from bentpipe.doctor.evidence import Evidence
from bentpipe.doctor.view import View

_LEAST_TOGETHER = 0.25
_OF_ITS_OWN = 0.5
_STEADY = 0.1
_LEAST_SAMPLES = 20
_LEAST_S = 0.5
_ROUND_TRIPS = 2
_MOST_CONNECTIONS = 64
"""More than these make no difference, and take time."""


def went_beside(one: Evidence, other: Evidence) -> bool:
    """Whether the other went the same way at the same time, seen from the same end."""
    return (one.direction, one.seen_from) == (other.direction, other.seen_from) and _together_s(
        one, other
    ) >= _LEAST_TOGETHER * one.duration_s


def neighbours(of: View, others: Sequence[View]) -> list[Evidence]:
    """Those of the others that share a queue with it: all or none, as only their sum tells."""
    if not others or of.size < _LEAST_SAMPLES or not of.knows("segments_sent"):
        return []
    begin_s = max(each.time_s[0] for each in (of, *others)) + (of.base_rtt_s or 0.0)
    end_s = min(each.evidence.end_s for each in (of, *others))
    own = of.connection == of.connections[0]
    time_s = of.time_s[own & (of.time_s >= begin_s) & (of.time_s <= end_s)]
    if time_s.size < _LEAST_SAMPLES:
        return []
    window_s = max(_LEAST_S, _ROUND_TRIPS * (of.base_rtt_s or 0.0))
    alone = _rate(of, time_s, window_s)
    together = alone + sum(_rate(each, time_s, window_s) for each in others)
    if _differs(together) <= min(_OF_ITS_OWN * _differs(alone), _STEADY * float(np.median(together))):
        return [each.evidence for each in others]
    return []


def joined(of: Evidence, near: Sequence[Evidence]) -> Evidence:
    """The same evidence with the connections of its neighbours, numbered after its own."""
    frames = [of.samples]
    first = _connections(of)
    for each in near:
        if first >= _MOST_CONNECTIONS:
            break
        frames.append(each.samples.with_columns(pl.col("connection") + first))
        first += _connections(each)
    return replace(of, samples=pl.concat(frames).sort("time_s", "connection", maintain_order=True))


def own_samples(seen: View, of: Evidence) -> Flags:
    """Where a view of joined evidence shows this transfer's own connections."""
    found: Flags = seen.connection < _connections(of)
    return found


def _connections(of: Evidence) -> int:
    return int(of.samples["connection"].max() or 0) + 1  # type: ignore[arg-type]


def _together_s(one: Evidence, other: Evidence) -> float:
    return min(one.end_s, other.end_s) - max(one.start_s, other.start_s)


def _rate(of: View, time_s: Floats, window_s: float) -> Floats:
    """Of all its connections, in the window before each of these times."""
    # At a receiver what is delivered waits for holes to be filled.
    arrived = of["arrived_bytes"] if of.knows("arrived_bytes") else of["segments_sent"] * of.mss
    found = np.zeros_like(time_s)
    for number in of.connections:
        own = of.connection == number
        at_s, count = of.time_s[own], np.nan_to_num(arrived[own])
        until, since = (np.interp(time_s - ago_s, at_s, count, left=0.0) for ago_s in (0.0, window_s))
        found += (until - since) * 8 / window_s
    return found


def _differs(rate: Floats) -> float:
    """By how much the highest tenth begins above the median."""
    half, high = np.quantile(rate, (0.5, 0.9))
    return float(high - half)
