"""A middlebox that ends TCP on the way: the handshake is answered sooner than data ever are.

The proxy near the end that connects answers the SYN itself. Data's smallest round trip is then longer
than the handshake's, by more than a factor of two and 2 ms; on one path the two differ by the
handshake's own waits, which only make it longer.

It stands beside other causes, and takes no time from them.
"""

import numpy as np

from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration

_LEAST_TIMES = 2.0
_LEAST_S = 0.002


def split(view: View) -> list[Claim]:
    handshake_s = view.evidence.handshake_rtt_s
    if handshake_s is None or view.base_rtt_s is None or view.evidence.seen_from == "between":
        return []
    if view.base_rtt_s < _LEAST_TIMES * handshake_s or view.base_rtt_s - handshake_s < _LEAST_S:
        return []
    return [
        Claim(
            "split",
            np.ones(view.size, bool),
            min(1.0, 1 - handshake_s / view.base_rtt_s),
            f"something on the way ends TCP: the handshake took {duration(handshake_s)}, and no data came "
            f"back in less than {duration(view.base_rtt_s)}",
            {"handshake_rtt_s": known(handshake_s), "data_rtt_s": known(view.base_rtt_s)},
            "RTT of SYN and SYN-ACK < RTT of data / 2",
            "a handshake as long as the smallest round trip of data, or longer",
            beside=True,
        )
    ]
