"""What a simulated workload did, as its entry in the record: the keys are `live`'s."""

from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

from bentpipe.engines.base import EngineError
from bentpipe.lab.spec import BulkSpec, WorkloadSpec

_TOO_SHORT_S = 0.05
"""A rate over less says nothing."""


def entry(work: WorkloadSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    """`found` is the workload's `Work` (crates/simrun/src/outcome.rs)."""
    match work.kind:
        case "ping":
            return _ping(found)
        case "bulk":
            return _bulk(work, found)
        case _:
            raise EngineError(
                f"workload {work.name}: the sim engine has no kind {work.kind!r}", what=work.kind
            )


def _bulk(work: BulkSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    seconds = found["measured_ns"] / 1e9
    last_byte_ns = found["last_byte_ns"]
    intervals = [(each["length_ns"] / 1e9, each["bytes"]) for each in found["intervals"]]
    result = {
        "kind": "bulk",
        "direction": work.direction,
        "streams": work.streams,
        "goodput_mbit_s": found["bytes"] * 8e-6 / seconds if seconds > 0 else None,
        "bytes": found["bytes"],
        "duration_s": seconds,
        "completion_s": (last_byte_ns - work.start_ns) / 1e9 if last_byte_ns is not None else None,
        "retransmits": found["retransmits"],
        "per_second_mbit_s": [size * 8e-6 / length for length, size in intervals if length >= _TOO_SHORT_S],
    }
    return result | {"why": found["why"]} if found["why"] else result


def _ping(found: Mapping[str, Any]) -> dict[str, Any]:
    times_ms = [each / 1e6 for each in found["round_trips_ns"]]
    result: dict[str, Any] = {
        "kind": "ping",
        "sent": len(times_ms) + found["lost"],
        "lost": found["lost"],
        "min_ms": None,
        "median_ms": None,
        "max_ms": None,
    }
    if times_ms:
        result |= {
            "min_ms": min(times_ms),
            "median_ms": median(times_ms),
            "max_ms": max(times_ms),
            "mean_ms": fmean(times_ms),
        }
    return result
