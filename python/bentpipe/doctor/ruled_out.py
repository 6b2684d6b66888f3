"""Claims that another claim rules out, in the samples in which both hold."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.carried import carries_what_it_can
from bentpipe.doctor.claim import Claim, share_of
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.view import View

DROP = {"policer", "line-drops"}
_BURSTS_MEET = {"capacity", "short-queue", "random-loss", *DROP}
_BEFORE_REPAIRS = {"mtu", "outage"}
_PAUSES = {"outage", "timeouts", "reordering", "sender-application"}
_BY_LOSSES = {"random-loss", "short-queue", "timeouts", "reordering", *DROP}
_OF_A_PATH = {"capacity", "bufferbloat", "ack-path", "outage", "mtu", *(_BY_LOSSES - {"timeouts"})}
_AROUND, _SAMPLES = 2, 2
"""Round trips and samples around an outage in which its losses are seen."""
_SURE = 0.9
_RATHER_SURE = 0.75
_LEAST_WAIT_S = 0.01
_LEAST_WAIT = 0.25
_DIFFERS = 1.25
_MOST = 0.5
_HALF_OF_BASE = 0.5
_AFTER_LOSSES = {"timeouts", *DROP}
_FEW_LOSSES = 5
_ALWAYS = 0.9


def without_ruled_out(seen: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims that are left."""
    if seen.evidence.within_host:
        claims = [each for each in claims if each.kind not in _OF_A_PATH]
    claims = _without_black_holes(claims)
    left = _without_explained(seen, _without_starved(seen, _without_repairs(claims)))
    return _without_queued(seen, _without_paced(seen, _within_outages(seen, left)))


def _without_black_holes(claims: Sequence[Claim]) -> list[Claim]:
    """The claims without the part of an outage that is a black hole for large packets."""
    holes = [each.holds for each in claims if each.kind == "mtu"]
    if not holes:
        return list(claims)
    hole = np.logical_or.reduce(holes)
    return [
        replace(each, holds=each.holds & ~hole)
        if each.kind == "outage" and _mostly(each.holds, hole)
        else each
        for each in claims
    ]


def _mostly(holds: Flags, of: Flags) -> bool:
    return bool((holds & of).sum() >= _MOST * max(int(holds.sum()), 1))


def _within_outages(seen: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims without those by losses, if all losses belong to outages or to a black hole: what these
    leave of a window, and how long it takes to grow, belongs to them, too."""
    every = [each for each in claims if each.kind in _BEFORE_REPAIRS and each.holds.any()]
    found = episodes(seen)
    if not every or not found.count:
        return list(claims)
    holds = np.logical_or.reduce([each.holds for each in every])
    margin_s = _AROUND * (seen.base_rtt_s or 0.0) + _SAMPLES * middle(seen.dt_s, seen.dt_s > 0)
    near = np.zeros(seen.size, bool)
    for begin, end in stretches(holds):
        near |= (seen.time_s >= seen.time_s[begin] - margin_s) & (
            seen.time_s <= seen.time_s[end - 1] + margin_s
        )
    if not near[found.places].all():
        return list(claims)
    later = seen.time_s > seen.time_s[holds].min()
    of_losses = np.zeros(seen.size, bool)
    left = []
    for each in claims:
        if each.kind in _BY_LOSSES:
            of_losses |= each.holds & later
        else:
            left.append(each)
    return [replace(each, holds=each.holds | of_losses) if each is every[0] else each for each in left]


def _without_starved(seen: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims without the samples in which a send buffer leaves nothing to send: a burst that meets a
    queue or a loss would have come sooner from a larger buffer. But where packets mostly wait longer than the
    base round trip, more than a BDP waits, so the path is full and a larger buffer would only wait, too. The
    path is also full where they wait half as long, in a queue that stands nearly all the time: bursts that
    leave it idle wait less on average."""
    starved = [each.holds for each in claims if each.kind == "send-buffer"]
    if not starved:
        return list(claims)
    stands = share_of(seen.standing, starved[0], seen.dt_s) >= _SURE
    least_s = (_HALF_OF_BASE if stands else 1.0) * (seen.base_rtt_s or np.inf)
    if middle(seen.queue_s, starved[0]) > least_s:
        return [
            replace(each, holds=each.holds & ~(seen.standing | seen.returning))
            if each.kind == "send-buffer"
            else each
            for each in claims
        ]
    return [
        replace(each, holds=each.holds & ~starved[0]) if each.kind in _BURSTS_MEET else each
        for each in claims
    ]


def _without_repairs(claims: Sequence[Claim]) -> list[Claim]:
    """The claims without the samples in which repairs last long for want of SACK: what dropped is over, and
    windows and buffers are full of what waits for a hole."""
    repairs = [each.holds for each in claims if each.evidence.get("option") == "sack"]
    if not repairs:
        return list(claims)
    return [
        each
        if each.evidence.get("option") == "sack" or each.kind in _BEFORE_REPAIRS
        else replace(each, holds=each.holds & ~repairs[0])
        for each in claims
    ]


def _without_explained(seen: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims without the pauses and the bursts that come from a way back which another transfer fills."""
    if seen.filled_return is None:
        return list(claims)
    return [
        replace(each, holds=each.holds & ~seen.returning) if each.kind in _PAUSES else each for each in claims
    ]


def _without_queued(seen: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims without those that something without a queue drops, where packets wait in one at a constant
    rate. It takes a long wait and flights so different that without a queue they would give other rates. One
    of both is enough, or that nearly all the time is such, unless their signs say so for sure."""
    whole_s = max(float(seen.dt_s.sum()), 1e-9)
    full = [
        float(seen.dt_s[each.holds].sum()) / whole_s
        for each in claims
        if each.kind == "capacity"
        and each.certainty >= _RATHER_SURE
        and share_of(seen.standing, each.holds, seen.dt_s) >= _SURE
    ]
    if not full or full[0] < _MOST:
        return list(claims)
    waits_s = middle(seen.queue_s, seen.standing)
    low, high = np.quantile(seen.flight[seen.standing], (0.1, 0.9))
    waits_long = waits_s >= max(_LEAST_WAIT_S, _LEAST_WAIT * (seen.base_rtt_s or 0.0))
    differs = high >= _DIFFERS * low
    queued = waits_long or differs or (full[0] >= _SURE and carries_what_it_can(seen, seen.capacity_bit_s))
    surely = waits_long and differs
    return [
        each
        for each in claims
        if each.kind not in DROP or not (surely or (queued and each.certainty < _SURE))
    ]


def _without_paced(seen: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims without those that a sender rules out which, once it has begun, always paces itself at one
    rate: a few losses, since the window has room, and the path that BBR's probes find."""
    started = np.ones(seen.size, bool)
    for each in claims:
        if each.kind == "slow-start":
            started &= ~each.holds
    whole_s = float(seen.dt_s[started].sum())
    paced = any(
        each.kind == "pacing"
        and each.certainty >= _SURE
        and float(seen.dt_s[each.holds].sum()) >= _ALWAYS * whole_s
        for each in claims
    )
    if not paced:
        return list(claims)
    few = _AFTER_LOSSES if seen.most("retransmits") < _FEW_LOSSES else set()
    probed = {"capacity"} if seen.capacity_from == "probing" else set()
    return [each for each in claims if each.kind not in few | probed]
