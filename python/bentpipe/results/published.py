"""Published figures, matched to the point of a run.

The figures are data (published.toml); how a run is matched to one of them differs by experiment, so each key
has a function here. A run is compared only where its point is one that was published.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe.lab.published import published, published_keys


@dataclass(frozen=True)
class Figure:
    """One published measurement of one bulk transfer."""

    rtt_s: float
    direction: str
    goodput_mbit_s: float
    retransmits: int | None


def experiment(key: str | None) -> Mapping[str, Any] | None:
    """Title, set-up and claims as published; None where the key is none that is known."""
    return published(key) if key in published_keys() and key is not None else None


def figures(key: str) -> list[Figure]:
    """Every figure of an experiment, in the order published."""
    reader, table = _READERS.get(key), experiment(key)
    return reader(table) if reader and table else []


def figure_for(record: Mapping[str, Any], workload: str) -> Figure | None:
    """The published figure for a workload of a run, or None.

    Matched by direction, and by round trip within 5 % or 0.1 ms: what was pinged is not exactly what was set.
    """
    rtt_s = base_rtt_s(record)
    direction = workload_spec(record, workload).get("direction")
    candidates = [f for f in figures(record.get("published") or "") if f.direction == direction]
    if rtt_s is None or not candidates:
        return None
    nearest = min(candidates, key=lambda f: abs(f.rtt_s - rtt_s))
    return nearest if math.isclose(nearest.rtt_s, rtt_s, rel_tol=0.05, abs_tol=1e-4) else None


def base_rtt_s(record: Mapping[str, Any]) -> float | None:
    """The path's round trip without any queue, as configured."""
    base_ns = record.get("spec", {}).get("path", {}).get("base_rtt_ns")
    return None if base_ns is None else base_ns / 1e9


def workload_spec(record: Mapping[str, Any], workload: str) -> Mapping[str, Any]:
    """What the lab asked of a workload, in plain numbers; empty where the record does not say."""
    for spec in record.get("spec", {}).get("workloads", []):
        if spec.get("name") == workload:
            return dict(spec)
    return {}


def _effects_of_latency(table: Mapping[str, Any]) -> list[Figure]:
    """Forward is client to server (up), reverse is iperf3's --reverse (down)."""
    return [
        Figure(rtt_ms / 1000, direction, goodput, retransmits)
        for direction, name in (("up", "forward"), ("down", "reverse"))
        for rtt_ms, goodput, retransmits in zip(
            table["rtt_ms"], table[f"{name}_mbit_s"], table[f"{name}_retr"], strict=True
        )
    ]


_READERS: Mapping[str, Callable[[Mapping[str, Any]], list[Figure]]] = {
    "effects-of-latency": _effects_of_latency,
}
