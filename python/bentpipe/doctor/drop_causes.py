"""How likely each cause of losses is, by their signs (drop_signs.py).

No single sign decides: a policer's bucket may be as large as the path's BDP, and a line's packets may come
in bunches. So the chances of the causes come from all signs together, by gradient-boosted trees (boosted.py):
what a sign says depends on others, such as how many round trips lie between two samples, the round trip, and
how much is in flight. The trees are fitted to labelled labs of the training half (benches/doctor/train.py).
Of other transfers such chances claim too much. So they are tempered: raised to the power of 2/3. The causes
count as equally frequent.
"""

import io
from functools import cache
from importlib import resources

import numpy as np

from bentpipe.doctor.arrival_signs import arrival_signs
from bentpipe.doctor.boosted import Trees, from_arrays
from bentpipe.doctor.drop_signs import signs
from bentpipe.doctor.envelope_signs import envelope_signs
from bentpipe.doctor.packet_signs import packet_signs
from bentpipe.doctor.several import alone, middles, together, whole
from bentpipe.doctor.silences import without_outages
from bentpipe.doctor.view import View

CAUSES = ("random-loss", "short-queue", "policer", "line-drops", "timeouts", "reordering")
"""What can drop packets, or seem to."""
SENDER_SIDE = ("send-buffer", "sender-application", "pacing")
"""What can keep a sender from sending more. A receiver infers these too."""
FULL = "capacity"
"""A receiver and a capture infer from the same signs that the path was full: round trips may not show it."""
IN_CAPTURES = (*CAUSES, *SENDER_SIDE, FULL)
AT_RECEIVER = (*IN_CAPTURES, "ack-path")
"""A capture tells by time stamps on which way packets wait. A receiver's sockets may show no queue where ACKs
wait."""
FILE = "drop_trees.npz"
_TEMPERED = 2 / 3
_KEEPS_ORDER = 3
"""The degree of reordering that Linux begins with."""


def all_signs(view: View) -> dict[str, float]:
    """What the chances follow from. Empty where too little came, and at a sender without a loss."""
    if view.connections.size == 1 or view.evidence.of_packets:
        return _signs(view)
    of_each = [found for found in (signs(each) for each in alone(view)) if found]
    if view.at_sender and not of_each:
        return {}
    in_sum = without_outages(whole(view))
    of_sum = {} if view.at_sender else arrival_signs(in_sum)
    return {**middles(of_each), **of_sum, **envelope_signs(in_sum), **middles(together(view))}


def _signs(view: View) -> dict[str, float]:
    view = without_outages(view)
    if view.evidence.of_packets:
        return {**signs(view), **arrival_signs(view), **packet_signs(view)}
    of_losses = signs(view)
    if view.at_sender:
        return {**of_losses, **envelope_signs(view)} if of_losses else {}
    return {**of_losses, **arrival_signs(view), **envelope_signs(view)}


def drop_causes(view: View) -> dict[str, float]:
    """The chance of each cause; empty where nothing was lost, or no round trip is known.

    At a receiver and in a capture FULL and the causes of SENDER_SIDE are among them, and it takes no loss.
    """
    found = all_signs(view)
    if not found:
        return {}
    by_chance = _trees(place(view)).of(found)
    ruled_out = _ruled_out(view)
    left = {cause: 0.0 if cause in ruled_out else chance**_TEMPERED for cause, chance in by_chance.items()}
    whole = sum(left.values())
    return {cause: chance / whole for cause, chance in left.items()} if whole > 0 else {}


def _ruled_out(view: View) -> set[str]:
    """What a sender's own counters say is not so: it counts its timers, and learns how late segments come.
    Without SACK it does not learn that. At a receiver within one host only the sender's side
    is possible."""
    found: set[str] = set()
    if view.evidence.within_host and not view.at_sender:
        return {*AT_RECEIVER} - {*SENDER_SIDE}
    if not view.sees_acks_return:
        return found
    if view.knows("timeouts") and not np.nanmax(view["timeouts"], initial=0.0) > 0:
        found.add("timeouts")
    if view.knows("reordering_segments"):
        keeps_order = np.nanmax(view["reordering_segments"]) <= _KEEPS_ORDER
        if (keeps_order and not view.evidence.lacks_sack) or not view.in_disorder:
            found.add("reordering")
    return found


def place(view: View) -> str:
    """Which trees hold: where it was seen, and from what."""
    if view.evidence.of_packets:
        return "packets at receiver" if view.evidence.seen_from == "receiver" else "packets at sender"
    end = "sender" if view.at_sender else "receiver"
    if view.connections.size > 1:
        return f"{end} of several"
    return "sender of bbr" if view.evidence.is_bbr else end


@cache
def _trees(end: str) -> Trees:
    packed = resources.files(__package__).joinpath(FILE).read_bytes()
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return from_arrays(arrays, end)
