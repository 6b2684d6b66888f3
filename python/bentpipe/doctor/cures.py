"""What changes would give: the path as it was seen, simulated without and with each change.

A change is a set of dotted keys of the lab of the path as seen (lab_seen.py). Each is simulated with
the same seeds as the lab without it. The prediction is one of two figures:

- **The goodput that was seen, times the mean ratio of the two.**
- **The simulated goodput itself**, for a file, and where the path's rate limits after the change: there the
  ratio would carry on what the lab missed of the limit that is gone. The lab has to be like what was seen. It
  is not if it carries more than twice as much, unless BBR passes what limited; nor if it carries less than
  half as much over a path whose rate is not known.

It is no more than a path carries whose rate is known. The interval holds the ratio's own (Student's t over
the seeds), and the simulated goodput: where that differs from the scaled one, the simulated path differs
from the real one by as much. It is wider by what the simulator's goodput is off from a kernel's in one of
twenty cells (docs/accuracy.md).

Of a path whose rate is not known the upper end of the interval is unknown. A larger
window is simulated with 16 times the rate that the path carried, and another congestion control with that
rate itself: what it would find beyond is not known.

A change has effects on others, too: on the transfers that share a queue with this one, and on whoever waits
in the path's queue.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe.analysis.intervals import interval
from bentpipe.doctor.claim import known
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.path_seen import PathSeen
from bentpipe.doctor.reproduced import AS_MUCH, SEEDS, lab_of, own_path
from bentpipe.doctor.simulating import Outcome, outcomes
from bentpipe.errors import BentpipeError

_MOST_CHANGES = 3
_TIMES = 4
_LEAST_SHARE = 0.05
_SIMULATORS_ERROR = 0.06
_BY_LOSS = {"random-loss", "short-queue", "policer", "line-drops", "reordering"}
_FULL = 0.8
_BBR_PASSES = ("random-loss", "short-queue", "reordering")


@dataclass(frozen=True)
class OnOthers:
    """What a change does to others, simulated."""

    times: float | None
    """By which factor the goodput of the transfers changes that share a queue with this one; None: there are
    none."""
    low: float | None
    high: float | None
    waits_s: tuple[float, float] | None
    """The mean wait in the path's queue, before and after; None: the path's rate is not known."""

    def as_json(self) -> dict[str, Any]:
        times = (self.times, self.low, self.high)
        mean, low, high = (None if each is None else known(each, 4) for each in times)
        return {
            "goodput_times": mean,
            "interval": [low, high],
            "queue_s": None if self.waits_s is None else [known(each, 6) for each in self.waits_s],
        }


NOT_KNOWN = OnOthers(None, None, None, None)
"""Of a lab that does not reproduce the transfer."""


@dataclass(frozen=True)
class Cure:
    change: Mapping[str, Any]
    """Dotted keys of a lab with their values."""
    goodput_bit_s: float
    low_bit_s: float
    high_bit_s: float | None
    """None: not known, since the path's rate is not."""
    simulated_bit_s: float
    seen_simulated_bit_s: float
    """What the lab without the change gave."""
    on_others: OnOthers

    def as_json(self) -> dict[str, Any]:
        return {
            "change": dict(self.change),
            "goodput_mbit_s": known(self.goodput_bit_s / 1e6, 3),
            "interval": [
                known(self.low_bit_s / 1e6, 3),
                None if self.high_bit_s is None else known(self.high_bit_s / 1e6, 3),
            ],
            "simulated_mbit_s": known(self.simulated_bit_s / 1e6, 3),
            "seen_simulated_mbit_s": known(self.seen_simulated_bit_s / 1e6, 3),
            "others": self.on_others.as_json(),
        }


def cures(of: Diagnosis, path: PathSeen) -> list[Cure]:
    """Of a transfer, the best first, without changes that would give no more. Empty where no setting would
    help, or the path is not known."""
    path = own_path(of, path)
    seen = of.evidence.goodput_bit_s
    document = lab_of(of, path)
    if not seen or document is None:
        return []
    changes = _changes(of, document)[:_MOST_CHANGES]
    try:
        found = [_cure(_carrying(document, change, path), change, of, path) for change in changes]
    except BentpipeError:
        return []
    better = [each for each in found if each is not None and each.goodput_bit_s > seen]
    return sorted(better, key=lambda each: -each.goodput_bit_s)


def _carrying(document: Mapping[str, Any], change: Mapping[str, Any], path: PathSeen) -> Mapping[str, Any]:
    """The lab for a change. Another congestion control is given no more than an unknown path has carried."""
    if path.rate_bit_s is not None or not path.least_rate_bit_s or "host.congestion_control" not in change:
        return document
    return {**document, "path": {**document["path"], "rate": f"{round(path.least_rate_bit_s)} bit/s"}}


def _changes(of: Diagnosis, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    sends_down = (of.evidence.direction or "down") == "down"
    sender, receiver = ("server", "client") if sends_down else ("client", "server")
    found: list[dict[str, Any]] = []

    def add(*changes: dict[str, Any]) -> None:
        found.extend(each for each in changes if each not in found)

    for finding in of.findings:
        if finding.share < _LEAST_SHARE:
            continue
        if finding.kind == "receiver-window":
            least, usual, most = document[receiver]["tcp_rmem"]
            add({f"{receiver}.tcp_rmem": [least, max(usual, 131_072), _TIMES * most]})
        elif finding.kind == "send-buffer":
            least, usual, most = document.get(sender, {}).get("tcp_wmem", (4096, 16_384, 4_194_304))
            add({f"{sender}.tcp_wmem": [least, max(usual, 16_384), _TIMES * most]})
        elif finding.kind == "tcp-options" and finding.evidence.get("option") == "sack":
            lacking = [host for host in (sender, receiver) if document.get(host, {}).get("sack") is False]
            add({f"{host}.sack": True for host in lacking})
        elif finding.kind == "tcp-options":
            add({f"{receiver}.window_scaling": True})
        elif finding.kind == "slow-start":
            add({f"{sender}.initcwnd": 40})
        elif finding.kind in _BY_LOSS and not of.evidence.is_bbr:
            add({"host.congestion_control": "bbr"})
    windows = [each for each in found if any(key.endswith(("tcp_rmem", "tcp_wmem")) for key in each)]
    if len(windows) > 1:
        # Either alone leaves the other as the limit.
        found.insert(0, {key: value for each in windows for key, value in each.items()})
    return found


def _cure(
    document: Mapping[str, Any],
    change: Mapping[str, Any],
    of: Diagnosis,
    path: PathSeen,
) -> Cure | None:
    seen_bit_s = of.evidence.goodput_bit_s or 0.0
    runs = outcomes(document, {}, SEEDS), outcomes(document, change, SEEDS)
    before, after = ([each.goodput_bit_s for each in of_them] for of_them in runs)
    ratios = [late / early for early, late in zip(before, after, strict=True) if early > 0]
    spread = interval(ratios)
    if spread is None:
        return None
    mean, mean_before = sum(after) / len(after), sum(before) / len(before)
    ends = (spread.low * seen_bit_s, spread.high * seen_bit_s, mean)
    payload = 1 / of.view.wire_scale
    # A rate at which something dropped may be far below the path's.
    least = 0.0 if path.rate_bounds else seen_bit_s / AS_MUCH
    # BBR does not answer to such losses, so it matters little whether the lab has as many.
    is_passed = of.findings[0].kind in _BBR_PASSES and "host.congestion_control" in change
    agrees = least <= mean_before <= (math.inf if is_passed else AS_MUCH * seen_bit_s)
    said = spread.mean * seen_bit_s
    if agrees and (document.get("until") == "done" or _fills(document, mean / payload)):
        said = max(mean, seen_bit_s) if mean >= mean_before else mean
    low, high = (
        (1 - _SIMULATORS_ERROR) * max(min(*ends, said), 0.0),
        (1 + _SIMULATORS_ERROR) * max(*ends, said),
    )
    if path.rate_bounds and path.rate_bit_s is not None:
        narrow, wide = (
            max((each or path.rate_bit_s) * payload, seen_bit_s) for each in path.rate_interval_bit_s
        )
        said = min(said, max(path.rate_bit_s * payload, seen_bit_s))
        low, high = min(low, narrow), max(min(high, wide), said)
    return Cure(
        change,
        said,
        low,
        high if path.rate_bit_s is not None else None,
        mean,
        mean_before,
        _on_others(*runs, path) if 1 / AS_MUCH <= mean_before / seen_bit_s <= AS_MUCH else NOT_KNOWN,
    )


def _on_others(before: Sequence[Outcome], after: Sequence[Outcome], path: PathSeen) -> OnOthers:
    ratios = [
        late.others_bit_s / early.others_bit_s
        for early, late in zip(before, after, strict=True)
        if early.others_bit_s and late.others_bit_s is not None
    ]
    spread = interval(ratios)
    waits_s = None
    if path.rate_bit_s is not None:
        held_s = [
            sum(each.queue_bytes for each in runs) / len(runs) * 8 / path.rate_bit_s
            for runs in (before, after)
        ]
        waits_s = (held_s[0], held_s[1])
    if spread is None:
        return OnOthers(None, None, None, waits_s)
    return OnOthers(spread.mean, max(spread.low, 0.0), spread.high, waits_s)


def _fills(document: Mapping[str, Any], rate_bit_s: float) -> bool:
    """Whether so much fills the lab's path. Then its rate limits, and how well the lab reproduced what
    limited before does not matter."""
    rate = document["path"].get("rate")
    return rate is not None and rate_bit_s >= _FULL * float(rate.split()[0])
