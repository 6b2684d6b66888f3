"""What a receiver can tell of losses and of the sender's side. It sees neither cwnd nor what is unsent.

- **losses**: segments that arrive out of order show an episode. What dropped follows from the signs of all
  of them (drop_signs.py), as at a sender.
- `capacity`: the arrivals' envelope (envelope_signs.py) shows a rate that bounds them in any time, also where
  the receiver's estimate of the round trip shows no queue: BBR keeps one that is short. Or payload comes at
  one rate for long and then at another.
- `outage` and `timeouts`, where nothing came (silences_from_afar.py).
- where nothing was lost, no queue stood and the window was open, the sender could have sent more: its
  application, its send buffer or its pacing (sender_from_afar.py).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, middle
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.drop_causes import CAUSES, FULL, SENDER_SIDE, drop_causes
from bentpipe.doctor.episodes import Episodes, episodes
from bentpipe.doctor.families.losses import (
    HELD_BY_NOTHING,
    among,
    at_the_window,
    dropped,
    passed_bit_s,
)
from bentpipe.doctor.families.receive_window import filled_from_afar
from bentpipe.doctor.families.requests import waits_for_requests
from bentpipe.doctor.families.sender_from_afar import sender_side
from bentpipe.doctor.families.silences_from_afar import mostly_waits, stalled
from bentpipe.doctor.return_way import STEADY, spreads
from bentpipe.doctor.start_phase import rising
from bentpipe.doctor.view import ANOTHER_RATE, View
from bentpipe.words.wording import duration, percent, plural, rate, size

_SOME = 5
"""Losses, from which on they limit although the window is full at each of them."""
_LIKELY = 0.5
_HARDLY_EVER = 0.01
_SURELY_ACKS = 0.8
_LEAST_RTO_S = 0.2
_FILLS = 0.95
_LOW, _NEARLY = 0.25, 0.9
_MOSTLY = 0.5
_OFTEN_EVEN = 0.4
"""At clearly different rates: what is between two of them counts as uneven."""
_CLEARLY_ANOTHER = 1.25
_MOSTLY_EVEN = 0.6
_MOSTLY_ALIKE = 0.75
_SEVERAL_RATES = 0.8
"""Certainty: a program could send so, too."""


def at_receiver(view: View) -> list[Claim]:
    if view.at_sender or not view.knows("delivered_bytes") or not view.size:
        return []
    claims = []
    found = episodes(view)
    latest = found.latest(view)
    lossy = (latest >= 0) & ~view.returning
    by_chance = drop_causes(view)
    with np.errstate(invalid="ignore"):
        window_full = filled_from_afar(view)
    if by_chance and found.count >= _SOME and at_the_window(view, found):
        by_chance = among(by_chance, HELD_BY_NOTHING)
    elif found.count < _SOME:
        # What drops at a flight would drop as soon as the window is full again.
        lossy &= ~window_full
    waiting, asked = waits_for_requests(view)
    silent, explained = stalled(view, by_chance, found.count, waiting)
    claims += silent
    lossy |= explained
    for each in silent:
        lossy &= ~each.holds
    if waiting.mean() < _MOSTLY:
        lossy &= ~waiting
    calm = (latest < 0) & ~view.standing & ~view.returning & ~rising(view) & ~window_full & ~waiting
    if by_chance:
        likeliest, left = _by_signs(view, calm, lossy, found, by_chance, asked=bool(asked))
        claims += likeliest
        calm = left
    if calm.any() and not asked:
        claims.append(sender_side(view, calm, by_chance))
    return claims


def _by_signs(
    view: View, calm: Flags, lossy: Flags, found: Episodes, by_chance: Mapping[str, float], *, asked: bool
) -> tuple[list[Claim], Flags]:
    """What all signs say, and the samples that are left for the sender's side. `asked`: the sender waited for
    requests."""
    nowhere = np.zeros(view.size, bool)
    if by_chance.get("ack-path", 0.0) < _SURELY_ACKS:
        # A full path whose rate changes looks much the same, and is more frequent.
        by_chance = among(by_chance, [cause for cause in by_chance if cause != "ack-path"])
    kind = max(by_chance, key=lambda cause: by_chance[cause])
    every = (calm | lossy) & ~rising(view)
    if not asked and (certainty := _full_rather(view, kind, by_chance.get(FULL, 0.0))):
        return [full_by_arrivals(view, every, found, certainty)], nowhere
    if kind == FULL:
        returns = share_of(view.returning, view.total_bit_s > 0, view.dt_s) >= _MOSTLY
        return [] if returns else [full_by_arrivals(view, every, found, by_chance[FULL])], nowhere
    if kind == "ack-path" and not asked:
        return [_behind_acks(view, every, by_chance[kind])], nowhere
    if kind in SENDER_SIDE:
        return [], calm | (lossy & ~rising(view) & ~view.standing)
    return [_dropped(view, lossy, found, by_chance)] if lossy.any() else [], calm


def _dropped(view: View, holds: Flags, found: Episodes, by_chance: Mapping[str, float]) -> Claim:
    """The likeliest of what drops."""
    kind = max(CAUSES, key=lambda cause: by_chance[cause])
    chance = by_chance[kind]
    if kind == "random-loss" and mostly_waits(view, holds):
        kind, chance = "timeouts", chance + by_chance["timeouts"]
    if kind in ("policer", "line-drops"):
        rate_bit_s = passed_bit_s(view)
        return dropped(view, kind, holds, found, rate_bit_s=rate_bit_s, chance=chance, chances=by_chance)
    if kind == "reordering":
        return _reordering(view, holds, chance)
    if kind == "timeouts":
        return _by_timeouts(view, _random(view, holds, found, chance), found)
    if kind == "random-loss":
        return _random(view, holds, found, chance)
    return _overflow(view, holds, found, chance)


def _differ(view: View, values: Floats, ratio: float = ANOTHER_RATE) -> bool:
    """Whether these differ by so much from one stretch of an even rate to another."""
    of_each = [middle(values[places]) for places in view.even_stretches]
    return bool(of_each) and max(of_each) >= ratio * min(of_each)


def _full_rather(view: View, kind: str, full_chance: float) -> float:
    """How sure it is that payload which comes at one rate for long is the path's and not the sender's doing;
    0 if it is not. If another rate follows, the path's rate changed, though a program may send so, too: a
    buffer holds the same in any round trip. Where no round trips are known, a sender that paces itself looks
    the same as a full path. `full_chance`: that of a full path by all signs; too small a one decides."""
    came = (view.total_bit_s > 0) & ~rising(view)
    even_share = share_of(view.even, came, view.dt_s)
    if kind not in (*SENDER_SIDE, FULL) and _comes_in_steps(view, came):
        return _SEVERAL_RATES
    clearly = _differ(view, view.total_bit_s, _CLEARLY_ANOTHER)
    if even_share < (_OFTEN_EVEN if clearly else _MOSTLY_EVEN):
        return 0.0
    if _differ(view, view.total_bit_s) and (kind != "send-buffer" or _differ(view, view.flight)):
        return _SEVERAL_RATES
    if kind not in SENDER_SIDE or even_share < _MOSTLY_EVEN or full_chance < _HARDLY_EVER:
        return 0.0
    return _LIKELY if kind != "send-buffer" and not view.knows("srtt_s") else 0.0


def _comes_in_steps(view: View, came: Flags) -> bool:
    """Whether as many segments come in each window as in the one before, also where some were lost, and in
    time at clearly different rates. Behind a queue they do, where the path's rate changes."""
    if not view.knows("segments_sent") or not view.base_rtt_s:
        return False
    seen = spreads(
        time_s=view.time_s,
        connection=view.connection,
        segments=np.nan_to_num(view["segments_sent"]),
        acks=None,
        standing=came,
        base_s=view.base_rtt_s,
        nothing_late=False,
    )
    return seen is not None and seen.alike >= _MOSTLY_ALIKE and seen.payload >= STEADY + seen.exact


def full_by_arrivals(view: View, holds: Flags, found: Episodes, chance: float) -> Claim:
    """The path was full, by how the payload arrived."""
    usual = middle(view.total_bit_s, holds)
    most = max(passed_bit_s(view), usual)
    low, high = view.even_rates_bit_s
    if high >= ANOTHER_RATE * low:
        how = f"payload arrived at one rate for long and then at another, {rate(low)} to {rate(high)}"
        most = max(most, high)
    else:
        most_words = f"hardly more than {rate(most)} in any short time"
        how = f"{rate(usual)} of payload arrived in the median, and {most_words}"
    if chance <= _LIKELY and not view.knows("srtt_s"):
        how += "; without round trips, a sender that paces itself looks the same"
    wait_s = middle(view.queue_s, holds)
    return Claim(
        "capacity",
        holds,
        chance,
        f"the path was full: {how}",
        {
            "rate_mbit_s": known(most / 1e6, 3),
            "usual_mbit_s": known(usual / 1e6, 3),
            "queue_s": known(wait_s),
            "loss_events": found.count,
        },
        "a full path's rate bounds what arrives in any time, however short",
        "bursts at a higher rate, or a start at the steady rate",
    )


def _behind_acks(view: View, holds: Flags, chance: float) -> Claim:
    """Acknowledgements wait, by how the payload arrived: a receiver's round trips may show no queue."""
    usual = middle(view.total_bit_s, holds & (view.total_bit_s > 0))
    return Claim(
        "ack-path",
        holds,
        chance,
        f"acknowledgements wait on their way back, by how the payload came: {rate(usual)} in the median, in "
        "bursts and at rates that neither a queue of its own nor losses explain",
        {
            "usual_mbit_s": known(usual / 1e6, 3),
            "queue_s": known(middle(view.queue_s, holds)),
            "base_rtt_s": known(view.base_rtt_s or float("nan")),
        },
        "an acknowledgement that gets through releases a burst, and these come at a constant rate",
        "payload at a constant rate, or acknowledgements that reach the sender without a wait",
    )


def _late_share(view: View) -> float:
    """Share of the samples in which segments were late."""
    return float((view.grown("out_of_order") > 0).mean())


def _reordering(view: View, holds: Flags, chance: float) -> Claim:
    share = _late_share(view)
    return Claim(
        "reordering",
        holds,
        chance,
        f"segments arrived after later ones in {percent(share)} of the samples, more than losses explain, "
        "and TCP takes some for lost",
        {"out_of_order_time_share": known(share), "in_flight_bytes": known(middle(view.flight, holds))},
        "time with a hole < 1.5 / window, if losses alone make segments late",
        "holes in less than a tenth of the time",
    )


def _by_timeouts(view: View, of: Claim, found: Episodes) -> Claim:
    """The same samples as timeouts, with the stalls that last as long as one."""
    came = view.grown("delivered_bytes") + view.grown("out_of_order") > 0
    least_s = _LEAST_RTO_S + (view.base_rtt_s or 0.0)
    gaps = np.diff(view.time_s[came]) if came.any() else np.zeros(0)
    stalls = int((gaps >= least_s + 2 * float(np.median(view.dt_s))).sum())
    return replace(
        of,
        kind="timeouts",
        because=f"{plural(stalls, 'stall')} as long as a retransmission timeout in "
        f"{plural(found.count, 'loss event')}: the windows are too small to repair losses sooner",
        evidence={**of.evidence, "stalls": stalls},
        formula="stall >= RTT + 0.2 s (Linux's smallest timeout)",
        otherwise="losses that are repaired within a round trip",
    )


def _random(view: View, holds: Flags, found: Episodes, chance: float) -> Claim:
    segments = float(np.nanmax(view["delivered_bytes"])) / view.mss
    share = found.count / max(segments, 1.0)
    late = _late_share(view)
    counted = f"{plural(found.count, 'loss event')}, in {percent(share)} of the segments, keep"
    if late >= _MOSTLY:
        # One event goes over into the next.
        counted = f"there was a hole in {percent(late)} of the samples, and losses keep"
    return Claim(
        "random-loss",
        holds,
        chance,
        f"segments were missing while nothing was full: {counted} "
        f"{size(middle(view.flight, holds))} in flight",
        {
            "loss_events": found.count,
            "out_of_order_time_share": known(late, 4),
            "loss_event_share": known(share, 9),
            "in_flight_bytes": known(middle(view.flight, holds)),
            "rtt_s": known(middle(view.rtt_s, holds)),
        },
        "window = max(sqrt(1.5 / p), 1.054 (R / p)^(3/4)) segments; rate = window / RTT",
        "a queue that stands before the losses, or losses at one rate only",
    )


def _overflow(view: View, holds: Flags, found: Episodes, chance: float) -> Claim:
    most = passed_bit_s(view)
    wait_s = float(found.wait_s.max())
    usual = middle(view.total_bit_s, holds & (view.total_bit_s > 0))
    # A full path's rate is the same all the time, but for repairs.
    came = view.total_bit_s[holds & (view.total_bit_s >= usual / 2)]
    low = float(np.quantile(came, _LOW)) if came.size else 0.0
    if usual >= _FILLS * most and low >= _NEARLY * most and view.sooner_s(usual) == 0:
        # An overflow that costs nothing is that of a queue which is long enough.
        return Claim(
            "capacity",
            holds,
            chance,
            f"the path was full: {rate(usual)} of payload arrived in the median and {rate(most)} at most, "
            f"though its queue overflowed after waits of {duration(wait_s)} at most",
            {
                "rate_mbit_s": known(most / 1e6, 3),
                "usual_mbit_s": known(usual / 1e6, 3),
                "queue_s": known(wait_s),
            },
            "after an overflow CUBIC keeps 0.7 (BDP + queue), which is the BDP or more of a long queue",
            "a rate that falls after losses",
        )
    return Claim(
        "short-queue",
        holds,
        chance,
        f"a short queue overflowed: losses came after waits of {duration(wait_s)} at most, at up to "
        f"{rate(most)}, or in slow start long before the path was full",
        {
            "queue_bytes": known(wait_s * most / 8),
            "longest_wait_s": known(wait_s),
            "loss_events": found.count,
            "rate_mbit_s": known(most / 1e6, 3),
        },
        "after an overflow CUBIC keeps 0.7 (BDP + queue)",
        "losses at many rates, or at one flight without a wait",
    )
