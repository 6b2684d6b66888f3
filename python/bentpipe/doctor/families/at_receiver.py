"""What a receiver can tell of losses and of the sender's side. It sees neither cwnd nor what is unsent.

- **losses**: segments that arrive out of order show an episode. Overflows and random loss are told
  apart as at a sender, by the wait before them and by the rates at which they came; policers and lines
  that drop are not told from each other.
- `outage`: nothing came for a second and four round trips, and then it went on as before, once or
  twice. More often it is the sender's application that pauses.
- `sender-application`: nothing was lost, no queue stood and the window was open, so that the sender
  could have sent more. Its application, its send buffer or its own pacing is the limit; an end that
  only receives cannot tell which, hence a certainty of a third, or more where it paused.
"""

from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.episodes import Episodes, episodes
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, plural, rate, size

_LEAST_S = 1.0
_LEAST_ROUND_TRIPS = 4
_FEW = 2
_OPEN = 0.85
_REACHED = 0.7
_OFTEN = 0.3
_WINDOW_SEGMENTS = 20
_LEAST_RTO_S = 0.2
_LEAST_STALLS = 3


def at_receiver(view: View) -> list[Claim]:
    if view.at_sender or not view.knows("delivered_bytes") or not view.size:
        return []
    claims = []
    found = episodes(view)
    latest = found.latest(view)
    if found.count:
        of_overflow = (latest >= 0) & found.overflow[np.maximum(latest, 0)]
        of_random = (latest >= 0) & ~of_overflow
        if (of_random | of_overflow).any() and _reorders(view):
            return [_reordering(view, of_random | of_overflow)]
        if of_random.any():
            claims.append(_by_stalls(view, _random(view, of_random, found), found))
        if of_overflow.any():
            claims.append(_overflow(view, of_overflow, found))
    silent, lengths = _silences(view)
    if lengths and len(lengths) <= _FEW:
        claims.append(_outage(view, silent, lengths))
    calm = (latest < 0) & ~view.standing & ~_rises(view)
    with np.errstate(invalid="ignore"):
        calm &= ~(view.rate_bit_s * view.rtt_s / 8 >= _OPEN * view["rwnd_bytes"])
    if calm.any() and (view.capacity_bit_s is None or not found.count):
        claims.append(_sender_side(view, calm))
    return claims


def _reorders(view: View) -> bool:
    """Whether segments are late more often than losses explain.

    A window of W segments after random loss meets 1.5 / W losses per round trip (Mathis), each of which
    leaves a hole for a round trip: of windows of 20 or more, in less than a tenth of the time.
    """
    windows = middle(view.flight, view.total_bit_s > 0) / view.mss
    return bool(windows >= _WINDOW_SEGMENTS and _late_share(view) >= _OFTEN)


def _late_share(view: View) -> float:
    """Share of the samples in which segments were late."""
    return float((view.grown("out_of_order") > 0).mean())


def _reordering(view: View, holds: Flags) -> Claim:
    share = _late_share(view)
    return Claim(
        "reordering",
        holds,
        min(1.0, share / _OFTEN / 2),
        f"segments arrived after later ones in {percent(share)} of the samples, more than losses explain, "
        "and TCP takes some for lost",
        {"out_of_order_time_share": known(share), "in_flight_bytes": known(middle(view.flight, holds))},
        "time with a hole < 1.5 / window, if losses alone make segments late",
        "holes in less than a tenth of the time",
    )


def _by_stalls(view: View, of: Claim, found: Episodes) -> Claim:
    """The same samples as timeouts, if half as many stalls as losses last a retransmission timeout."""
    came = view.grown("delivered_bytes") + view.grown("out_of_order") > 0
    least_s = _LEAST_RTO_S + (view.base_rtt_s or 0.0)
    gaps = np.diff(view.time_s[came]) if came.any() else np.zeros(0)
    stalls = int((gaps >= least_s + 2 * float(np.median(view.dt_s))).sum())
    if stalls < _LEAST_STALLS or stalls < found.count / 2:
        return of
    return replace(
        of,
        kind="timeouts",
        because=f"{plural(stalls, 'stall')} as long as a retransmission timeout in "
        f"{plural(found.count, 'loss event')}: the windows are too small to repair losses sooner",
        evidence={**of.evidence, "stalls": stalls},
        formula="stall >= RTT + 0.2 s (Linux's smallest timeout)",
        otherwise="losses that are repaired within a round trip",
    )


def _random(view: View, holds: Flags, found: Episodes) -> Claim:
    segments = float(np.nanmax(view["delivered_bytes"])) / view.mss
    events = int((~found.overflow).sum())
    share = events / max(segments, 1.0)
    return Claim(
        "random-loss",
        holds,
        float((~found.overflow).mean()),
        f"segments were missing while nothing was full: {plural(events, 'loss event')}, in {percent(share)} "
        f"of the segments, keep {size(middle(view.flight, holds))} in flight",
        {
            "loss_events": events,
            "loss_event_share": known(share, 9),
            "in_flight_bytes": known(middle(view.flight, holds)),
            "rtt_s": known(middle(view.rtt_s, holds)),
        },
        "window = max(sqrt(1.5 / p), 1.054 (R / p)^(3/4)) segments; rate = window / RTT",
        "a queue that stands before the losses, or losses at one rate only",
    )


def _overflow(view: View, holds: Flags, found: Episodes) -> Claim:
    capacity = view.capacity_bit_s or float("nan")
    wait_s = float(found.wait_s[found.overflow].max())
    places = found.places[found.overflow]
    agrees = float((view.total_bit_s[places] >= 0.8 * capacity).mean())
    return Claim(
        "short-queue",
        holds,
        agrees,
        f"losses came at one rate, {rate(capacity)}, after waits of {duration(wait_s)} at most: a short "
        "queue overflowed, or something dropped what exceeds a rate",
        {
            "queue_bytes": known(wait_s * capacity / 8),
            "overflows": int(found.overflow.sum()),
            "rate_mbit_s": known(capacity / 1e6, 3),
        },
        "after an overflow CUBIC keeps 0.7 (BDP + queue)",
        "losses at many rates",
    )


def _silences(view: View) -> tuple[Flags, list[float]]:
    """Stretches in which nothing came, between the first payload and the last."""
    came = view.grown("delivered_bytes") + view.grown("out_of_order")
    quiet = (came <= 0) & (view.dt_s > 0)
    least_s = max(_LEAST_S, _LEAST_ROUND_TRIPS * (view.base_rtt_s or 0.0))
    silent = np.zeros(view.size, bool)
    lengths = []
    edges = np.flatnonzero(np.diff(np.concatenate(([False], quiet, [False])).astype(int)))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        length = float(view.dt_s[begin:end].sum())
        began = np.nan_to_num(view["delivered_bytes"][begin]) > 0
        if length >= least_s and began and end < view.size:
            silent[begin:end] = True
            lengths.append(length)
    return silent, lengths


def _outage(view: View, holds: Flags, lengths: list[float]) -> Claim:
    before = view.total_bit_s[: int(np.flatnonzero(holds)[0])]
    busy = bool(before.size and middle(before) > 0)
    return Claim(
        "outage",
        holds,
        0.7 if busy else 0.3,
        f"nothing came for {duration(max(lengths))}, and then it went on; a pause of the sender's "
        "application would look the same from here",
        {"outages": len(lengths), "longest_s": known(max(lengths)), "total_s": known(sum(lengths))},
        "a silence of a second and four round trips or more",
        "payload within the time, or many pauses",
    )


def _rises(view: View) -> Flags:
    """Before the rate first reached 70 % of its largest: slow start."""
    reached = int(np.argmax(view.total_bit_s >= _REACHED * view.total_bit_s.max()))
    rises: Flags = view.time_s < view.time_s[reached]
    return rises


def _sender_side(view: View, holds: Flags) -> Claim:
    with np.errstate(invalid="ignore"):
        paused = holds & (view.grown("delivered_bytes") <= 0)
    pause_share = float(view.dt_s[paused].sum() / max(view.dt_s[holds].sum(), 1e-9))
    return Claim(
        "sender-application",
        holds,
        max(1 / 3, pause_share),
        f"the sender sent no more than {rate(middle(view.total_bit_s, holds))}, though nothing was lost, no "
        "queue stood and the window was open: its application, its send buffer or its pacing; this end "
        "cannot tell which",
        {"rate_mbit_s": known(middle(view.total_bit_s, holds) / 1e6, 3), "paused_share": known(pause_share)},
        "rate x RTT < 0.85 window, RTT at its smallest, nothing out of order",
        "losses, a queue, or a full window",
    )
