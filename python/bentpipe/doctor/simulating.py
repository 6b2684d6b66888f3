"""Runs of a lab of a path as it was seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim import SimEngine, simulated
from bentpipe.lab.load import Lab


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
