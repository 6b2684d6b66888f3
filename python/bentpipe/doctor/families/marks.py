"""ECN: a queue that marks packets instead of dropping them, at a sender.

A cut is a sample in which cwnd and ssthresh have fallen, though TCP has sent nothing again, repairs nothing
and has more to send. Marks (RFC 3168) cause it, or drops by this host's own qdisc, which TCP takes for them.
From the second cut on, samples with a full cwnd belong to it.

Where the transfer then carries 95 % of what it carried at most, the path is full, and the queue that marks
does no harm: `capacity`. Elsewhere marks come too early for the round trip: `short-queue`.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, middle
from bentpipe.doctor.claim import Claim, known
from bentpipe.doctor.families.losses import bound, passed_bit_s
from bentpipe.doctor.view import View
from bentpipe.words.wording import plural, rate, size

_LEAST_CUTS = 2
_CUT = 0.95
_FILLS = 0.95
_CERTAINTY = 0.9


def cuts(view: View) -> Flags:
    """Where cwnd was cut without a loss. BBR cuts it by itself."""
    found = np.zeros(view.size, bool)
    of_bbr = view.evidence.is_bbr
    if not view.knows_cwnd or view.evidence.of_packets or of_bbr:
        return found
    cwnd, ssthresh = view["cwnd_bytes"], view["ssthresh_bytes"]
    with np.errstate(invalid="ignore"):
        more = view["notsent_bytes"] >= view.mss
        fell = (cwnd[1:] < _CUT * cwnd[:-1]) & np.isfinite(ssthresh[:-1]) & (ssthresh[1:] < ssthresh[:-1])
    same = view.connection[1:] == view.connection[:-1]
    calm = ~view.recovering & (view.grown("retransmits") <= 0) & more
    found[1:] = fell & same & calm[1:] & calm[:-1]
    return found


def marks(view: View) -> list[Claim]:
    at = cuts(view)
    count = int(at.sum())
    if count < _LEAST_CUTS:
        return []
    began_s = float(view.time_s[at].min())
    holds = bound(view) & (view.time_s >= began_s)
    if not holds.any():
        return []
    most, usual = passed_bit_s(view), middle(view.total_bit_s, holds)
    kept = middle(view["cwnd_bytes"], holds)
    evidence = {
        "rate_mbit_s": known(most / 1e6, 3),
        "usual_mbit_s": known(usual / 1e6, 3),
        "cuts": count,
        "cwnd_bytes": known(kept),
        "queue_s": known(middle(view.queue_s, holds)),
    }
    how = f"cwnd was cut {plural(count, 'time')} though nothing was lost: a queue marks packets (ECN)"
    if usual >= _FILLS * most:
        return [
            Claim(
                "capacity",
                holds,
                _CERTAINTY,
                f"the path was full: it carried {rate(usual)} of payload in the median and {rate(most)} at "
                f"most; {how}",
                evidence,
                "a queue that marks keeps its wait short, and the path full",
                "a rate that falls after marks",
            )
        ]
    return [
        Claim(
            "short-queue",
            holds,
            _CERTAINTY,
            f"{how} so early that {size(kept)} were in flight and the path carried {rate(usual)} of "
            f"{rate(most)}",
            evidence,
            "after a mark CUBIC keeps 0.7 of cwnd: below the BDP if the queue marks at less than 0.43 BDP",
            "a rate that stays at its highest",
        )
    ]
