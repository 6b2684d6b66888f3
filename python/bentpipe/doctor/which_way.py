"""On which way the queue of a transfer stands: the payload's, the acknowledgements', or on neither.

By the time stamps of a capture, or else by the rates of both ways (return_way.py). A receiver sees one of
them. There payload that came too soon for a queue of its own speaks for the ACKs' way, and waits that are the
shorter the faster payload comes speak for a path whose own rate varies. At a sender waits that are as long at
any rate are no queue: jitter makes them.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches, summed
from bentpipe.doctor.claim import share_of
from bentpipe.doctor.return_way import STEADY, spreads
from bentpipe.doctor.saturation import waits_alike
from bentpipe.doctor.view import View

_PERSISTS = 0.6
_LEAST_STAMPED_S = 0.004
_MOSTLY = 0.5
_EXACT = 0.03
_LEAST_COMPARED = 20
_TOGETHER = 0.4
"""Correlation of two logarithms."""
_LONG_ROUND_TRIPS = 2
_LONG_S = 0.3
_LEAST_STANDING = 4
"""Samples."""
_HARDLY = 0.5
_SLOWER = 0.75
_START = 0.25
_SECOND_S = 1.0
_LEAST_SECONDS = 10
_LESS_THAN_HALF = 0.5


def by_way(of: View) -> View:
    """A queue that stands on the way back is none of the payload's path."""
    base_s = of.base_rtt_s
    if base_s is None or not of.knows("acks") or not of.standing.any():
        return of
    stamped = _return_share(of)
    if stamped is not None:
        of = replace(of, return_share=stamped)
        if stamped > _MOSTLY:
            return _on_return(of)
    arrived = of["arrived_bytes"] if of.knows("arrived_bytes") else of["segments_sent"] * of.mss
    seen = spreads(
        time_s=of.time_s,
        connection=of.connection,
        segments=np.nan_to_num(arrived) / of.mss,
        acks=np.nan_to_num(of["acks"]) if of.sees_acks_return else None,
        standing=of.standing & ~of.recovering,
        base_s=base_s,
        nothing_late=bool(of.unharmed.all()),
    )
    of = replace(of, spreads=seen)
    of = replace(of, early_s=_early_s(of) if stamped is None else 0.0)
    nowhere = np.zeros(of.size, bool)
    return {
        "there": of,
        "back": _on_return(of),
        "neither": replace(of, standing=nowhere),
    }[_way(of)]


def _way(of: View) -> Literal["there", "back", "neither"]:
    """On which way the queue that seems to stand is; on neither if something else makes packets wait."""
    seen = of.spreads
    evenly = not of.at_sender and seen is not None and seen.served_evenly
    if not evenly and (of.early_s > 0 or _rose_after(of)):
        return "back"
    if of.reorders and not evenly and (seen is None or seen.payload > STEADY + seen.exact):
        # Where packets are late one by one, a long round trip alone shows no queue.
        return "neither"
    if evenly or seen is None or _serves_by_its_rate(of) or _is_shared(of):
        return "there"
    if of.return_share is not None:
        return "there"
    if seen.waits_on_return and (of.at_sender or _persists(of.standing)):
        return "back"
    calm = of.standing & ~of.recovering
    alike = of.at_sender and waits_alike(of.total_bit_s, of.rtt_s, calm) and not _is_even(of, calm)
    return "neither" if alike else "there"


def _is_even(of: View, where: Flags) -> bool:
    """Whether payload mostly comes at one rate for long, and then at another: the path's own."""
    return share_of(of.even, where, of.dt_s) >= _PERSISTS


def _on_return(of: View) -> View:
    return replace(of, standing=np.zeros(of.size, bool), returning=of.standing)


def _serves_by_its_rate(of: View) -> bool:
    """Whether packets wait the shorter the faster payload comes to a receiver, as in a queue of its own whose
    rate varies. How long ACKs wait has nothing to do with the payload's rate. It takes enough segments."""
    seen = of.spreads
    if of.at_sender or seen is None or of.return_share is not None:
        return False
    stands = of.standing & ~of.recovering & (of.total_bit_s > 0) & (of.rtt_s > 0)
    if seen.payload <= STEADY + seen.exact or seen.exact > _EXACT:
        return False
    return _follows(of, stands) <= -_TOGETHER


def _rose_after(of: View) -> bool:
    """Whether payload came to a receiver more slowly while packets waited longer than the base round trip, at
    the start, than it did later with hardly a wait: a queue of its own would have served it as fast. So BBR
    begins where its ACKs wait."""
    base_s, seen = of.base_rtt_s or 0.0, of.spreads
    if of.at_sender or seen is None or not seen.nothing_late or base_s <= 0 or of.return_share is not None:
        return False
    found = [
        (begin, end)
        for begin, end in stretches(of.standing & (of.queue_s > base_s))
        if float(of.dt_s[begin:end].sum()) >= max(_LONG_ROUND_TRIPS * base_s, _LONG_S)
    ]
    if not found or of.connections.size != 1:
        return False
    begin, end = found[0]
    later = (np.arange(of.size) >= end) & (of.queue_s < _HARDLY * base_s) & (of.total_bit_s > 0)
    if later.sum() < _LEAST_COMPARED or of.time_s[begin] > of.time_s[0] + _START * np.ptp(of.time_s):
        return False
    usual = middle(of.total_bit_s, later)
    is_steady = float((np.abs(of.total_bit_s[end:] / usual - 1) <= STEADY).mean()) >= _PERSISTS
    return is_steady and middle(of.total_bit_s[begin:end]) <= _SLOWER * usual


def _is_shared(of: View) -> bool:
    """Whether a receiver's losses look like those of a queue that others fill, too: packets wait no longer
    the faster its payload comes, and from second to second that varies by less than a half. After a loss
    fewer ACKs would wait, and payload come more slowly."""
    seen = of.spreads
    if of.at_sender or seen is None or seen.nothing_late or of.return_share is not None:
        return False
    stands = of.standing & ~of.recovering & (of.total_bit_s > 0) & (of.rtt_s > 0)
    return _follows(of, stands) < 0 and _over_seconds(of, stands) < _LESS_THAN_HALF


def _follows(of: View, where: Flags) -> float:
    """The correlation of round trips with the payload's rate, both as logarithms; 0 if there are too few."""
    if where.sum() < _LEAST_COMPARED:
        return 0.0
    rates, waits = np.log(of.total_bit_s[where]), np.log(of.rtt_s[where])
    return float(np.corrcoef(rates, waits)[0, 1]) if rates.std() > 0 and waits.std() > 0 else 0.0


def _over_seconds(of: View, where: Flags) -> float:
    """By which share of the median the payload of a second differs, from the first to the last tenth;
    infinite where there are too few."""
    own = of.connection == of.connections[0]
    time_s = of.time_s[where & own]
    if not time_s.size:
        return np.inf
    until_s = np.arange(time_s[0] + _SECOND_S, time_s[-1], _SECOND_S)
    if until_s.size < _LEAST_SECONDS:
        return np.inf
    count = summed(np.nan_to_num(of["segments_sent"]), of.time_s, of.connection, counts=True)[own]
    came = np.interp(until_s, of.time_s[own], count) - np.interp(until_s - _SECOND_S, of.time_s[own], count)
    low, half, high = np.quantile(came, (0.1, 0.5, 0.9))
    return float((high - low) / half) if half > 0 else np.inf


def _early_s(of: View) -> float:
    """By how much payload came, before the queue stood, sooner than that queue would let it if it were on its
    way. Later payload may come sooner since something held it for a while. A host that stops makes a round
    trip or two long; a queue stands for 0.3 s and more."""
    if of.at_sender or of.reorders or not _persists(of.standing) or _serves_by_its_rate(of):
        return 0.0
    stands_s = of.time_s[of.standing]
    if stands_s.size < _LEAST_STANDING or np.ptp(stands_s) < _LONG_S:
        return 0.0
    return of.sooner_s(middle(of.total_bit_s, of.standing), of.time_s <= stands_s.min())


def _return_share(of: View) -> float | None:
    """Which share of the wait is on the way back, in the median, by the time stamps that passed a capture.
    None: they do not tell."""
    stands = of.standing & ~of.recovering
    wait_s = middle(of.queue_s, stands)
    if not wait_s >= _LEAST_STAMPED_S:
        return None
    if of.evidence.seen_from == "receiver":
        return (
            1 - min(middle(of["forward_wait_s"], stands) / wait_s, 1.0)
            if of.knows("forward_wait_s")
            else None
        )
    forward_s, return_s = middle(of["forward_wait_s"], stands), middle(of["return_wait_s"], stands)
    if of.evidence.seen_from == "between" and not max(forward_s, return_s) > _MOSTLY * wait_s:
        return None  # Most of the wait is beyond this point.
    return min(return_s / wait_s, 1.0) if of.knows("return_wait_s") else None


def _persists(standing: Flags) -> bool:
    """Whether a wait stays once it has begun. A receiver's round trip holds what the sender's program waits
    for, too, which comes and goes."""
    places = np.flatnonzero(standing)
    return bool(places.size and places.size >= _PERSISTS * (places[-1] - places[0] + 1))
