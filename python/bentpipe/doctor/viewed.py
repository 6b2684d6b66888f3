"""A transfer's view from its evidence: rates, round trips, and where a queue stands."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from bentpipe.doctor.arrays import (
    Flags,
    Floats,
    Places,
    grown,
    known_at_all,
    middle,
    stretches,
    summed,
    whole_round_trips,
)
from bentpipe.doctor.claim import share_of
from bentpipe.doctor.evidence import USUAL_MSS, Evidence
from bentpipe.doctor.paced import paced
from bentpipe.doctor.path_rate import at_its_rate, capacity_of, probes
from bentpipe.doctor.saturation import standing_queue
from bentpipe.doctor.view import LEAST_WINDOW_S, UNSCALED_BYTES, View
from bentpipe.doctor.which_way import by_way

_NOISE_TIMES = 4.0
_LEAST_NOISE_S = 0.0002
_ACKED_SEGMENTS = 2
_PACED_ALIKE = 1.1
_RECEIVERS_TICK_S = 0.0011
"""A receiver's round trips are whole ticks of the time stamps' clock, which is 1 ms in Linux."""
_SILENT_S = 0.05
_SILENT_OF_BASE = 0.5
_SILENT_SEGMENTS = 8
_FEW = 0.5
_CLEARLY_LESS = 0.8
_BEGINS_S = 2.0
_AS_LONG = 0.5
_PAUSED_OF = 8
"""Segments that usually come between two samples; fewer do not tell a pause."""
_OFTEN = 0.2
_FIRST = 0.1
_FROM_ONE_TO_THE_NEXT = 2.0
_LITTLE = 0.5
_OF_JITTER = 0.6
_MOSTLY = 0.5
_DRAINS = 0.1
_LESS = 0.8
_DRAINS_OFTEN = 0.3
_MAD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""


def views(transfers: Iterable[Evidence]) -> list[View]:
    """Of all transfers that one end saw. One that began while others filled the queue never saw the path's
    shortest round trip, and takes it from them."""
    found = [view(each) for each in transfers]
    return [_with_paths_base(each, found) for each in found]


def _with_paths_base(of: View, others: Sequence[View]) -> View:
    if not of.base_rtt_s:
        return of
    bases = [_sampled_base_s(each) for each in others if _shares_its_queue(each, of)]
    shortest_s = min(bases, default=np.inf)
    return of if shortest_s >= _CLEARLY_LESS * of.base_rtt_s else view(of.evidence, shortest_s)


def _shares_its_queue(other: View, of: View) -> bool:
    """Whether the other was under way over the same path when this one began, with round trips about as long:
    equal addresses alone may hide two paths. Of a run the ends are not named, and it has one path. There
    only one that goes the other way counts."""
    its, own = other.evidence, of.evidence
    opposite = {its.direction, own.direction} == {"up", "down"}
    if other is of or its.ends != own.ends or not (own.ends or opposite):
        return False
    just_after = (other.time_s >= own.start_s) & (other.time_s <= own.start_s + _BEGINS_S)
    rtt_s = middle(other.rtt_s, just_after)
    return its.start_s < own.start_s and bool(rtt_s >= _AS_LONG * (of.base_rtt_s or np.inf))


def _sampled_base_s(of: View) -> float:
    """The shortest round trip of its samples: something nearer may have answered its handshake."""
    every = np.concatenate([of["min_rtt_s"], of.rtt_s])
    return float(np.min(every[np.isfinite(every) & (every > 0)], initial=np.inf))


def view(evidence: Evidence, paths_base_s: float | None = None) -> View:
    """`paths_base_s`: the path's shortest round trip, if another transfer saw it."""
    frame = evidence.samples.sort("connection", "time_s")
    numbers = frame.select(pl.exclude(pl.String).cast(pl.Float64).fill_null(float("nan")))
    columns = {each.name: each.to_numpy().copy() for each in numbers}
    if -1 in (evidence.sender_offered.window_scale, evidence.receiver_offered.window_scale):
        # The kernel of a receiver keeps a larger window, and cannot say so.
        columns["rwnd_bytes"] = np.minimum(columns["rwnd_bytes"], UNSCALED_BYTES)
    if _lacks_stamps(evidence):
        columns["srtt_s"] = np.full_like(columns["srtt_s"], np.nan)
    connection = frame["connection"].to_numpy()
    base = paths_base_s or _base_rtt_s(evidence, columns)
    rate, total, window_s = _rates(columns, connection, base)
    rtt_s = columns["srtt_s"]
    found = View(
        evidence=evidence,
        mss=float(evidence.mss_bytes or USUAL_MSS),
        base_rtt_s=base,
        columns=columns,
        dt_s=grown(columns["time_s"], connection),
        connection=connection,
        rate_bit_s=rate,
        total_bit_s=total,
        window_s=window_s,
        flight=columns["outstanding_bytes"]
        if known_at_all(columns["outstanding_bytes"])
        else rate * np.where(np.isfinite(rtt_s), rtt_s, base or np.nan) / 8,
        queue_s=rtt_s - base if base else np.full_like(rtt_s, np.nan),
        recovering=frame["recovery"].is_in(["recovery", "loss"]).fill_null(value=False).to_numpy(),
        disorder=(frame["recovery"] == "disorder").fill_null(value=False).to_numpy(),
        calm=(frame["recovery"] == "open").fill_null(value=False).to_numpy(),
        paths_base_s=paths_base_s,
        standing=np.zeros(frame.height, bool),
        returning=np.zeros(frame.height, bool),
        after_timeout=(frame["recovery"] == "loss").fill_null(value=False).to_numpy(),
    )
    if evidence.within_host:
        return found
    found = _acks_wait(found) or by_way(replace(found, standing=_standing(found)))
    if found.returning.any() and probes(found):
        # What it has found is what the ACKs' way lets through.
        found = replace(found, returning=found.returning | at_its_rate(found))
    capacity, source = capacity_of(found)
    if source != "queue":
        found = replace(found, standing=np.zeros(frame.height, bool))
    return replace(found, capacity_bit_s=capacity, capacity_from=source)


def _lacks_stamps(evidence: Evidence) -> bool:
    """Whether a receiver's socket estimates round trips without time stamps. Then it keeps the shortest time
    that a window's payload took to come (`tcp_rcv_rtt_measure`, net/ipv4/tcp_input.c): no round trip."""
    return evidence.seen_from == "receiver" and not evidence.of_packets and evidence.lacks_timestamps


def _base_rtt_s(evidence: Evidence, columns: dict[str, Floats]) -> float | None:
    known = [columns["min_rtt_s"], columns["srtt_s"], evidence.pings["rtt_s"].drop_nulls().to_numpy()]
    every = np.concatenate(known)
    every = every[np.isfinite(every) & (every > 0)]
    handshake_s = evidence.handshake_rtt_s
    if not every.size:
        return handshake_s
    found = float(every.min())
    # A handshake that is much shorter was answered by something nearer (answered_nearer.py).
    return min(found, handshake_s) if handshake_s and handshake_s > found / 2 else found


def _rates(
    columns: dict[str, Floats], connection: Places, base_s: float | None
) -> tuple[Floats, Floats, float]:
    """Of each sample's connection, of all, and the window over which they are taken."""
    time_s = columns["time_s"]
    arrived = columns["arrived_bytes"]
    counted = np.where(np.isfinite(arrived), arrived, columns["delivered_bytes"])
    apart = grown(time_s, connection)
    spacing = float(np.median(apart[apart > 0])) if (apart > 0).any() else 0.1
    least_s = max(LEAST_WINDOW_S, 2 * spacing)
    window_s = whole_round_trips(base_s, spacing, least_s) if base_s else least_s
    rate = np.zeros_like(time_s)
    total = np.zeros_like(time_s)
    for each in np.unique(connection):
        own = connection == each
        at, count = time_s[own], np.nan_to_num(counted[own])
        rate[own] = (count - np.interp(at - window_s, at, count, left=0.0)) * 8 / window_s
        until = np.interp(time_s, at, count, left=0.0)
        total += (until - np.interp(time_s - window_s, at, count, left=0.0)) * 8 / window_s
    return rate, total, float(window_s)


def _acks_wait(of: View) -> View | None:
    """Where ACKs come back to a sender at one rate though the payload's grows, and round trips are longer
    than at the start: a queue of ACKs may be full, and then its wait stays the same. None: not so."""
    if not of.sees_acks_return or not of.knows("acks") or not of.base_rtt_s:
        return None
    acks = summed(np.nan_to_num(of["acks"]), of.time_s, of.connection, counts=True)
    per_s = np.zeros(of.size)
    for each in of.connections:
        own = of.connection == each
        at_s, count = of.time_s[own], acks[own]
        per_s[own] = (count - np.interp(at_s - of.window_s, at_s, count)) / of.window_s
    found = by_way(replace(of, standing=_standing(of, per_s)))
    return found if found.returning.any() else None


def _standing(of: View, served: Floats | None = None) -> Flags:
    if of.base_rtt_s is None or of.size == 0:
        return of.standing
    with np.errstate(invalid="ignore"):
        starts = (of["cwnd_bytes"] < of["ssthresh_bytes"]) if of.at_sender else np.zeros(of.size, bool)
        unsent = of["notsent_bytes"]
        window_full = of.flight >= 0.9 * of["rwnd_bytes"]
        window_full |= of.grown("rwnd_limited_s") >= 0.3 * np.maximum(of.dt_s, 1e-9)
        bursts = (unsent < of.mss) | (of["app_limited"] > 0.5)
    under_way = of.flight > 0 if of.at_sender else of.total_bit_s > 0
    stands: Flags = (
        (of.total_bit_s > 0)
        & under_way
        & standing_queue(
            queue_s=of.queue_s,
            base_s=of.base_rtt_s,
            rate_bit_s=of.total_bit_s,
            flight=summed(of.flight, of.time_s, of.connection),
            noise_s=_noise_s(of),
            lowest_s=_lowest_queue_s(of),
            mss=of.mss,
            calm=~of.recovering & ~starts,
            full=window_full,
            bursts=bursts,
            even=of.even_stretches,
            served=served,
        )
    )
    if _drains_often(of, stands & bursts):
        stands &= ~bursts
    by_pacing = np.zeros(of.size, bool) if of.evidence.is_bbr else paced(of)
    if share_of(by_pacing, stands, of.dt_s) >= _MOSTLY:
        # What keeps it from filling its windows keeps it from filling the path: jitter makes packets wait.
        stands &= ~by_pacing
    return np.zeros_like(stands) if _pauses_often(of, stands) else stands


def _drains_often(of: View, stands: Flags) -> bool:
    """Whether a sender that has sent all often has less in flight than the path holds, or much less at times,
    while a queue seems to stand: its program's bursts wait for each other, and the path is idle between them.
    """
    if not of.at_sender or of.connections.size != 1 or not stands.any():
        return False
    held = of.total_bit_s * (of.base_rtt_s or 0.0) / 8
    little, less = (share_of(of.flight < part * held, stands, of.dt_s) for part in (_LITTLE, _LESS))
    return little >= _DRAINS or less >= _DRAINS_OFTEN


def _pauses_often(of: View, stands: Flags) -> bool:
    """Whether a receiver's payload often pauses while a queue seems to stand. Its round trips hold the pauses
    of the sender's program, too, and a queue would go on serving."""
    places = np.flatnonzero(stands)
    if of.at_sender or of.connections.size != 1 or not of.knows("segments_sent") or not places.size:
        return False
    inside = np.zeros(of.size, bool)
    inside[places[0] : places[-1] + 1] = True
    inside &= of.total_bit_s > 0
    came = of.grown("segments_sent")
    usual = middle(came, inside & (came > 0))
    if not usual >= _PAUSED_OF:
        return False
    paused = [
        float(of.dt_s[begin:end].sum()) for begin, end in stretches(inside & (came <= usual / _PAUSED_OF))
    ]
    # Some links deliver in bunches, several to a round trip.
    long_s = sum(each for each in paused if each >= (of.base_rtt_s or 0.0))
    return long_s >= _OFTEN * float(of.dt_s[inside].sum())


def _lowest_queue_s(of: View) -> Floats:
    """The shortest wait within the round trip of each sample; 0 where nothing was in flight meanwhile, since
    the queue was empty then. Sockets are read too seldom: of them it is the sample's own, and 0 where nothing
    came to a receiver."""
    fine = of.evidence.of_packets
    empty = of.flight == 0 if fine else _is_silent(of)
    if not of.base_rtt_s or not (fine or empty.any()):
        return of.queue_s
    waits = np.where(np.isfinite(of.queue_s), of.queue_s, np.inf) if fine else np.full(of.size, np.inf)
    if of.connections.size == 1:
        waits[empty] = 0.0
    lowest = of.queue_s.copy()
    for each in np.unique(of.connection):
        own = np.flatnonzero(of.connection == each)
        begins = np.searchsorted(of.time_s[own], of.time_s[own] - np.nan_to_num(of.rtt_s[own]))
        within = [waits[own[begin : place + 1]].min() for place, begin in enumerate(begins)]
        lowest[own] = within if fine else np.minimum(of.queue_s[own], within)
    return lowest


def _is_silent(of: View) -> Flags:
    """Where nothing came to a receiver for so long that no queue was there to send it."""
    found = np.zeros(of.size, bool)
    if of.at_sender or of.connections.size != 1 or not of.knows("segments_sent"):
        return found
    came = of.grown("segments_sent")
    per_s = float(came.sum()) / max(float(of.dt_s.sum()), 1e-9)
    least_s = max(_SILENT_S, _SILENT_OF_BASE * (of.base_rtt_s or 0.0), _SILENT_SEGMENTS / max(per_s, 1e-9))
    for begin, end in stretches(came <= 0):
        found[begin:end] = of.dt_s[begin:end].sum() >= least_s
    return found


def _first(of: View, known: Flags) -> Flags:
    """The first samples, with hardly anything in flight, in which packets wait clearly less than the base
    round trip."""
    few = of.flight <= _FIRST * np.median(of.flight[known])
    begins = of.time_s < np.min(of.time_s[known & ~few], initial=np.inf)
    found: Flags = known & few & begins & (of.queue_s <= _OF_JITTER * (of.base_rtt_s or 0.0))
    return found


def _until_the_next_s(of: View) -> float:
    """What a receiver's round trip may hold of a sender that paces each of several connections: after an
    acknowledgement has come it sends the next segment in its own time, and receivers acknowledge every second
    one. Connections that share a queue differ in their rates. With one of them QUEUED_SEGMENTS is more."""
    rates = of.rate_bit_s[of.rate_bit_s > 0]
    if of.connections.size == 1 or not rates.size:
        return 0.0
    low, usual, high = np.quantile(rates, (0.25, 0.5, 0.75))
    return float(_ACKED_SEGMENTS * of.mss * 8 / usual) if high <= _PACED_ALIKE * low else 0.0


def _noise_s(of: View) -> float:
    """The scatter of round trips while less than usual was in flight: what a standing queue has to exceed. At
    a sender no more than the base round trip: a burst that leaves the path idle never waits so long."""
    known = np.isfinite(of.queue_s) & np.isfinite(of.flight)
    if known.sum() < 8:
        return _LEAST_NOISE_S
    low = known & (of.flight <= np.median(of.flight[known]))
    steps = np.abs(np.diff(of.queue_s[low]))
    scatter = _MAD * float(np.median(steps)) if steps.size else 0.0
    found = max(_NOISE_TIMES * scatter, _LEAST_NOISE_S)
    few = known & (of.flight <= _FEW * np.median(of.flight[known]))
    if of.reorders and few.any():
        # What makes packets late makes all of them wait, and a queue makes them wait longer.
        found += middle(of.queue_s, few)
    first = _first(of, known)
    if first.any() and (wait_s := middle(of.queue_s, first)) > found:
        # With jitter packets wait from the beginning. A longer wait is a queue that stood by then.
        found = wait_s + _FROM_ONE_TO_THE_NEXT * scatter
    if not of.at_sender and not of.evidence.of_packets:
        found = max(found, _RECEIVERS_TICK_S) + _until_the_next_s(of)
    return min(found, of.base_rtt_s) if of.at_sender and of.base_rtt_s else found
