"""Published figures, matched to the point of a run.

The figures are data (published.toml); how a run is matched to one of them differs by experiment, so each key
has a function here. A run is compared only where its point is one that was published.
"""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bentpipe.results.asked import base_rtt_s, direction_of


@dataclass(frozen=True)
class Figure:
    """One published measurement of one bulk transfer."""

    rtt_s: float
    direction: str
    goodput_mbit_s: float
    retransmits: int | None


@cache
def _published() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("bentpipe") / "published.toml").read_text(encoding="utf-8"))


def experiment(key: str | None) -> Mapping[str, Any] | None:
    """Title, set-up and claims as published; None where the key is none that is known."""
    return None if key is None else _published().get(key)


def figures(key: str) -> list[Figure]:
    """Every figure of an experiment, in the order published."""
    reader, table = _READERS.get(key), experiment(key)
    return reader(table) if reader and table else []


def figure_for(record: Mapping[str, Any], workload: str) -> Figure | None:
    """The published figure for a workload of a run, or None.

    Matched by direction, and by round trip within 5 % or 0.1 ms: what was pinged is not exactly what was set.
    """
    rtt_s = base_rtt_s(record)
    direction = direction_of(record, workload)
    candidates = [f for f in figures(record.get("published") or "") if f.direction == direction]
    if rtt_s is None or not candidates:
        return None
    nearest = min(candidates, key=lambda f: abs(f.rtt_s - rtt_s))
    return nearest if math.isclose(nearest.rtt_s, rtt_s, rel_tol=0.05, abs_tol=1e-4) else None


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
