"""The sender's own side: its application had nothing to send, or its send buffer was full.

- `sender-application`: nothing was outstanding between the first payload and the last, or all that was
  written was sent, no window was full and the send buffer had room.
- `send-buffer`: all that was written was sent, the receive window has room, and the send buffer is
  full: so much is in flight that the kernel lets the application write no more
  (analysis/send_memory.py), or 2/3 of the buffer's memory is in use. Whether cwnd is full does not
  matter: a larger one would send no more. A buffer that Linux sizes grows when a program has to wait for
  room in it. So it is not full where it is still smaller than Linux would make it for this cwnd. If a
  full buffer is seen in a quarter of the time, it limits whenever the program waits for room: what is
  unsent between two such times is a burst that goes within a round trip.

A sample at a sender that has unsent data is limited by neither. At a receiver neither can be seen. The
second test: of the send buffer, that the rate is what flight over RTT gives; of the application, that
the kernel marked the sample as limited by the application.
"""

import numpy as np

from bentpipe.analysis.send_memory import WAKES_AT, grown_for_bytes, in_flight_at_wake
from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, percent, rate, size

_FULL = 0.9
_CLEARLY = 1.25
_STARVES = 0.25
"""Share of the time with nothing to send and a full buffer, from which on the buffer limits all the time that
the program waits for it."""


def sender(view: View) -> list[Claim]:
    if not view.at_sender:
        return []
    if not view.knows("notsent_bytes"):
        return _pauses(view)
    outstanding, cwnd = view.flight, view["cwnd_bytes"]
    tail = _last_flight(view)
    with np.errstate(invalid="ignore", divide="ignore"):
        idle = outstanding == 0
        all_sent = (view["notsent_bytes"] < view.mss) & ~tail
        rwnd_free = outstanding < _FULL * view["rwnd_bytes"]
        cwnd_free = (view["in_flight_bytes"] < _FULL * cwnd) & ~view.recovering
        # A capture shows that all was sent, so cwnd had room; it does not show how much.
        cwnd_free |= np.isnan(cwnd) & (view["app_limited"] > 0.5) & ~view.recovering
        burst_s = np.where(np.isfinite(view.rtt_s) & (view.rtt_s > 0), view.rtt_s, view.base_rtt_s or 1.0)
        wakes = in_flight_at_wake(
            view["sndbuf_bytes"],
            cwnd,
            burst_s,
            np.full(view.size, view.mss),
            smaller=np.minimum,
            larger=np.maximum,
        )
        used = view["sndbuf_used_bytes"] >= WAKES_AT * view["sndbuf_bytes"]
        full = (outstanding >= _FULL * wakes) | used
        full &= ~_may_grow(view)
        more_open = view["rwnd_bytes"] >= view.mss
    waits = all_sent & rwnd_free
    claims = []
    buffer = waits & full & ~idle
    blocked = used & rwnd_free & ~view.recovering & ~tail & ~idle
    if share_of(buffer & cwnd_free, ~idle & ~view.recovering & ~tail, view.dt_s) >= _STARVES:
        # Between two such samples the program wrote a burst, which was sent within the round trip.
        buffer |= blocked
    if buffer.any():
        claims.append(_send_buffer(view, buffer))
    application = (waits & cwnd_free & ~full) | (idle & more_open & ~tail)
    if application.any():
        claims.append(_application(view, application, idle))
    return claims


def _may_grow(view: View) -> Flags:
    """Where the buffer grows by itself, and is clearly smaller than it would be for this cwnd: no program has
    waited for room in it while cwnd had room."""
    most = view.evidence.sndbuf_most_bytes
    if most is None:
        return np.zeros(view.size, bool)
    is_bbr = view.evidence.is_bbr
    grown = grown_for_bytes(view["sndbuf_bytes"], view.mss, is_bbr=is_bbr)
    with np.errstate(invalid="ignore"):
        found: Flags = (view["sndbuf_bytes"] < most) & (_CLEARLY * grown < view["cwnd_bytes"])
    return found


def _pauses(view: View) -> list[Claim]:
    """In a capture, which does not show what is unsent: nothing was outstanding and the window was open."""
    with np.errstate(invalid="ignore"):
        idle = (view.flight == 0) & (view["rwnd_bytes"] >= view.mss) & ~_last_flight(view)
    return [_application(view, idle, idle)] if idle.any() else []


def _last_flight(view: View) -> Flags:
    """The last round trip of a transfer that was carried whole: all is sent, since there is no more of it."""
    if view.evidence.ended != "finished":
        return np.zeros(view.size, bool)
    tail: Flags = view.time_s >= view.evidence.end_s - 1.5 * (view.base_rtt_s or 0.0)
    return tail


def _send_buffer(view: View, holds: np.ndarray) -> Claim:
    sndbuf, flight, rtt_s = (
        middle(view["sndbuf_bytes"], holds), middle(view.flight, holds), middle(view.rtt_s, holds)
    )  # fmt: skip
    with np.errstate(invalid="ignore", divide="ignore"):
        agrees = np.abs(view.rate_bit_s * view.rtt_s / 8 / view.flight - 1) <= 0.2
    most = view.evidence.sndbuf_most_bytes
    largest = " and may grow no further" if most and sndbuf >= 0.95 * most else ""
    return Claim(
        "send-buffer",
        holds,
        share_of(agrees, holds, view.dt_s),
        f"the send buffer, {size(sndbuf)}, was full{largest}: {size(flight)} in flight give "
        f"{rate(flight * 8 / rtt_s)} at an RTT of {duration(rtt_s)}",
        {
            "sndbuf_bytes": known(sndbuf),
            "in_flight_bytes": known(flight),
            "rtt_s": known(rtt_s),
            "sndbuf_most_bytes": most,
        },
        "rate = payload that the buffer holds in flight (about 2/3 of its memory) / RTT",
        "unsent data in the buffer, or a full window",
    )


def _application(view: View, holds: np.ndarray, idle: np.ndarray) -> Claim:
    limited = view["app_limited"] > 0.5
    idle_share = share_of(idle, np.ones(view.size, bool), view.dt_s)
    return Claim(
        "sender-application",
        holds,
        share_of(limited | idle, holds, view.dt_s),
        "the sender's application had nothing more to send: all that it wrote was on its way"
        + (f", and nothing at all in {percent(idle_share)} of the time" if idle_share >= 0.01 else ""),
        {
            "idle_share": known(idle_share),
            "notsent_bytes": known(middle(view["notsent_bytes"], holds)),
            "in_flight_bytes": known(middle(view["in_flight_bytes"], holds)),
            "cwnd_bytes": known(middle(view["cwnd_bytes"], holds)),
        },
        "unsent < 1 MSS, in flight < 0.9 cwnd and 0.9 window, room in the send buffer",
        "unsent data, a full window or a full send buffer",
    )
