"""Small windows after losses: random loss, or overflows of a short queue.

An episode is a loss and what is lost within a round trip of it. It is an **overflow** if a queue stood
just before it, at 60 % or more of the longest that was seen; or, on a path whose queue is too short to
be seen, if losses always came at one rate. Any other is **random**: nothing on the path was full.

A sample belongs to losses if cwnd is full or TCP repairs a loss, and to the kind of the latest episode.

The second tests: of random loss, the share of episodes without a queue before them; of a short queue,
the share of overflows at 90 % or more of the path's rate.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.view import View, before_losses
from bentpipe.words.wording import duration, percent, plural, rate, size

_FULL = 0.9
_NEAR_ITS_LONGEST = 0.4
_AT_THE_RATE = 0.97
_CUBIC = 1.054


def losses(view: View) -> list[Claim]:
    if not view.at_sender or not view.knows("cwnd_bytes"):
        return []
    episodes = before_losses(view)
    if not episodes.size:
        return []
    overflow = np.array([_overflows(view, int(place)) for place in episodes])
    bound = _bound(view)
    latest = np.searchsorted(episodes, np.arange(view.size), side="right") - 1
    same = (latest >= 0) & (view.connection[episodes[np.maximum(latest, 0)]] == view.connection)
    of_overflow = overflow[np.maximum(latest, 0)]
    claims = []
    if not overflow.all():
        random = bound & same & ~of_overflow
        if random.any():
            claims.append(_random(view, random, overflow))
    if overflow.any():
        short = bound & same & of_overflow
        if short.any():
            claims.append(_short_queue(view, short, episodes[overflow]))
    return claims


def _bound(view: View) -> Flags:
    with np.errstate(invalid="ignore"):
        full = view["in_flight_bytes"] >= _FULL * view["cwnd_bytes"]
        more = view["notsent_bytes"] >= view.mss
        avoids = view["cwnd_bytes"] >= view["ssthresh_bytes"]
    return view.recovering | ((full | more) & avoids)


def _overflows(view: View, place: int) -> bool:
    begin_s = view.time_s[place] - 2 * (view.base_rtt_s or 0.0)
    near = slice(max(place - 20, 0), place + 2)
    own = (view.connection[near] == view.connection[place]) & (view.time_s[near] >= begin_s)
    own[max(place - 20, 0) - place - 2 :] |= False
    index = np.arange(near.start, min(near.stop, view.size))[own]
    if not index.size:
        return False
    if view.standing.any():
        longest = float(np.nanpercentile(view.queue_s[view.standing], 95))
        return bool(np.nanmax(view.queue_s[index]) >= _NEAR_ITS_LONGEST * longest) and bool(
            view.standing[index].any()
        )
    if view.capacity_bit_s is None:
        return False
    return bool(np.nanmax(view.total_bit_s[index]) >= _AT_THE_RATE * view.capacity_bit_s)


def _random(view: View, holds: Flags, overflow: Flags) -> Claim:
    segments = float(np.nanmax(view["sent_bytes"])) / view.mss
    events = int((~overflow).sum())
    share = events / segments if segments else 0.0
    rtt_s = middle(view.rtt_s, holds)
    formula = _formula_bit_s(share, rtt_s, view)
    return Claim(
        "random-loss",
        holds,
        float((~overflow).mean()),
        f"the path lost packets while nothing was full: {plural(events, 'loss event')} in {percent(share)} "
        f"of the segments keep cwnd at {size(middle(view['cwnd_bytes'], holds))}",
        {
            "loss_events": events,
            "loss_event_share": known(share, 9),
            "retransmitted_segments": known(float(np.nanmax(view["retransmits"]))),
            "cwnd_bytes": known(middle(view["cwnd_bytes"], holds)),
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


def _short_queue(view: View, holds: Flags, episodes: np.ndarray) -> Claim:
    longest = float(np.nanmax(view.queue_s[episodes])) if episodes.size else float("nan")
    capacity = view.capacity_bit_s or float("nan")
    queue_bytes = longest * capacity / 8
    bdp = capacity * (view.base_rtt_s or float("nan")) / 8
    at_rate = float((view.total_bit_s[episodes] >= 0.9 * capacity).mean()) if episodes.size else 0.0
    return Claim(
        "short-queue",
        holds,
        at_rate,
        f"a queue of some {size(queue_bytes)}, {percent(queue_bytes / bdp)} of the BDP, overflowed "
        f"{plural(len(episodes), 'time')} at {rate(capacity)}, and cwnd was below the BDP afterwards",
        {
            "queue_bytes": known(queue_bytes),
            "bdp_bytes": known(bdp),
            "overflows": len(episodes),
            "longest_wait_s": known(longest),
            "cwnd_bytes": known(middle(view["cwnd_bytes"], holds)),
        },
        "after an overflow CUBIC keeps 0.7 (BDP + queue): below the BDP if queue < 0.43 BDP",
        f"losses without a queue before them, or waits of {duration(0.43 * (view.base_rtt_s or 0))} or more",
    )
