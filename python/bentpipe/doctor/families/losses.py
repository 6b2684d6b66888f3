"""Small windows after losses: random loss, overflows of a short queue, a policer, a line that drops,
reordering, or losses that end in timeouts.

A sample belongs to losses if cwnd is full or TCP repairs a loss. What dropped follows from the signs of all
losses of the transfer (drop_signs.py, drop_causes.py), and the certainty is its chance by them. If random
loss or a short queue is likeliest, single episodes may be of the other (episodes.py): both are named then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.drop_causes import CAUSES, FULL, SENDER_SIDE, drop_causes
from bentpipe.doctor.episodes import Episodes, episodes, policed
from bentpipe.doctor.paced import paced
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, plural, rate, size

_FULL = 0.9
_FILLED_OF_BDP = 0.43
"""A queue of so many BDPs or more: what CUBIC keeps after an overflow fills the path."""
_AT_RATE = 0.8
_CUBIC = 1.054
_SPLIT = 0.75
_LIKELY = 0.2
HELD_BY_NOTHING = ("random-loss", "timeouts", "reordering")
"""Causes that do not need a flight that is always the same."""
_NEAR_WINDOW = 0.85
_MOST = 0.5
_LONG_WAIT = 0.5
_NAMED = 0.05
_BY_FLIGHT = ("short-queue", "policer", "line-drops")
_LEARNT = 0.9
"""Certainty of reordering where a sender has learnt its degree: no loss teaches one."""
UNLIKE = 0.5
"""Certainty at most where the signs of losses and the waits contradict each other."""
_NO_QUEUE = 0.2
_NEARLY_ALL = 0.98
_SOME = 20
_OFTEN = 0.03
"""Share of its segments that BBR loses where something drops what exceeds a rate."""
_SEGMENTS_AT_ONCE = 3
_POLICER_OR_QUEUE = {**dict.fromkeys(CAUSES, 0.0), "policer": 0.5, "line-drops": 0.25, "short-queue": 0.25}
"""With BBR these look the same; a policer is the most frequent."""


def losses(view: View) -> list[Claim]:
    found = episodes(view)
    by_chance = drop_causes(view) if view.at_sender else {}
    if not found.count or not by_chance or _paces_anyway(view, found):
        return []
    if view.evidence.is_bbr:
        return _of_bbr(view, found, by_chance)
    likeliest = max(by_chance, key=lambda cause: by_chance[cause])
    if view.reorders and likeliest in (
        (*_BY_FLIGHT, "random-loss") if view.evidence.lacks_timestamps else _BY_FLIGHT
    ):
        # What is late varies the flight at losses, and the waits. Random loss does not teach a degree, but
        # may come beside it. Without time stamps TCP does not learn that it repeated segments in vain.
        likeliest, by_chance = "reordering", {**dict.fromkeys(by_chance, 0.0), "reordering": _LEARNT}
    # In a capture what was lost may not be what limits (by_packets.py).
    return [] if likeliest in (*SENDER_SIDE, FULL) else _by_cause(view, found, by_chance)


def _paces_anyway(view: View, found: Episodes) -> bool:
    """Whether the sender paces itself nearly whenever it repairs nothing, and has as much after a loss."""
    if view.evidence.is_bbr:
        return False
    paces, sends = paced(view), (view.total_bit_s > 0) & ~view.recovering
    after = (found.latest(view) >= 0) & ((view.total_bit_s > 0) | (view.flight > 0))
    carries = middle(view.total_bit_s, after) >= _FULL * middle(view.total_bit_s, paces)
    return bool(share_of(paces, sends, view.dt_s) >= _FULL and carries)


def _by_cause(view: View, found: Episodes, by_chance: Mapping[str, float]) -> list[Claim]:
    held = bound(view) & ~view.returning
    latest = found.latest(view)
    lossy = latest >= 0
    by_chance = {cause: by_chance[cause] for cause in CAUSES}
    if at_the_window(view, found):
        # The receive window explains a flight that is always the same.
        by_chance = among(by_chance, HELD_BY_NOTHING)
    if not np.nanmax(view["timeouts"], initial=0.0):
        by_chance = among(by_chance, [cause for cause in by_chance if cause != "timeouts"])
    kind = max(by_chance, key=lambda cause: by_chance[cause])
    chance = by_chance[kind]
    if kind in ("policer", "line-drops"):
        rate = passed_bit_s(view)
        holds = lossy & (held | _sends(view, rate))
        return [dropped(view, kind, holds, found, rate_bit_s=rate, chance=chance, chances=by_chance)]
    if kind in ("timeouts", "reordering"):
        named = _random(view, held & lossy, found)
        return [
            _by_timeouts(view, named, found, chance)
            if kind == "timeouts"
            else _reordered(view, named, chance)
        ]
    of_overflow = lossy & found.overflow[np.maximum(latest, 0)]
    of_random = lossy & ~of_overflow
    share = float(found.overflow.mean())
    if max(share, 1 - share) >= _SPLIT or min(by_chance["random-loss"], by_chance["short-queue"]) < _LIKELY:
        of_overflow, of_random = (lossy, ~lossy & False) if kind == "short-queue" else (~lossy & False, lossy)
    claims = []
    if (held & of_random).any():
        claims.append(replace(_random(view, held & of_random, found), certainty=by_chance["random-loss"]))
    if (held & of_overflow).any():
        claims.append(_short_queue(view, held & of_overflow, found, by_chance["short-queue"]))
    return claims


def _of_bbr(view: View, found: Episodes, by_chance: Mapping[str, float]) -> list[Claim]:
    """BBR does not answer to losses by its rate. Random loss limits it where its start and its repairs last
    for many round trips, and so do segments that overtake others. Else losses limit it only where something
    passes a rate and drops the rest without a queue. BBR begins with two BDP in flight, which any queue
    shows."""
    likeliest = max(by_chance, key=lambda cause: by_chance[cause])
    if likeliest == "random-loss" or (likeliest == "reordering" and view.reorders):
        holds = (found.latest(view) >= 0) & bound(view) & ~view.returning
        if not holds.any():
            return []
        of = _random_of_bbr(view, holds, found, by_chance[likeliest])
        return [of if likeliest == "random-loss" else _reordered(view, of, by_chance[likeliest])]
    base_s = view.base_rtt_s or float("nan")
    waits = view.queue_s[np.isfinite(view.queue_s)]
    lost = float(np.nanmax(view["retransmits"]))
    rate_bit_s = passed_bit_s(view)
    least_s = _NO_QUEUE * base_s
    if lost >= _OFTEN * float(np.nanmax(view["sent_bytes"], initial=0.0)) / view.mss:
        # A segment takes long at a low rate, and its ACK waits for the next one.
        least_s = max(least_s, _SEGMENTS_AT_ONCE * view.mss * 8 / rate_bit_s)
    if lost < _SOME or not waits.size or np.quantile(waits, _NEARLY_ALL) >= least_s:
        return []
    holds = (found.latest(view) >= 0) & (bound(view) | _sends(view, rate_bit_s)) & ~view.returning
    if not holds.any():
        return []
    return [
        dropped(view, "policer", holds, found, rate_bit_s=rate_bit_s, chance=0.5, chances=_POLICER_OR_QUEUE)
    ]


def _random_of_bbr(view: View, holds: Flags, found: Episodes, chance: float) -> Claim:
    of = _random(view, holds, found)
    share = view.most("retransmits") * view.mss / max(view.most("sent_bytes"), 1.0)
    repairs = share_of(view.recovering, view.flight > 0, view.dt_s)
    return replace(
        of,
        certainty=chance,
        because=f"the path lost {percent(share)} of the segments while nothing was full. BBR keeps its rate, "
        f"but its start and its repairs last long: it repaired in {percent(repairs)} of the time",
        evidence={
            **{name: each for name, each in of.evidence.items() if name != "formula_mbit_s"},
            "loss_share": known(share, 6),
            "repairing_share": known(repairs, 4),
        },
        formula="a repair takes a round trip, and one that is lost a further one or a timeout",
    )


def among(by_chance: Mapping[str, float], causes: Sequence[str]) -> dict[str, float]:
    """The chances if it is one of these causes."""
    whole = sum(by_chance[cause] for cause in causes)
    return {
        cause: (chance / whole if whole > 0 else 1 / len(causes)) if cause in causes else 0.0
        for cause, chance in by_chance.items()
    }


def at_the_window(view: View, found: Episodes) -> bool:
    """Whether the receive window was full when most losses came and no long queue stood, so that nothing else
    held the flight."""
    later = found.places[~found.started]
    if not later.size or not view.knows("rwnd_bytes"):
        return False
    window = view["rwnd_bytes"][later]
    with np.errstate(invalid="ignore"):
        waits = middle(view.queue_s[later]) > _LONG_WAIT * (view.base_rtt_s or 0.0)
        return not waits and bool((view.flight[later] >= _NEAR_WINDOW * window).mean() >= _MOST)


def _sends(view: View, rate_bit_s: float) -> Flags:
    """Where it sends at that rate, or waits for what was dropped, and has more to send."""
    with np.errstate(invalid="ignore"):
        all_sent = view["notsent_bytes"] < view.mss
        waits = (view.flight > 0) & (view.grown("arrived_bytes") <= 0)
    sends: Flags = ((view.total_bit_s >= _AT_RATE * rate_bit_s) | waits) & ~all_sent & ~view.returning
    return sends | (view.after_timeout & ~view.returning)


def passed_bit_s(view: View) -> float:
    """What passes at most for long: the path's rate as far as it is known, or the highest tenth's start."""
    if view.capacity_bit_s:
        return view.capacity_bit_s
    carried = view.total_bit_s[view.total_bit_s > 0]
    return float(np.quantile(view.total_bit_s, 0.9)) or float(middle(carried) if carried.size else 1.0)


def _by_timeouts(view: View, of: Claim, found: Episodes, chance: float) -> Claim:
    """The same samples where losses mostly end in timeouts: windows are too small to repair a loss."""
    count = float(np.nanmax(view["timeouts"], initial=0.0))
    return replace(
        of,
        kind="timeouts",
        certainty=chance,
        because=f"{plural(int(count), 'retransmission timeout')} in {plural(found.count, 'loss event')}: the "
        "windows are too small for duplicate acknowledgements, so TCP waits for its timer",
        evidence={**of.evidence, "timeouts": int(count), "rto_s": known(middle(view["rto_s"]))},
        formula="T = 1 / (R sqrt(2p/3) + RTO min(1, 3 sqrt(3p/8)) p (1 + 32 p^2)) segments/s (PFTK)",
        otherwise="losses that are repaired within a round trip",
    )


def _reordered(view: View, of: Claim, chance: float) -> Claim:
    degree = float(np.nanmax(view["reordering_segments"], initial=3.0))
    return Claim(
        "reordering",
        of.holds,
        chance,
        f"segments arrive up to {int(degree)} segments late and TCP takes some for lost: cwnd is "
        f"{size(middle(view['cwnd_bytes'], of.holds))}",
        {"reordering_segments": degree, **of.evidence},
        "the degree that the sender has learnt from late acknowledgements and DSACK; Linux begins with 3",
        "a degree of 3, that of a path that keeps the order",
    )


def bound(view: View) -> Flags:
    """Where cwnd is full in congestion avoidance, or TCP repairs a loss."""
    if not view.knows_cwnd:
        # A capture: whatever neither the window nor a pause limits.
        with np.errstate(invalid="ignore"):
            sends: Flags = (view.flight > 0) & ~(view.flight >= _FULL * view["rwnd_bytes"])
        return sends | view.recovering
    with np.errstate(invalid="ignore"):
        full = view["in_flight_bytes"] >= _FULL * view["cwnd_bytes"]
        more = view["notsent_bytes"] >= view.mss
        avoids = view["cwnd_bytes"] >= view["ssthresh_bytes"]
    held: Flags = view.recovering | ((full | more) & avoids)
    return held


def _random(view: View, holds: Flags, found: Episodes) -> Claim:
    segments = float(np.nanmax(view["sent_bytes"])) / view.mss
    events = int((~found.overflow).sum()) or found.count
    share = events / segments if segments else 0.0
    rtt_s = middle(view.rtt_s, holds)
    formula = _formula_bit_s(share, rtt_s, view)
    cwnd = middle(view["cwnd_bytes"] if view.knows_cwnd else view.flight, holds)
    kept = f"cwnd at {size(cwnd)}" if view.knows_cwnd else f"{size(cwnd)} in flight"
    return Claim(
        "random-loss",
        holds,
        float((~found.overflow).mean()),
        f"the path lost packets while nothing was full: {plural(events, 'loss event')}, in {percent(share)} "
        f"of the segments, keep {kept}",
        {
            "loss_events": events,
            "loss_event_share": known(share, 9),
            "retransmitted_segments": known(float(np.nanmax(view["retransmits"]))),
            "cwnd_bytes": known(cwnd),
            "rtt_s": known(rtt_s),
            "formula_mbit_s": known(formula / 1e6, 3),
            "rate_mbit_s": known(middle(view.total_bit_s, holds) / 1e6, 3),
        },
        "window = max(sqrt(1.5 / p), 1.054 (R / p)^(3/4)) segments; rate = window / RTT",
        "a queue that stands before the losses, or losses at one rate only",
    )


def _formula_bit_s(events_share: float, rtt_s: float, view: View) -> float:
    """What Reno and CUBIC reach at that share of loss events (RFC 9438, 5.2; Mathis 1997)."""
    if events_share <= 0 or not rtt_s > 0:
        return float("nan")
    window = max((1.5 / events_share) ** 0.5, _CUBIC * (rtt_s / events_share) ** 0.75)
    return float(window * view.mss * 8 / rtt_s)


def dropped(
    view: View,
    kind: str,
    holds: Flags,
    found: Episodes,
    *,
    rate_bit_s: float,
    chance: float,
    chances: Mapping[str, float],
) -> Claim:
    """A policer, or a line of fixed length: something drops without a queue."""
    flight = middle(view.flight[found.places])
    bucket = None
    if kind == "policer":
        rate_bit_s, exceeded = policed(view)
        bucket = max(exceeded, flight)  # Samples hide bursts; a window is one.
    evidence = {
        "rate_mbit_s": known(rate_bit_s / 1e6, 3),
        "burst_bytes": None if bucket is None else known(bucket),
        "bdp_bytes": known(rate_bit_s * (view.base_rtt_s or float("nan")) / 8),
        "in_flight_bytes": known(flight),
        "loss_events": found.count,
        "lost_segments": known(float(found.lost_segments.sum())) if view.at_sender else None,
        "chances": {cause: round(each, 3) for cause, each in chances.items() if each >= _NAMED},
    }
    others = [cause for cause, each in chances.items() if cause != kind and each >= _NAMED]
    maybe = "".join(f"; {cause} has a chance of {percent(chances[cause])}" for cause in others)
    queue = "without a queue"
    if view.waits_long(holds):
        chance = min(chance, UNLIKE)
        queue = f"though packets wait {duration(middle(view.queue_s, holds))}, which speaks for a queue"
    if kind == "policer":
        return Claim(
            kind,
            holds,
            chance,
            f"something drops what exceeds {rate(rate_bit_s)} beyond a burst, {queue}{maybe}",
            evidence,
            "of F in flight a policer loses F - rate x RTT, more than the last round trip added",
            "an RTT that rises before losses, or losses at many rates",
        )
    return Claim(
        kind,
        holds,
        chance,
        f"something holds no more than {size(flight)} on their way and drops the rest, {queue}{maybe}",
        evidence,
        "a line of N packets loses what exceeds N: as much as the last round trip added",
        "an RTT that rises before losses, or losses at many flights",
    )


def _short_queue(view: View, holds: Flags, found: Episodes, agrees: float) -> Claim:
    capacity = passed_bit_s(view)
    longest = float(found.wait_s.max())
    queue_bytes = longest * capacity / 8
    bdp = capacity * (view.base_rtt_s or float("nan")) / 8
    count = max(int(found.overflow.sum()), 1)
    after = (
        "and cwnd was below the BDP afterwards"
        if queue_bytes < _FILLED_OF_BDP * bdp
        else "and cwnd was below the BDP, though a queue so long leaves it above after one overflow"
    )
    return Claim(
        "short-queue",
        holds,
        agrees,
        f"a queue of some {size(queue_bytes)}, {percent(queue_bytes / bdp)} of the BDP, overflowed "
        f"{plural(count, 'time')} at up to {rate(capacity)}, {after}",
        {
            "queue_bytes": known(queue_bytes),
            "bdp_bytes": known(bdp),
            "overflows": count,
            "longest_wait_s": known(longest),
            "cwnd_bytes": known(middle(view["cwnd_bytes"], holds)),
        },
        "after an overflow CUBIC keeps 0.7 (BDP + queue): below the BDP if queue < 0.43 BDP",
        f"losses without a queue before them, or waits of {duration(0.43 * (view.base_rtt_s or 0))} or more",
    )
