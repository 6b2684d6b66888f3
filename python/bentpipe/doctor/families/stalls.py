"""Stalls: times in which data were outstanding and nothing arrived.

A silence is a stretch of four round trips and a second, or more, and of twice the round trip just before, in
which something is outstanding and nothing is acknowledged, and the window is open. It is an `outage` if
random loss would not explain it: with a share p of losses elsewhere, n segments in flight and then k timeouts
in a row are lost N p^(n + k) times among N segments, which is less than 0.05. Several connections are silent
at the same time, each of which would have lost its own. If TCP was repairing already when one of them began,
and less than half of the usual was in flight, losses may come in runs, and then no silence is an outage that
these explain: if E other episodes have m segments in the median, 20 at most, so many are lost in a row
E (1 - 1/m)^(n + k) times. Six silences or more, and one in four seconds, are no outages either. What TCP
repairs right after an outage belongs to it, and so does the time until it carries as much as before. Any
other silence, and what TCP repairs after a retransmission timeout, are `timeouts`.

The second tests: of an outage, that the path was as before after it; of timeouts, that the sender
counted them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.drop_causes import drop_causes
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.retransmission_timer import acks_outlast_the_timer, ran_out
from bentpipe.doctor.several import at_times_of, whole
from bentpipe.doctor.silences import LESS_THAN_USUAL, begins_anew, repaired_after, until_regained
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, plural

_LEAST_S = 0.4
_LEAST_CAPTURED_S = 1.0
"""A capture does not know for sure what is in flight."""
_LEAST_ROUND_TRIPS = 4
_LEAST_WAITS = 2
"""Of the round trips just before, which may be much longer than the smallest."""
_SURELY_A_WINDOW = 10
"""Segments: with so few in flight, some may have been lost before the silence."""
_UNLIKELY = 0.05
_MOST_OF_AN_EPISODE = 20
_TOO_OFTEN, _TOO_OFTEN_S = 6, 4.0
"""So many silences in one transfer, and one in so many seconds: losses in runs are likelier than as many
outages."""
_DROP_ALWAYS = ("policer", "line-drops")


@dataclass(frozen=True)
class _Silence:
    """Of all connections together."""

    of_sum: Flags
    """Its samples in the sum of all connections."""
    own: Flags
    """Its samples in the view."""
    lost: float
    """How many segments in a row, if it was losses."""
    lasted_s: float


def stalls(view: View) -> list[Claim]:
    if not view.at_sender:
        return []
    silent, runs = _silences(view)
    timeouts = np.nan_to_num(view["timeouts"])
    of_sum = whole(view)
    if view.connections.size > 1:
        runs = _silences(of_sum)[1]
    found = [_silence(view, of_sum, run) for run in runs]
    # Where losses in a row silence a transfer once, they may do it again.
    in_runs = any(_begins_in_repair(view, each.own) and _is_by_runs(view, each, found) for each in found)
    outage = np.zeros(view.size, bool)
    lost_again = np.zeros(view.size, bool)
    lengths: list[float] = []
    for each in found:
        if in_runs and _is_by_runs(view, each, found):
            lost_again |= each.own
            continue
        if _is_by_chance(view, each):
            continue
        outage |= each.own | repaired_after(view, each.own)
        outage |= at_times_of(view, of_sum, until_regained(of_sum, each.of_sum))
        lengths.append(each.lasted_s)
    claims = []
    tells = np.nanmax(timeouts, initial=0.0) > 0 and not acks_outlast_the_timer(view)
    if tells and len(lengths) >= max(_TOO_OFTEN, float(np.ptp(view.time_s)) / _TOO_OFTEN_S):
        lost_again |= outage
        outage = np.zeros(view.size, bool)
    if outage.any():
        claims.append(_outage(view, outage, lengths))
    causes = drop_causes(view)
    rest = (silent | view.after_timeout | _before_timeouts(view)) & ~outage
    if not tells:
        return claims
    if causes and max(causes, key=lambda cause: causes[cause]) in _DROP_ALWAYS:
        # Timeouts are what these do to small windows. They would let a retransmission pass that comes alone.
        rest &= lost_again
    if rest.any():
        claims.append(_timeouts(view, rest, float(np.nanmax(timeouts))))
    return claims


def _silence(view: View, of_sum: View, run: np.ndarray) -> _Silence:
    timers = np.nan_to_num(of_sum["timeouts"])
    count = float(timers[run[-1]] - timers[max(run[0] - 1, 0)])
    if view.evidence.of_packets and not view.sees_acks_return:
        count = max(count, _timers(view, run))
    holds = np.zeros(of_sum.size, bool)
    holds[run] = True
    return _Silence(
        holds,
        at_times_of(view, of_sum, holds),
        count + max(view.connections.size, _in_the_air(of_sum, int(run[0]))),
        float(of_sum.time_s[run[-1]] - of_sum.time_s[max(run[0] - 1, 0)]),
    )


def _is_by_chance(view: View, of: _Silence) -> bool:
    segments = float(np.nanmax(view["sent_bytes"], initial=0.0)) / view.mss
    return bool(segments * _loss_share(view, of.own) ** of.lost >= _UNLIKELY)


def _in_the_air(of: View, place: int) -> float:
    """Segments in flight when a silence begins; 0 if not known, or if they are few."""
    count = float(np.nan_to_num(of["in_flight_bytes"][place])) / of.mss
    return count if count >= _SURELY_A_WINDOW else 0.0


def _timers(view: View, run: np.ndarray) -> int:
    """Retransmission timers that ran out in a silence, by its length. A receiver's capture does not have what
    was lost on the way."""
    before_s = view.rtt_s[max(int(run[0]) - 1, 0)]
    rtt_s = float(before_s) if np.isfinite(before_s) else (view.base_rtt_s or 0.0)
    return ran_out(float(view.dt_s[run].sum()), rtt_s)


def _silences(view: View) -> tuple[Flags, list[np.ndarray]]:
    arrived = view.grown("arrived_bytes") + view.grown("delivered_bytes")
    with np.errstate(invalid="ignore"):
        nothing = (arrived <= 0) & (view["rwnd_bytes"] >= view.mss) & (view.dt_s > 0)
    quiet = nothing & (view.flight > 0)
    if view.evidence.of_packets and not view.sees_acks_return:
        quiet |= _lost_before(view, nothing)
    shortest_s = _LEAST_CAPTURED_S if view.evidence.of_packets else _LEAST_S
    least_s = max(shortest_s, _LEAST_ROUND_TRIPS * (view.base_rtt_s or 0.0))
    silent = np.zeros(view.size, bool)
    runs = []
    for begin, end in stretches(quiet):
        run = np.arange(begin, end)
        before_s = float(np.nan_to_num(view.rtt_s[begin]))
        if view.dt_s[run].sum() >= max(least_s, _LEAST_WAITS * before_s):
            silent[run] = True
            runs.append(run)
    return silent, runs


def _lost_before(view: View, nothing: Flags) -> Flags:
    """The stretches after which the sender began anew: what was in flight was lost before this point, where
    nothing seems to be outstanding."""
    found = np.zeros(view.size, bool)
    for begin, end in stretches(nothing):
        found[begin:end] = begins_anew(view, begin, end)
    return found


def _before_timeouts(view: View) -> Flags:
    """The samples in which nothing arrived any more until a retransmission timeout."""
    waits = np.zeros(view.size, bool)
    arrived = (view.grown("arrived_bytes") + view.grown("delivered_bytes")) > 0
    for place in np.flatnonzero(view.grown("timeouts") > 0):
        begin = int(place)
        while begin > 0 and not arrived[begin - 1] and view.connection[begin - 1] == view.connection[place]:
            begin -= 1
        waits[begin : place + 1] = True
    return waits


def _loss_share(view: View, silence: Flags) -> float:
    """Losses per segment sent: the upper end of what so few allow.

    What the silence lost does not count where the sender's losses are known. At a receiver's end of the
    path it may be all that is seen of them. An episode counts for 20 at most: an overflow or an outage
    loses hundreds at once.
    """
    segments = float(np.nanmax(view["sent_bytes"], initial=0.0)) / view.mss
    found = episodes(view)
    own = silence | np.append(silence[1:], False)
    if not view.sees_acks_return:
        own = np.zeros_like(own)
    lost = found.lost_segments[~own[found.places]]
    events = float(np.minimum(lost, _MOST_OF_AN_EPISODE).sum())
    return float(np.clip((events + 2 * events**0.5 + 1) / max(segments, 1.0), 1e-9, 1.0))


def _begins_in_repair(view: View, silence: Flags) -> bool:
    """Whether TCP was repairing losses when nothing more arrived, and most of a window was lost or had
    arrived by then. An outage begins at any time, and all of a window is lost in it."""
    first = np.flatnonzero(silence & ~np.insert(silence[:-1], 0, False))
    before = np.maximum(first - 1, 0)
    if (view.grown("timeouts")[before] > 0).any():
        return False  # The silence may have begun before that timer, within a sample.
    usual = middle(view["in_flight_bytes"], (view.total_bit_s > 0) & ~silence)
    few = np.nan_to_num(view["in_flight_bytes"][first]) < LESS_THAN_USUAL * usual
    return bool((view.recovering[before] & few).all())


def _is_by_runs(view: View, of: _Silence, silences: Sequence[_Silence]) -> bool:
    """Whether so many losses in a row are likely if losses come in runs as long as the episodes between the
    silences: E q^(n+k) of E episodes, with q = 1 - 1/m for runs of m in the median, of 20 at most."""
    found = episodes(view)
    within = np.zeros(view.size, bool)
    for each in silences:
        within |= each.own | np.append(each.own[1:], False)
    runs = np.minimum(found.lost_segments[~within[found.places]], _MOST_OF_AN_EPISODE)
    runs = runs[runs > 0]
    return bool(runs.size and runs.size * (1 - 1 / np.median(runs)) ** of.lost >= _UNLIKELY)


def _outage(view: View, holds: Flags, lengths: list[float]) -> Claim:
    after = view.time_s > view.time_s[np.flatnonzero(holds)[-1]]
    goes_on = bool((view.total_bit_s[after] > 0).any()) if after.any() else False
    several = len(lengths) > 1
    return Claim(
        "outage",
        holds,
        1.0 if goes_on else 0.5,
        f"nothing arrived for {duration(max(lengths))}{' at most' if several else ''} while data were "
        f"outstanding{f', {len(lengths)} times in all' if several else ''}",
        {"outages": len(lengths), "longest_s": known(max(lengths)), "total_s": known(sum(lengths))},
        "N p^(n+k) < 0.05: loss at the share that is seen elsewhere would not last so long",
        "acknowledgements within the time, or as much loss elsewhere",
    )


def _timeouts(view: View, holds: Flags, count: float) -> Claim:
    sent = float(np.nanmax(view["sent_bytes"], initial=1.0))
    repeated = float(np.nanmax(view["retransmitted_bytes"], initial=0.0)) / max(sent, 1.0)
    return Claim(
        "timeouts",
        holds,
        1.0 if count >= 2 else 0.5,
        f"retransmissions or whole windows were lost, so TCP waited for "
        f"{plural(int(count), 'retransmission timeout')}; it sent {percent(repeated)} of its payload again",
        {
            "timeouts": int(count),
            "retransmitted_share": known(repeated),
            "rto_s": known(middle(view["rto_s"])),
        },
        "T = 1 / (R sqrt(2p/3) + RTO min(1, 3 sqrt(3p/8)) p (1 + 32 p^2)) segments/s (PFTK)",
        "losses that are repaired within a round trip",
    )
