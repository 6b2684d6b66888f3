"""What a capture tells of a sender that could have sent more: of its buffer, its application, its pacing.

A capture shows neither what is unsent nor the buffer. Where nothing was lost that limits, no queue stood and
the window was open, one of the three limits. Which one follows from how the payload comes and what is in
flight (arrival_signs.py, packet_signs.py, drop_causes.py), as at a receiver.
"""

import numpy as np

from bentpipe.doctor.claim import Claim
from bentpipe.doctor.drop_causes import SENDER_SIDE, drop_causes
from bentpipe.doctor.episodes import episodes
from bentpipe.doctor.families.sender_from_afar import sender_side
from bentpipe.doctor.start_phase import rising
from bentpipe.doctor.view import View

_OPEN = 0.85


def by_packets(view: View) -> list[Claim]:
    if not view.evidence.of_packets or not view.size:
        return []
    by_chance = drop_causes(view)
    calm = ~view.standing & ~view.returning & ~rising(view) & ~view.after_timeout
    with np.errstate(invalid="ignore"):
        calm &= ~(view.flight >= _OPEN * view["rwnd_bytes"])
    if not by_chance or max(by_chance, key=lambda cause: by_chance[cause]) not in SENDER_SIDE:
        calm &= episodes(view).latest(view) < 0
    return [sender_side(view, calm, by_chance)] if calm.any() else []
