"""Small windows after losses: random loss, overflows of a short queue, a policer, or a line that drops.

Episodes of losses are overflows or random (episodes.py). A sample belongs to losses if cwnd is full or
TCP repairs a loss, and to the kind of the latest episode.

Overflows with a queue are `short-queue`: packets wait at the place that is full. Without one, losses at
one rate are a `policer`, or `line-drops`: a device or a delay line that holds N packets. Slow start
spreads its packets over the round trip, so that 2 N are in flight when N are in one way; later they go
in bunches, and N in flight fill the line. The loss that ends slow start therefore comes at about twice
the flight of later ones. Of a policer both are rate x RTT, and the first has the bucket more: of a
bucket as large as the BDP the two look alike from an end.

The second tests: of random loss, the share of random episodes; of overflows, the share of them at 80 %
or more of the path's rate.
"""

from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.episodes import Episodes, bucket_bytes, episodes, shows_queue, start_flights
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, plural, rate, size

_FULL = 0.9
_AT_RATE = 0.8
_LINE_FLIGHTS = (1.6, 2.6)
_CUBIC = 1.054
_REORDERS = 10
_LEAST_EPISODES = 3
_MOSTLY_TIMEOUTS = 0.5


def losses(view: View) -> list[Claim]:
    if not view.at_sender:
        return []
    found = episodes(view)
    if not found.count:
        return []
    bound = _bound(view)
    latest = found.latest(view)
    of_overflow = (latest >= 0) & found.overflow[np.maximum(latest, 0)]
    of_random = (latest >= 0) & ~of_overflow
    claims = []
    if (bound & of_random).any():
        random = _random(view, bound & of_random, found)
        claims.append(_by_timeouts(view, random, found) or random)
    if found.overflow.any() and (bound & of_overflow).any():
        claims.append(_overflow(view, bound, of_overflow, found))
    return [_reordered(view, each) for each in claims] if _reorders(view) else claims


def _by_timeouts(view: View, of: Claim, found: Episodes) -> Claim | None:
    """The same samples where losses mostly end in timeouts: windows are too small to repair a loss."""
    count = float(np.nanmax(view["timeouts"], initial=0.0))
    if found.count < _LEAST_EPISODES or count < _MOSTLY_TIMEOUTS * found.count:
        return None
    return replace(
        of,
        kind="timeouts",
        certainty=min(1.0, count / found.count),
        because=f"{plural(int(count), 'retransmission timeout')} in {plural(found.count, 'loss event')}: the "
        "windows are too small for duplicate acknowledgements, so TCP waits for its timer",
        evidence={**of.evidence, "timeouts": int(count), "rto_s": known(middle(view["rto_s"]))},
        formula="T = 1 / (R sqrt(2p/3) + RTO min(1, 3 sqrt(3p/8)) p (1 + 32 p^2)) segments/s (PFTK)",
        otherwise="losses that are repaired within a round trip",
    )


def _reorders(view: View) -> bool:
    """Whether the sender's TCP has seen segments arrive so much later than others."""
    return bool(np.nanmax(view["reordering_segments"], initial=0.0) >= _REORDERS)


def _reordered(view: View, of: Claim) -> Claim:
    degree = float(np.nanmax(view["reordering_segments"]))
    return Claim(
        "reordering",
        of.holds,
        of.certainty,
        f"segments arrive up to {int(degree)} segments late and TCP takes some for lost: cwnd is "
        f"{size(middle(view['cwnd_bytes'], of.holds))}",
        {"reordering_segments": degree, **of.evidence},
        "the degree that the sender has learnt from late acknowledgements and DSACK; Linux begins with 3",
        "a degree of 3, that of a path that keeps the order",
    )


def _bound(view: View) -> Flags:
    if not view.knows_cwnd:
        # A capture: whatever neither the window nor a pause limits.
        with np.errstate(invalid="ignore"):
            sends: Flags = (view.flight > 0) & ~(view.flight >= _FULL * view["rwnd_bytes"])
        return sends | view.recovering
    with np.errstate(invalid="ignore"):
        full = view["in_flight_bytes"] >= _FULL * view["cwnd_bytes"]
        more = view["notsent_bytes"] >= view.mss
        avoids = view["cwnd_bytes"] >= view["ssthresh_bytes"]
    bound: Flags = view.recovering | ((full | more) & avoids)
    return bound


def _random(view: View, holds: Flags, found: Episodes) -> Claim:
    segments = float(np.nanmax(view["sent_bytes"])) / view.mss
    events = int((~found.overflow).sum())
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


def _overflow(view: View, bound: Flags, of_overflow: Flags, found: Episodes) -> Claim:
    capacity = view.capacity_bit_s or float("nan")
    places = found.places[found.overflow]
    agrees = float((view.total_bit_s[places] >= _AT_RATE * capacity).mean())
    if shows_queue(view, found):
        return _short_queue(view, bound & of_overflow, found, agrees)
    at_rate = view.total_bit_s >= _AT_RATE * capacity
    holds = of_overflow & (bound | at_rate)
    bdp = capacity * (view.base_rtt_s or float("nan")) / 8
    bucket = bucket_bytes(view, capacity)
    evidence = {
        "rate_mbit_s": known(capacity / 1e6, 3),
        "burst_bytes": known(bucket),
        "bdp_bytes": known(bdp),
        "overflows": int(found.overflow.sum()),
        "lost_segments": known(float(found.lost_segments.sum())),
    }
    ratio = start_flights(view, found)
    if ratio is None or not _LINE_FLIGHTS[0] <= ratio <= _LINE_FLIGHTS[1]:
        return Claim(
            "policer",
            holds,
            agrees,
            f"something drops what exceeds {rate(capacity)} beyond a burst of {size(bucket)}, without a "
            "queue: the RTT did not rise before the losses",
            evidence,
            "bucket = max over s < t of arrived(t) - arrived(s) - rate (t - s)",
            "an RTT that rises before losses, or losses at many rates",
        )
    return Claim(
        "line-drops",
        holds,
        agrees / 2,
        f"something holds no more than {size(middle(view.flight[places]))} on their way and drops the "
        "rest without a queue; a policer with a burst of a BDP would look the same",
        {**evidence, "in_flight_bytes": known(middle(view.flight[places]))},
        "losses at one flight and one rate without a wait, the first at twice that flight",
        "an RTT that rises before losses, or losses at many flights",
    )


def _short_queue(view: View, holds: Flags, found: Episodes, agrees: float) -> Claim:
    capacity = view.capacity_bit_s or float("nan")
    longest = float(found.wait_s[found.overflow].max())
    queue_bytes = longest * capacity / 8
    bdp = capacity * (view.base_rtt_s or float("nan")) / 8
    count = int(found.overflow.sum())
    return Claim(
        "short-queue",
        holds,
        agrees,
        f"a queue of some {size(queue_bytes)}, {percent(queue_bytes / bdp)} of the BDP, overflowed "
        f"{plural(count, 'time')} at up to {rate(capacity)}, and cwnd was below the BDP afterwards",
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
