"""Runs of a lab of a path as it was seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim import SimEngine, simulated
from bentpipe.lab.load import Lab

_MOST_BYTES = 200e6
"""Payload of a simulated run: longer ones are cut, and still hold this."""
_LEAST_S = 10.0
_ROUND_TRIPS = 40


def shortened(document: dict[str, Any], rate_bit_s: float, rtt_s: float) -> dict[str, Any]:
    """The lab with a shorter run, if it carries much at that rate. A file is transferred whole."""
    if document.get("until") == "done":
        return document
    length_s = max(_MOST_BYTES * 8 / rate_bit_s, _LEAST_S, _ROUND_TRIPS * rtt_s)
    asked_s = float(document["duration"].split()[0])
    return {**document, "duration": f"{min(length_s, asked_s):.1f} s"}


def goodputs(document: Mapping[str, Any], change: Mapping[str, Any], seeds: Sequence[int]) -> list[float]:
    """Of the workload `transfer` with each seed, in bit/s. `change`: dotted keys with their values. Raises
    BentpipeError."""
    lab = Lab(**document)
    for key, value in change.items():
        lab = lab.replace(key, value)
    point = next(iter(lab.cells())).first
    SimEngine().check(point.spec)
    found = []
    for seed in seeds:
        record, _ = simulated(
            point.with_seed(seed), EngineOptions(), lambda *_told: None, into=None, length_s=1.0
        )
        work = record["workloads"]["transfer"]
        carried = work["bytes"] * 8
        lasted_s = work.get("completion_s") or work.get("duration_s") or 0.0
        found.append(carried / lasted_s if lasted_s else 0.0)
    return found
