"""A black hole for large packets: full segments never arrive, and nobody says so (RFC 2923).

- **It was got round**: after retransmission timeouts the sender's segments became smaller, and then data
  arrived (`tcp_mtu_probing`, or a late ICMP message). The silence before belongs to it, and so does the time
  until the transfer is as fast as before. A capture shows the size of what each timer repeats.
- **It was not**: nothing as large as a segment has arrived, more than a segment is outstanding, and two
  timeouts or more have passed, each of which repeated a full segment. A smaller one that is repeated in vain
  says that it is not the size. If a ping's answer or an acknowledgement came between two of these timeouts,
  small packets pass and full ones do not. If nothing small was tried, an outage that began with the transfer
  would look the same; the certainty is a half then. Where other connections of the transfer deliver full
  segments, the path has no black hole. If pings are answered before or after, and none is
  between two timeouts, it is an outage.

A sender sees it, and a capture that has the full segments. A receiver sees that little or nothing comes, and
cannot tell why.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.evidence import Evidence
from bentpipe.doctor.silences import repaired_after, until_regained
from bentpipe.doctor.standing_still import LEAST_TIMEOUTS
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration, plural

_LEAST_SEGMENTS = 2
_LEAST_PINGS = 2
_UNSURE = 0.5
_SURELY_FULL = 10
"""Segments' worth of payload that no connection delivers in small segments alone."""
_CURE = "net.ipv4.tcp_mtu_probing = 1 at the sender, or a smaller MTU, gets past it"


def mtu(view: View) -> list[Claim]:
    if not view.at_sender or not view.knows("timeouts"):
        return []
    claims = []
    passes = any(_passes(view, view.connection == each) for each in view.connections)
    for each in view.connections:
        own = view.connection == each
        shrunk = _shrunk(view, own)
        if shrunk is not None:
            claims.append(shrunk)
        elif not passes and (stuck := _stuck(view, own)) is not None:
            claims.append(stuck)
    return claims


def _passes(view: View, own: Flags) -> bool:
    """Whether full segments of this connection arrive. Then the path lets them pass, and another connection
    that stands still has lost them otherwise. One that had to shrink them delivers, too."""
    sizes = _sizes(view, np.flatnonzero(own))
    shrank = bool((np.diff(sizes[np.isfinite(sizes)]) < 0).any())
    return (
        not shrank and float(np.nanmax(view["delivered_bytes"][own], initial=0.0)) >= _SURELY_FULL * view.mss
    )


def _shrunk(view: View, own: Flags) -> Claim | None:
    """Segments became smaller after a silence, and then data arrived."""
    places = np.flatnonzero(own)
    sizes = _sizes(view, places)
    places, sizes = places[np.isfinite(sizes)], sizes[np.isfinite(sizes)]
    arrived = np.nan_to_num(view["delivered_bytes"][places])
    timeouts = np.nan_to_num(view["timeouts"][places])
    for fall in np.flatnonzero(np.diff(sizes) < 0) + 1:
        # The first sample with all that had arrived before the fall: at a short round trip something may
        # have arrived since, within the sample.
        last = int(np.searchsorted(arrived, arrived[fall - 1]))
        is_known_before = last > 0 or not view.evidence.begun
        waited = timeouts[fall] - (timeouts[last] if is_known_before else 0.0)
        came = arrived[-1] - arrived[fall - 1]
        if waited < LEAST_TIMEOUTS or came < _LEAST_SEGMENTS * sizes[fall]:
            continue
        numbers = np.arange(view.size)
        silent = own & (numbers > places[last]) & (numbers <= places[fall])
        after = repaired_after(view, silent)
        if view.connections.size == 1:
            after |= until_regained(view, silent)
        return _claim(
            view,
            silent | after,
            1.0,
            f"segments of {int(sizes[fall - 1])} bytes never arrived, and those of {int(sizes[fall])} bytes "
            f"did after {plural(int(waited), 'timeout')}",
            {"mss_before_bytes": known(sizes[fall - 1]), "mss_after_bytes": known(sizes[fall])},
        )
    return None


def _sizes(view: View, places: Places) -> Floats:
    """Payload of a full segment at each of these samples of one connection; NaN where it is not known. In a
    capture: of the segment that the last timer repeated, and before the first one of that."""
    if view.knows("mss_bytes") or not view.evidence.of_packets or not places.size:
        return view["mss_bytes"][places]
    events = view.evidence.events
    repeated = events.filter(
        (events["kind"] == "timeout")
        & (events["connection"] == int(view.connection[places[0]]))
        & events["bytes"].is_not_null()
    )
    if not repeated.height:
        return np.full(places.size, np.nan)
    at_s, sizes = repeated["time_s"].to_numpy(), repeated["bytes"].cast(float).to_numpy()
    last = np.searchsorted(at_s, view.time_s[places], side="right") - 1
    return np.asarray(sizes[np.maximum(last, 0)], dtype=np.float64)


def _stuck(view: View, own: Flags) -> Claim | None:
    """Nothing of a segment's size has arrived, though something small did, or may have."""
    places = np.flatnonzero(own)
    arrived = np.nan_to_num(view["delivered_bytes"][places])
    steps = np.diff(arrived, prepend=0.0)
    if not _knows_its_beginning(view.evidence) or (steps >= view.mss).any():
        return None
    still = places[arrived == arrived[-1]]
    timers = still[np.diff(np.nan_to_num(view["timeouts"][still]), prepend=_before(view, still)) > 0]
    count = np.nan_to_num(view["timeouts"][still[-1]]) - _before(view, still)
    holds = np.zeros(view.size, bool)
    with np.errstate(invalid="ignore"):
        holds[still] = view.flight[still] > view.mss
    if count < LEAST_TIMEOUTS or not holds.any() or _by_sack(view, still) > view.mss:
        return None
    if not _repeats_full_ones(view, timers):
        return None
    tried, answered = _pings(view, timers)
    if tried >= _LEAST_PINGS and not answered and view.evidence.pings["rtt_s"].drop_nulls().len():
        return None
    acks = float(np.ptp(np.nan_to_num(view["acks"][[timers[0], timers[-1]]])))
    what = plural(answered, "ping") if answered else plural(int(acks), "acknowledgement")
    through = answered > 0 or acks > 0
    lasted_s = view.time_s[holds].max() - view.time_s[holds].min()
    return _claim(
        view,
        holds,
        1.0 if through else _UNSURE,
        f"no segment of {int(view.mss)} bytes has arrived in {duration(lasted_s)}, "
        + (f"though {what} came through" if through else "and an outage would look the same"),
        {"mss_bytes": known(view.mss), "pings_answered": answered, "acks": known(acks)},
    )


def _knows_its_beginning(of: Evidence) -> bool:
    """Whether all that ever arrived is in the evidence."""
    offers = (of.sender_offered, of.receiver_offered)
    return of.begun and (not of.of_packets or any(each.timestamps is not None for each in offers))


def _before(view: View, still: Places) -> float:
    """Timeouts before the first of these samples; it may show one already."""
    first = int(still[0])
    has_one_before = first > 0 and view.connection[first - 1] == view.connection[first]
    return float(np.nan_to_num(view["timeouts"][first - 1])) if has_one_before else 0.0


def _by_sack(view: View, still: Places) -> float:
    """Bytes that arrived out of order while nothing arrived in order."""
    return float(np.ptp(np.nan_to_num(view["arrived_bytes"][still])))


def _repeats_full_ones(view: View, timers: Places) -> bool:
    """Whether what each of these timers repeated was full, as far as it is known."""
    if not view.knows("retransmitted_bytes"):
        return True
    repeated = view.grown("retransmitted_bytes")[timers]
    first = np.flatnonzero(view.grown("timeouts")[timers] <= 0)
    repeated[first] = view["retransmitted_bytes"][timers][first]
    return bool((repeated >= view.mss).all())


def _pings(view: View, timers: Places) -> tuple[int, int]:
    """How many were sent between the first of these timers and the last, and how many were answered."""
    pings = view.evidence.pings
    between = pings.filter(pings["time_s"].is_between(view.time_s[timers[0]], view.time_s[timers[-1]]))
    return between.height, between["rtt_s"].drop_nulls().len()


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
