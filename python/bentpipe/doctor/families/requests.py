"""The receiver asks for one piece after another, as a browser does, or a tool that fetches many small files
over one connection. The sender has nothing to send until a request has arrived, which takes a round trip.

A receiver's own socket counts what its program sends. Each of three tests is enough:

1. **Waits that are seen.** Nothing arrives from a request on for three quarters of a round trip: of a
   transfer that goes on, something always does. The claim holds from the first such wait on, where nothing
   else limits.
2. **Small answers.** Samples are further apart than the requests. The program asks in nearly all of them,
   and no more than an initial window comes in a round trip.
3. **Larger answers.** Over one connection, a round trip for each request makes nearly half of the time.

HTTP/2 and SSH ask for more of the same with every part that was read. That is no request. It is smaller than
one, and comes in nearly all samples of a fast transfer. So the third test, and waits that are told by coarse
samples, take only requests of 64 bytes and more, and none where they come in 80 % of the samples.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle, stretches
from bentpipe.doctor.claim import Claim, known, share_of
from bentpipe.doctor.view import View
from bentpipe.words.wording import percent, plural

_OF_ROUND_TRIP = 0.75
_OFTEN = 5
_LEAST_SHARE = 0.1
_NEARLY_ALWAYS = 0.8
_INITIAL_SEGMENTS = 10
_SURELY_LESS = 0.75
_LEAST_ASKED, _LEAST_ASKED_AT_ALL = 0.01, 2e-4
_LEAST_RTT_S = 0.005
"""A receiver knows round trips to a millisecond: shorter ones hide a queue."""
_NEARLY_HALF, _ALL = 0.4, 1.05
_LEAST_REQUEST_BYTES = 64
"""HTTP/2's WINDOW_UPDATE has 13 bytes (RFC 9113, 6.9), and 22 more within TLS 1.3; SSH's window adjust has 9
(RFC 4254, 5.2), padded and with a code of up to 32."""
_CERTAIN = 0.9


def waits_for_requests(view: View) -> tuple[Flags, int]:
    """Where, and how many requests; nowhere and 0 if the connections asked fewer than five times, or such
    waits are less than a tenth of the time."""
    holds, count = np.zeros(view.size, bool), 0
    base_s = view.base_rtt_s or 0.0
    if view.at_sender or base_s <= 0 or not view.knows("asked_bytes", "delivered_bytes"):
        return holds, 0
    asked = view.grown("asked_bytes") > 0
    came = _came(view)
    large = large_requests(view)
    for number in view.connections:
        own = np.flatnonzero(view.connection == number)
        for begin, end in stretches(~came[own]):
            if begin == 0 or end == own.size:
                continue  # Before the first payload, or never answered.
            # The sample that shows the end of one answer may show the next request, too.
            places = own[begin - 1 : end]
            requests = places[asked[places]]
            answer = own[end]
            if requests.size and _waited(view, int(requests[0]), int(answer), large):
                holds[own[begin : end + 1]] = True
                count += 1
    if count >= _OFTEN and share_of(holds, view.dt_s > 0, view.dt_s) >= _LEAST_SHARE:
        return holds, count
    all_the_time = _all_the_time(view, asked, came)
    return all_the_time if all_the_time[1] else _one_after_another(view, large & came, came)


def _came(view: View) -> Flags:
    return np.asarray(view.grown("delivered_bytes") + view.grown("out_of_order") > 0)


def large_requests(view: View) -> Flags:
    """The samples in which the receiver's program sent a request, and no mere wish for more of the same."""
    asked = view.grown("asked_bytes")
    if share_of(asked > 0, _came(view), view.dt_s) >= _NEARLY_ALWAYS:
        return np.zeros(view.size, bool)
    return np.asarray(asked >= _LEAST_REQUEST_BYTES)


def asks_often(view: View) -> bool:
    """Whether the program of each connection asked five times or more, for 64 bytes and more, so often that
    a round trip for each makes a tenth of the time or more. HTTP/2's wishes for more of the same may be as
    large together."""
    if view.at_sender or not view.base_rtt_s or not view.knows("asked_bytes", "delivered_bytes"):
        return False
    asked = (view.grown("asked_bytes") >= _LEAST_REQUEST_BYTES) & _came(view)
    counts = [int(asked[view.connection == each].sum()) for each in view.connections]
    count = min(counts, default=0)
    return count >= _OFTEN and _LEAST_SHARE <= _round_trips_share(view, count) <= _ALL


def _waited(view: View, request: int, answer: int, large: Flags) -> bool:
    """Whether nothing came from a request to its answer for so long: surely, or as far as samples show that
    are no further apart."""
    took_s = float(view.time_s[answer] - view.time_s[request])
    long_s, exact_s = _OF_ROUND_TRIP * (view.base_rtt_s or 0.0), float(view.dt_s[answer])
    surely = took_s - exact_s >= long_s and large[request]
    return bool(surely or (exact_s < long_s and took_s >= long_s - exact_s))


def _all_the_time(view: View, asked: Flags, came: Flags) -> tuple[Flags, int]:
    """The same where samples are further apart than the requests: the program asks in nearly all of them, and
    no more than an initial window comes in a round trip, of which a hundredth or more is asked for, or three
    quarters of one at most. Nothing is lost, or hardly anything in the second case, and hardly anything
    waits."""
    base_s = view.base_rtt_s or 0.0
    flight = middle(view.total_bit_s, came) * base_s / 8
    ratio = view.most("asked_bytes") / max(view.most("delivered_bytes"), 1.0)
    most = _INITIAL_SEGMENTS * view.mss
    waits = share_of(view.standing | view.returning, came, view.dt_s)
    alone = waits <= 1 - _NEARLY_ALWAYS and base_s >= _LEAST_RTT_S
    calm = bool(view.unharmed.all())
    if ratio < _LEAST_ASKED_AT_ALL:
        return np.zeros(view.size, bool), 0
    if ratio < _LEAST_ASKED:
        most *= _SURELY_LESS
        calm = share_of(view.grown("out_of_order") <= 0, came, view.dt_s) >= _NEARLY_ALWAYS
    often = share_of(asked, came, view.dt_s) >= _NEARLY_ALWAYS
    if not (alone and calm and often) or flight > most:
        return np.zeros(view.size, bool), 0
    return came, int((asked & came).sum())


def _one_after_another(view: View, asked: Flags, came: Flags) -> tuple[Flags, int]:
    """The same of larger answers, between two samples: a round trip for each time that the program asked is
    nearly half of the time or more, and not more than all of it, as if it asked before an answer was whole.
    Hardly anything is late, and hardly anything waits."""
    count = int(asked.sum())
    waits = share_of(view.standing | view.returning, came, view.dt_s)
    late = share_of(view.grown("out_of_order") > 0, came, view.dt_s)
    ratio = view.most("asked_bytes") / max(view.most("delivered_bytes"), 1.0)
    few = ratio <= _LEAST_ASKED and max(waits, late) <= 1 - _NEARLY_ALWAYS
    sequential = _NEARLY_HALF <= _round_trips_share(view, count) <= _ALL
    if count < _OFTEN or view.connections.size != 1 or not few or not sequential:
        return np.zeros(view.size, bool), 0
    return came, count


def _round_trips_share(view: View, count: int) -> float:
    """Of the time of one connection, for that many round trips."""
    took_s = float(view.dt_s[view.connection == view.connection[0]].sum())
    return count * (view.base_rtt_s or 0.0) / took_s if took_s > 0 else 0.0


def requests(view: View) -> list[Claim]:
    holds, count = waits_for_requests(view)
    if not count:
        return []
    share = share_of(holds, view.dt_s > 0, view.dt_s)
    if view.connections.size == 1 and share > _round_trips_share(view, count) >= _NEARLY_HALF:
        share = _round_trips_share(view, count)
    from_then_on: Flags = view.time_s >= view.time_s[holds].min()
    return [
        Claim(
            "sender-application",
            from_then_on,
            _CERTAIN,
            f"the sender waited for requests in {percent(share)} of the time: the receiver's program asked "
            f"{plural(count, 'time')} or more, one after another, and each answer takes a round trip",
            {"requests": count, "waiting_share": known(share, 4), "rtt_s": known(view.base_rtt_s or 0.0)},
            "time = requests x RTT, divided by the connections that ask at once",
            "payload that goes on arriving after a request",
        )
    ]
