"""A black hole for large packets: full segments never arrive, and nobody says so (RFC 2923).

- **It was got round**: after retransmission timeouts the sender's segments became smaller, and then data
  arrived (`tcp_mtu_probing`, or a late ICMP message). The silence before belongs to it.
- **It was not**: nothing as large as a segment has arrived, several segments are outstanding, two timeouts
  or more have passed, and something small came through meanwhile: a ping's answer or an acknowledgement.
  If nothing small was tried, an outage that began with the transfer would look the same; the certainty is
  a half then.

A sender sees it. A receiver sees that little or nothing comes, and cannot tell why.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, plural

_LEAST_TIMEOUTS = 2
_LEAST_SEGMENTS = 2
_UNSURE = 0.5
_CURE = "net.ipv4.tcp_mtu_probing = 1 at the sender, or a smaller MTU, gets past it"


def mtu(view: View) -> list[Claim]:
    if not view.at_sender or not view.knows("timeouts"):
        return []
    claims = []
    for each in np.unique(view.connection):
        own = view.connection == each
        shrunk = _shrunk(view, own)
        if shrunk is not None:
            claims.append(shrunk)
        elif (stuck := _stuck(view, own)) is not None:
            claims.append(stuck)
    return claims


def _shrunk(view: View, own: Flags) -> Claim | None:
    """Segments became smaller after a silence, and then data arrived."""
    if not view.knows("mss_bytes"):
        return None
    places = np.flatnonzero(own & np.isfinite(view["mss_bytes"]))
    sizes, arrived = view["mss_bytes"][places], np.nan_to_num(_arrived(view)[places])
    timeouts = np.nan_to_num(view["timeouts"][places])
    for fall in np.flatnonzero(np.diff(sizes) < 0) + 1:
        # The last sample at which anything new had arrived before the fall.
        last = int(np.searchsorted(arrived, arrived[fall]))
        waited = timeouts[fall] - timeouts[last]
        came = arrived[-1] - arrived[fall]
        if waited < _LEAST_TIMEOUTS or came < _LEAST_SEGMENTS * sizes[fall]:
            continue
        numbers = np.arange(view.size)
        return _claim(
            view,
            own & (numbers > places[last]) & (numbers <= places[fall]),
            1.0,
            f"segments of {int(sizes[fall - 1])} bytes never arrived, and those of {int(sizes[fall])} bytes "
            f"did after {plural(int(waited), 'timeout')}",
            {"mss_before_bytes": known(sizes[fall - 1]), "mss_after_bytes": known(sizes[fall])},
        )
    return None


def _stuck(view: View, own: Flags) -> Claim | None:
    """Nothing of a segment's size has arrived, though something small did."""
    arrived = _arrived(view)
    timeouts = view["timeouts"]
    if np.nanmax(np.nan_to_num(arrived[own]), initial=0.0) >= view.mss:
        return None
    if np.nanmax(timeouts[own], initial=0.0) < _LEAST_TIMEOUTS:
        return None
    with np.errstate(invalid="ignore"):
        holds = own & (view.flight >= _LEAST_SEGMENTS * view.mss)
    if not holds.any():
        return None
    begin_s, end_s = view.time_s[holds].min(), view.time_s[holds].max()
    pings = view.evidence.pings
    answered = pings["rtt_s"].is_not_null() & pings["time_s"].is_between(begin_s, end_s)
    small = int(answered.sum())
    acks = float(np.nan_to_num(view["acks"][holds]).max() - np.nan_to_num(view["acks"][holds]).min())
    through = small > 0 or acks > 0
    what = plural(small, "ping") if small else plural(int(acks), "acknowledgement")
    return _claim(
        view,
        holds,
        1.0 if through else _UNSURE,
        f"no segment of {int(view.mss)} bytes has arrived in {duration(end_s - begin_s)}"
        + (f", though {what} came through" if through else "; an outage would look the same"),
        {"mss_bytes": known(view.mss), "pings_answered": small, "acks": known(acks)},
    )


def _arrived(view: View) -> np.ndarray:
    return view["arrived_bytes"] if view.knows("arrived_bytes") else view["delivered_bytes"]


def _claim(
    view: View, holds: Flags, certainty: float, because: str, evidence: dict[str, float | int | None]
) -> Claim:
    timeouts = float(np.nanmax(view["timeouts"]))
    return Claim(
        "mtu",
        holds,
        certainty,
        f"{because}: a link on the way drops large packets and its message does not come back; {_CURE}",
        {**evidence, "timeouts": int(timeouts)},
        "full segments outstanding, none arrived, and smaller packets pass",
        "a full segment that arrives, or small packets that do not",
    )
