"""A middlebox that ends TCP on the way: the handshake is answered sooner than data ever are.

The proxy near the end that connects answers the SYN itself. Data's smallest round trip is then longer than
the handshake's, by more than a factor of two and 2 ms. A capture at the sender tells it
(answered_nearer.py).

It stands beside other causes, and takes no time from them.
"""

import numpy as np

from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.view import View
from bentpipe.words.wording import duration


def split(view: View) -> list[Claim]:
    handshake_s, data_s = view.evidence.handshake_rtt_s, view.evidence.rtt_behind_s
    if handshake_s is None or data_s is None:
        return []
    return [
        Claim(
            "split",
            np.ones(view.size, bool),
            min(1.0, 1 - handshake_s / data_s),
            f"something on the way ends TCP: the handshake took {duration(handshake_s)}, and no data came "
            f"back in less than {duration(data_s)}",
            {"handshake_rtt_s": known(handshake_s), "data_rtt_s": known(data_s)},
            "RTT of SYN and SYN-ACK < RTT of data / 2",
            "a handshake as long as the smallest round trip of data, or longer",
            beside=True,
        )
    ]
