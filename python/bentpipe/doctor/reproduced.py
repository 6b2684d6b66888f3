"""The transfer on the lab of its path as seen, simulated: how well that lab reproduces what was seen.

The lab has a path, windows and buffers, but no programs. So a transfer that a program limited is not
simulated, nor one of which nothing is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe.analysis.intervals import interval
from bentpipe.doctor import from_run
from bentpipe.doctor.claim import known
from bentpipe.doctor.diagnosis import Diagnosis, diagnose_all
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.lab_seen import lab_seen
from bentpipe.doctor.matching import matched
from bentpipe.doctor.path_seen import PathSeen, path_seen
from bentpipe.doctor.simulating import goodputs, run_of, shortened
from bentpipe.errors import BentpipeError

SEEDS = (1, 2, 3, 4, 5)
_NOT_IN_A_LAB = {"sender-application", "receiver-application", "cpu", "pacing", "mtu", "unknown"}
AS_MUCH = 2.0
"""A lab that carries more than so many times what was seen lacks what limited; one that carries less has too
much of it."""
_TIMES = 4
"""Of a path whose rate is not known, how much more than was seen it may carry in the simulation."""


@dataclass(frozen=True)
class Reproduced:
    goodput_bit_s: float
    """The mean of the seeds."""
    low_bit_s: float
    high_bit_s: float
    """Of the mean, 95 % by Student's t."""
    kind: str | None
    """The first finding of the simulated transfer; None: it was not sampled, or it filled a path of unknown
    rate."""

    def as_json(self) -> dict[str, Any]:
        return {
            "goodput_mbit_s": known(self.goodput_bit_s / 1e6, 3),
            "interval": [known(self.low_bit_s / 1e6, 3), known(self.high_bit_s / 1e6, 3)],
            "first_finding": self.kind,
        }


def own_path(of: Diagnosis, path: PathSeen) -> PathSeen:
    """A path that another transfer saw on its way back says nothing of this one's way."""
    if path.direction is None or path.direction == of.evidence.direction:
        return path
    return path_seen([of], alone=False, simulates=False) or path


def lab_of(of: Diagnosis, path: PathSeen) -> dict[str, Any] | None:
    """The lab of the transfer on its own path, as long as a simulation needs. None: its goodput or the path's
    round trip is not known, or there is no path."""
    seen = of.evidence.goodput_bit_s
    if not seen or path.rtt_s is None or of.evidence.within_host:
        return None
    document = matched(lab_seen(path, [of]), of, path)
    return shortened(document, path.rate_bit_s or _TIMES * seen, path.rtt_s)


def reproduced(of: Diagnosis, path: PathSeen) -> Reproduced | None:
    """None where the path is not known, or its lab cannot be simulated or lacks what limited."""
    path = own_path(of, path)
    first = of.findings[0].kind
    if first in _NOT_IN_A_LAB or (first == "random-loss" and not path.loss):
        return None
    document = lab_of(of, path)
    if document is None:
        return None
    try:
        carried = goodputs(document, {}, SEEDS)
        kind = _first_finding(document, "sender" if of.view.at_sender else "receiver")
    except BentpipeError:
        return None
    if kind == "capacity" and path.rate_bit_s is None:
        kind = None
    spread = interval(carried)
    return None if spread is None else Reproduced(spread.mean, spread.low, spread.high, kind)


def _first_finding(document: Mapping[str, Any], seen_from: SeenFrom) -> str | None:
    found = diagnose_all(from_run.transfers(*run_of(document), seen_from))
    return next((each.findings[0].kind for each in found if each.evidence.name == "transfer"), None)
