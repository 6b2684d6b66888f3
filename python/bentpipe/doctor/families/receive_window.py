"""The receive window: too small a buffer, or an application that reads too slowly.

A sample is limited by the window if 3 segments or less of it are free, or the sender's TCP counted half
of the time since the last sample as limited by it. At a receiver, which does not know what is
outstanding, it is limited if rate x RTT reaches 85 % of the window, or 70 % of one without window scaling:
a sender waits for room for a burst, and a burst is a large part of 64 kB.

The two are told apart by what the window does. A small buffer keeps the window at its largest. A slow
reader closes it: the window falls below 80 % of its largest, and where a receiver knows what is unread, that
fills a quarter of the buffer. What waits behind a hole fills the buffer, too, and does not close the window.

The time decides in which the window was full or closed: in a quarter of it a slow reader has it closed. The
end of a connection decides only of itself, since a program that is done may stop reading while data come.

At a sender's socket it may do so and yet never be full: the host of a reader that waits holds its ACKs back,
the sender answers with bursts, and these overflow a queue. A reader that keeps up leaves the window open. So
a window that is closed so far in a quarter of the time, while TCP repairs nothing, is a slow reader's too.

A slow reader is what limits as long as it has something to read: after the window was closed, until what it
lacked is read at the usual rate. These samples count too.

The second test is Little's law: the window over the RTT gives the rate that was seen, within 20 %.
"""

from dataclasses import replace

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, middle, stretches
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.evidence import UNREAD
from bentpipe.doctor.families.no_sack import waits_for_holes
from bentpipe.doctor.view import UNSCALED_BYTES, WINDOW_FREE_SEGMENTS, View
from bentpipe.words.wording import duration, rate, size

_LITTLE = 0.85
_LITTLE_UNSCALED = 0.7
_AGREES = 0.2
_HALF_A_TICK_S = 0.0005
"""How exactly a receiver knows round trips: Linux's time stamps tick every millisecond."""
_CLOSED = 0.8
_OFTEN = 0.25
_MOSTLY_ON_THE_WAY = 0.75
_READS_WITHIN_RTTS = 4
_LEAST_APART_S = 0.2
_BBR_CYCLE = 8
"""Round trips from one probe for more to the next (draft-cardwell-iccrg-bbr-congestion-control-00)"""


def receive_window(view: View) -> list[Claim]:
    if not view.knows("rwnd_bytes"):
        return []
    window = view["rwnd_bytes"]
    with np.errstate(invalid="ignore"):
        if view.at_sender:
            full = view.flight >= np.maximum(window - WINDOW_FREE_SEGMENTS * view.mss, 0.9 * window)
            counted = view.grown("rwnd_limited_s") >= view.dt_s / 2
            cwnd = view["cwnd_bytes"]
            full = (full & ~(cwnd < window)) | (counted & (view.dt_s > 0))
            # What arrived behind a hole fills the window, too, until the hole is repaired.
            full &= ~(view.recovering & (view["in_flight_bytes"] < _MOSTLY_ON_THE_WAY * view.flight))
            if not view.evidence.of_packets:
                full |= _often(view, _closed(view))
        else:
            full = filled_from_afar(view)
            full |= _held(view)
        slow = _read_slowly(view, full)
    if view.at_sender and view.evidence.is_bbr:
        full |= _within_cycles(view, full)
    if view.evidence.of_packets:
        # So fine are its samples that they see the window open between two reads.
        full |= slow & _between(view.time_s, full, _READS_WITHIN_RTTS * (view.base_rtt_s or 0.0))
    full |= slow & _has_more_to_read(view, full)
    claims = []
    for kind, holds in (("receiver-application", full & slow), ("receiver-window", full & ~slow)):
        if holds.any():
            claims.append(_claim(view, kind, holds))
    if claims and claims[-1].kind == "receiver-window" and _unscaled(view):
        claims[-1] = replace(
            claims[-1],
            kind="tcp-options",
            because=f"{claims[-1].because}; without window scaling, which an end did not offer or a device "
            "removed, no window exceeds 65 535 bytes",
            formula="window <= 65 535 bytes without the option of RFC 7323",
            otherwise="window scaling in both SYNs",
            evidence={"option": "window_scaling", **claims[-1].evidence},
        )
    return claims


def filled_from_afar(view: View) -> Flags:
    """Where a receiver's window is full, by Little's law, and between two such samples of one round trip: a
    small window arrives in bursts."""
    least = _LITTLE_UNSCALED if _unscaled(view) else _LITTLE
    round_trip_s = _round_trip_s(view) + _HALF_A_TICK_S
    found: Flags = _came_bit_s(view) * round_trip_s / 8 >= least * view["rwnd_bytes"]
    for number in view.connections:
        own = view.connection == number
        found[own] = _between(view.time_s[own], found[own], view.base_rtt_s or 0.0)
    return found


def _came_bit_s(view: View) -> Floats:
    """The rate at which payload came. What waited behind a hole is delivered at once, but did not come so."""
    if not view.knows("segments_sent") or not view.connections.size:
        return view.rate_bit_s
    window_s = view.window_s
    came = np.full(view.size, np.inf)
    for number in view.connections:
        own = view.connection == number
        time_s, count = view.time_s[own], np.nan_to_num(view["segments_sent"][own])
        came[own] = count - np.interp(time_s - window_s, time_s, count)
    return np.minimum(view.rate_bit_s, (came + WINDOW_FREE_SEGMENTS) * view.mss * 8 / window_s)


def _round_trip_s(view: View) -> Floats:
    """The smallest, of the handshake or of pings, where this end has no estimate of its own."""
    return np.where(np.isfinite(view.rtt_s), view.rtt_s, view.base_rtt_s or np.nan)


def _between(time_s: Floats, where: Flags, most_s: float) -> Flags:
    """Where it holds, and between two such samples that are no further apart."""
    places = np.arange(where.size)
    before = np.maximum.accumulate(np.where(where, places, -1))
    after = np.minimum.accumulate(np.where(where, places, where.size)[::-1])[::-1]
    inside = (before >= 0) & (after < where.size)
    apart = time_s[np.minimum(after, where.size - 1)] - time_s[np.maximum(before, 0)]
    found: Flags = where | (inside & (apart <= max(most_s, _LEAST_APART_S)))
    return found


def _within_cycles(view: View, full: Flags) -> Flags:
    """BBR asks for a quarter more in one round trip of eight, and for less in the next. Where the window is
    full again and again so often, it is what BBR finds."""
    found = np.zeros(view.size, bool)
    for number in view.connections:
        own = view.connection == number
        found[own] = _between(view.time_s[own], full[own], _BBR_CYCLE * (view.base_rtt_s or 0.0))
    return found


def _has_more_to_read(view: View, full: Flags) -> Flags:
    """The samples so soon after a full window that what it lacked is not read yet."""
    found = np.zeros(view.size, bool)
    for number in view.connections:
        own = view.connection == number
        time_s, rate_bit_s = view.time_s[own], middle(view.rate_bit_s[own], view.rate_bit_s[own] > 0)
        window = np.nan_to_num(view["rwnd_bytes"][own])
        unread = np.maximum.accumulate(window) - window
        until_s = np.where(full[own], time_s + unread * 8 / rate_bit_s, -np.inf)
        found[own] = time_s <= np.maximum.accumulate(until_s)
    return found


def _unscaled(view: View) -> bool:
    if not view.knows("rwnd_bytes"):
        return False
    offers = (view.evidence.sender_offered.window_scale, view.evidence.receiver_offered.window_scale)
    largest = float(np.nanmax(view["rwnd_bytes"]))
    return -1 in offers and UNSCALED_BYTES / 4 < largest <= UNSCALED_BYTES


def _read_slowly(view: View, full: np.ndarray) -> np.ndarray:
    """In which samples the window was closed by what the application has not read."""
    closed = _held(view) if view.knows("unread_bytes", "rcvbuf_bytes") else _closed(view)
    # A program that is done may stop reading while data still come. That tells nothing of the time before.
    last = _at_the_end(view, closed)
    # A reader that is slow at all leaves the window open now and then: the transfer decides.
    mostly = share_of(closed, (full | closed) & ~last, view.dt_s) >= _OFTEN
    found: Flags = last | bool(mostly)
    return found


def _at_the_end(view: View, closed: Flags) -> Flags:
    """The last stretch of each connection in which the window was closed again and again, if it ends so."""
    found = np.zeros(view.size, bool)
    for number in view.connections:
        own = np.flatnonzero(view.connection == number)
        within = _between(view.time_s[own], closed[own], view.base_rtt_s or 0.0)
        if closed[own].any() and view.time_s[own[-1]] - view.time_s[own[within][-1]] <= _LEAST_APART_S:
            found[own[stretches(within)[-1][0] :]] = True
    return found


def _held(view: View) -> Flags:
    """Where a receiver's buffer holds much that the application has not read. What waits for a missing
    segment is in the buffer, too, and leaves the window as it was."""
    fell = _fell(view)
    much = view["unread_bytes"] >= UNREAD * view["rcvbuf_bytes"]
    found: Flags = much & fell & (view.grown("out_of_order") <= 0) & ~waits_for_holes(view)
    return found


def _closed(view: View) -> Flags:
    """Where the window is smaller than it was. What waits for a missing segment is in the buffer too."""
    return _fell(view) & ~view.recovering


def _fell(view: View) -> Flags:
    """Where the window is smaller than it was, or has no room for a segment."""
    window = view["rwnd_bytes"]
    found: Flags = window < np.maximum(_CLOSED * _largest_so_far(view), view.room_bytes)
    return found


def _largest_so_far(view: View) -> Floats:
    """The largest window of the sample's connection until then."""
    largest = np.zeros(view.size)
    for number in view.connections:
        own = view.connection == number
        largest[own] = np.maximum.accumulate(np.nan_to_num(view["rwnd_bytes"][own]))
    return largest


def _often(view: View, closed: Flags) -> Flags:
    """The samples, if they are a good part of those in which TCP repairs nothing."""
    often = share_of(closed, ~view.recovering & (view.total_bit_s > 0), view.dt_s) >= _OFTEN
    return closed if often else np.zeros(view.size, bool)


def _claim(view: View, kind: str, holds: np.ndarray) -> Claim:
    window, rtt_s = middle(view["rwnd_bytes"], holds), middle(_round_trip_s(view), holds)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = view.rate_bit_s * _round_trip_s(view) / 8 / view["rwnd_bytes"]
    agrees = np.abs(ratio - 1) <= _AGREES
    largest = float(np.nanmax(view["rwnd_bytes"]))
    evidence = {"rwnd_bytes": known(window), "rwnd_largest_bytes": known(largest), "rtt_s": known(rtt_s)}
    if kind == "receiver-window":
        return Claim(
            kind,
            holds,
            share_of(agrees, holds, view.dt_s),
            f"the receive window, {size(window)}, was full: it allows at most {rate(window * 8 / rtt_s)} at "
            f"an RTT of {duration(rtt_s)}",
            evidence,
            "rate = window / RTT; full: outstanding >= window - 3 MSS",
            "free room in the window, or a window that another limit kept from filling",
        )
    evidence["unread_bytes"] = known(middle(view["unread_bytes"], holds))
    otherwise = "a window that stays at its largest while it is full"
    if largest < view.room_bytes:
        because, otherwise = "read nothing: the window stayed shut", "a window that opens"
    elif window >= _CLOSED * largest:
        because = f"read too slowly: the window, {size(largest)} at most, was shut again and again"
    else:
        because = f"read too slowly: the window fell to {size(window)} of {size(largest)}"
    return Claim(
        kind,
        holds,
        1.0 - share_of(agrees, holds & (view["rwnd_bytes"] >= _CLOSED * largest), view.dt_s) / 2,
        f"the receiver's application {because}",
        evidence,
        "window = buffer - unread; a reader slower than the path closes the window",
        otherwise,
    )
