"""The rate of a path that was full: of a queue that stood, of BBR's probes, or of losses at one rate."""

import numpy as np

from bentpipe.doctor.arrays import Flags, Places
from bentpipe.doctor.claim import share_of
from bentpipe.doctor.paced import paced
from bentpipe.doctor.saturation import path_rate_bit_s
from bentpipe.doctor.view import LEAST_WINDOW_S, WINDOW_FREE_SEGMENTS, View, before_losses

_SAME_RATE = 0.1
_OFTEN = 0.3
_MOSTLY = 0.5
_LEAST_EPISODES = 3
_OVERSHOT_SEGMENTS = 8
_OVERSHOT_SHARE = 0.1
_PROBES = 1 / 8
"""BBR probes for more in one of eight round trips."""


def capacity_of(of: View) -> tuple[float | None, str]:
    if probes(of):
        if of.returning.any():
            return None, ""
        # It probes a quarter above what it has found: the path had no more.
        probed = of.total_bit_s[at_its_rate(of)]
        return (float(np.median(probed)), "probing") if probed.size >= _LEAST_EPISODES else (None, "")
    # A receiver's round trips hold pauses of the sender, and a program's bursts wait for each other.
    with np.errstate(invalid="ignore"):
        long = of.standing & (of.queue_s > (of.base_rtt_s or np.inf)) & (of["notsent_bytes"] >= of.mss)
    if float(of.dt_s[long].sum()) < _OFTEN * float(of.dt_s[of.total_bit_s > 0].sum()):
        # After an outage packets wait long for a little while.
        long = np.zeros(of.size, bool)
    found = path_rate_bit_s(of.total_bit_s, of.standing, ~of.recovering, of.dt_s, of.even | long)
    if found is not None:
        return found, "queue"
    paces = not of.evidence.is_bbr and share_of(paced(of), of.total_bit_s > 0, of.dt_s) >= _MOSTLY
    if paces or (of.at_sender and of.reorders):
        # What is sent again was late mostly, and shows no rate; nor does what a sender paces itself at.
        return None, ""
    before = before_losses(of)
    overshot = _overshot(of, before)
    before = before[1:] if overshot else before
    rates = of.total_bit_s[before[~_window_is_full(of)[before]]]
    if rates.size >= (_LEAST_EPISODES if overshot is None else _LEAST_EPISODES - 1):
        top = float(np.median(rates))
        if top > 0 and float(np.median(np.abs(rates - top))) <= _SAME_RATE * top:
            return max(top, float(np.quantile(of.total_bit_s, 0.9))), "losses"
    return (None, "") if overshot is None else (overshot, "overshoot")


def probes(of: View) -> bool:
    """Whether the sender is BBR, whose probes for more were free to find it."""
    return of.evidence.is_bbr and not _probes_are_held(of)


def at_its_rate(of: View) -> Flags:
    """Where BBR carries about what it has found, or the same for so long that it has probed for more."""
    found: Flags = of.total_bit_s >= 0.9 * np.quantile(of.total_bit_s, 0.9)
    for places in of.even_stretches:
        if of.time_s[places[-1]] - of.time_s[places[0]] >= (of.base_rtt_s or 0.0) / _PROBES:
            found[places] = True
    return found


def _probes_are_held(of: View) -> bool:
    """Whether BBR's probes may have met a full window, or had nothing more to send, so show no path."""
    sends = (of.total_bit_s > 0) & (of.dt_s > 0)
    with np.errstate(invalid="ignore"):
        held = (of["notsent_bytes"] < of.mss) | _window_is_full(of)
        held |= of.grown("rwnd_limited_s") >= of.dt_s / 2
    return float(of.dt_s[held & sends].sum()) >= _PROBES * float(of.dt_s[sends].sum())


def _window_is_full(of: View) -> Flags:
    """Where the receive window is full. It bounds the rate then, so what is lost shows none of the path."""
    with np.errstate(invalid="ignore"):
        full: Flags = of.flight >= of["rwnd_bytes"] - WINDOW_FREE_SEGMENTS * of.mss
        return full & (of["rwnd_bytes"] > 0)


def _overshot(of: View, before: Places) -> float | None:
    """What arrived at most while slow start's last round was lost in part: something was full then."""
    if not before.size or not of.knows("ssthresh_bytes", "retransmits"):
        return None
    place = int(before[0])
    with np.errstate(invalid="ignore"):
        if not of["cwnd_bytes"][place] < of["ssthresh_bytes"][place]:
            return None
    until_s = of.time_s[place] + 3 * (of.base_rtt_s or 0.0) + 2 * LEAST_WINDOW_S
    following = np.flatnonzero((of.time_s >= of.time_s[place]) & (of.time_s <= until_s))
    lost = np.nanmax(of["retransmits"][following]) - np.nan_to_num(of["retransmits"][place])
    if lost < max(_OVERSHOT_SEGMENTS, _OVERSHOT_SHARE * np.nanmax(of.flight[following]) / of.mss):
        return None
    most_bit_s = float(max(of.total_bit_s[following].max(), np.quantile(of.total_bit_s, 0.98)))
    return most_bit_s or None
