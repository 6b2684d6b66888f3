"""Two virtual machines, iperf3 in both directions, five round trips.

Matched by direction, and by round trip within 5 % or 0.1 ms: what was pinged is not exactly what was set.
"""

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.analysis.published.figure import Figure
from bentpipe.runs.asked import base_rtt_s, direction_of
from bentpipe.words.direction import Direction


def read(table: Mapping[str, Any]) -> list[Figure]:
    """Forward is client to server (up), reverse is iperf3's --reverse (down)."""
    return [
        _figure(rtt_ms / 1000, direction, goodput)
        for direction, name in ((Direction.UP, "forward"), (Direction.DOWN, "reverse"))
        for rtt_ms, goodput in zip(table["rtt_ms"], table[f"{name}_mbit_s"], strict=True)
    ]


def _figure(rtt_s: float, direction: Direction, goodput_mbit_s: float) -> Figure:
    def fits(record: Mapping[str, Any], workload: str) -> bool:
        found_s = base_rtt_s(record)
        near = found_s is not None and math.isclose(rtt_s, found_s, rel_tol=0.05, abs_tol=1e-4)
        return near and direction_of(record, workload) == direction

    label = f"{rtt_s * 1000:g} ms, {direction}"
    return Figure(label, "bulk", "goodput", "Mbit/s", (goodput_mbit_s,), fits, rtt_s, direction)
