"""Transfers the other way that fill the way on which this one's acknowledgements come back.

Such a transfer shows a queue that stands on its own way. This one's acknowledgements wait in it: its round
trips are longer by as much, whatever it sends. So its waits are explained if they are half as long as the
other's or more, and no more than a quarter longer. If its own payload comes at a constant rate, its own way
is full, too, and limits it.

Both wait for the same queues, so where the other's rate is not constant the waits alone do not tell on whose
way they are. They are on the other's if this one's payload often pauses meanwhile, as it does while its
acknowledgements wait, and the other's comes at a rate that varies by half as much or less.

If the other is not seen, a wait that does not follow from what a sender sends still tells of it
(`waits_for_others`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, middle
from bentpipe.doctor.claim import share_of
from bentpipe.doctor.evidence import Evidence
from bentpipe.doctor.path_rate import at_its_rate
from bentpipe.doctor.return_way import STEADY
from bentpipe.doctor.view import View

_LEAST_TOGETHER = 0.5
_MOSTLY = 0.5
_OF_BASE = 0.25
_LEAST_WAIT_S = 0.005
_LEAST_UNSEEN_WAIT_S = 0.02
_EXPLAINED = 1.25
_AT_LEAST = 0.5
_HALF = 0.5
_OFTEN = 0.1
_BEGINS = 0.25
_OTHER_WAY = {"up": "down", "down": "up"}


@dataclass(frozen=True)
class _Seen:
    """What a transfer shows of its own way."""

    view: View
    fills: bool
    """A queue stands there for half of the time or more."""
    waits: bool
    """Its packets wait for the base round trip or longer, for half of the time or more."""
    pauses: bool
    """Nothing of its payload arrives in a tenth of the time or more."""
    varies: float
    """By which share of the median its rate differs, from the first to the last tenth."""


def with_acks_behind(views: Sequence[View]) -> list[View]:
    """The views of all transfers that one end saw. Those whose acknowledgements wait behind the payload of
    another have no queue of their own."""
    if len(views) < 2:
        return list(views)
    seen = [_seen(each) for each in views]
    return [_behind(of, seen) for of in seen]


def _seen(view: View) -> _Seen:
    if not view.size:
        return _Seen(view, fills=False, waits=False, pauses=False, varies=float(np.finfo(float).max))
    least_s = max(view.base_rtt_s or 0.0, _LEAST_UNSEEN_WAIT_S)
    waits = float((view.queue_s >= least_s).mean()) >= _MOSTLY
    return _Seen(view, float(_fills(view).mean()) >= _MOSTLY, waits, _pauses(view), _varies(view))


def _behind(own: _Seen, seen: Sequence[_Seen]) -> View:
    of = own.view
    if not of.size or not of.base_rtt_s or _is_full_itself(of):
        return of
    others = [each.view for each in seen if _fills_the_way_back(each, own)]
    if not others:
        return of
    other = max(others, key=lambda each: middle(each.queue_s))
    wait_s = _waits(other, of.time_s)
    waits: Flags = wait_s >= max(_LEAST_WAIT_S, _OF_BASE * of.base_rtt_s)
    if waits.mean() < _MOSTLY or not _explains(wait_s, of, waits & np.isfinite(of.queue_s)):
        return of
    return replace(
        of,
        standing=of.standing & ~waits,
        returning=of.returning | waits,
        capacity_bit_s=None,
        capacity_from="",
        filled_return=other.evidence.name,
    )


def _explains(wait_s: Floats, of: View, known: Flags) -> bool:
    """Whether its packets wait about as long as the other's. A run has one path only."""
    if not known.any():
        return not of.evidence.ends
    ours, others = middle(of.queue_s, known), middle(wait_s, known)
    return _AT_LEAST * others <= ours <= _EXPLAINED * others + _LEAST_WAIT_S


def _fills_the_way_back(other: _Seen, of: _Seen) -> bool:
    steadier = other.waits and of.pauses and other.varies <= _HALF * of.varies
    if not other.fills and not steadier:
        return False
    its, own = other.view.evidence, of.view.evidence
    together_s = min(own.end_s, its.end_s) - max(own.start_s, its.start_s)
    return (
        _goes_the_other_way(its, own)
        and its.of_packets == own.of_packets
        and together_s >= _LEAST_TOGETHER * own.duration_s
    )


def _fills(other: View) -> Flags:
    """Where its payload waits in a queue. BBR fills the path where its probes find no more."""
    if other.capacity_from != "probing":
        return other.standing
    least_s = max(_LEAST_WAIT_S, _OF_BASE * (other.base_rtt_s or 0.0))
    found: Flags = at_its_rate(other) & (other.queue_s >= least_s)
    return found


def _varies(of: View) -> float:
    """By which share of the median its rate differs, from the first to the last tenth, once it has begun."""
    later = of.time_s >= of.time_s.min() + _BEGINS * np.ptp(of.time_s)
    low, half, high = np.quantile(of.total_bit_s[later], (0.1, 0.5, 0.9))
    return float((high - low) / half) if half > 0 else float(np.finfo(float).max)


def _pauses(of: View) -> bool:
    own = of.connection == of.connections[0]
    came = of.grown("arrived_bytes") + of.grown("delivered_bytes") + of.grown("out_of_order")
    return share_of(came <= 0, own & (of.total_bit_s > 0), of.dt_s) >= _OFTEN


def _goes_the_other_way(its: Evidence, own: Evidence) -> bool:
    """At a host, one is sent and one received, whoever opened the connections. A run is seen from both hosts,
    and a capture between them by who opened them."""
    if own.ends and "between" not in (its.seen_from, own.seen_from):
        return its.seen_from != own.seen_from
    return its.direction == _OTHER_WAY.get(own.direction or "") and its.ends == own.ends


def _is_full_itself(of: View) -> bool:
    """Whether its own payload waits: it comes at a constant rate while a queue stands."""
    spread = of.spreads
    return bool(of.standing.any()) and spread is not None and spread.payload <= STEADY + spread.exact


def _waits(other: View, time_s: Floats) -> Floats:
    """How long packets waited on its way at these times; 0 where it is not known to be under way."""
    own = (other.connection == other.connections[0]) & np.isfinite(other.queue_s)
    if not own.any():
        return np.zeros_like(time_s)
    found: Floats = np.interp(time_s, other.time_s[own], other.queue_s[own], left=0.0, right=0.0)
    return found


def waits_for_others(view: View) -> Flags:
    """Where packets of a sender that loses none wait longer than the base round trip in a queue that does not
    follow from what it sends: another's, on the way there or back."""
    # BBR fills the path itself, and goes on doing so for ten round trips where its rate falls.
    probes = view.capacity_from == "probing"
    if not view.knows_cwnd or not view.base_rtt_s or view.reorders or view.returning.any() or probes:
        return np.zeros(view.size, bool)
    calm = (np.nan_to_num(view["retransmits"]) == 0) & (view.flight > 0) & ~view.standing
    found: Flags = calm & (view.queue_s > max(view.base_rtt_s, _LEAST_UNSEEN_WAIT_S))
    return found
