"""Channels: their total goodput, the number of flows, and the times of small flows."""

from collections.abc import Mapping
from typing import Any

from bentpipe.analysis.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, Record, entry, workloads_of
from bentpipe.analysis.kinds.tails import tail


def _small_flows(record: Record, workload: str) -> Mapping[str, Any]:
    return record["workloads"].get(workload, {}).get("small_flows") or {}


_SMALL = ("small flows'", "small flows\n", _small_flows, "small_flows")
CHANNELS = Kind(
    "channels",
    "Channels",
    (
        GOODPUT,
        Measure("flows", "flows", "", entry("flows"), key="flows"),
        Measure("failed", "failed", "", entry("failed"), more_is_better=False, key="failed"),
        RETRANSMITS,
    ),
    workloads_of("channels"),
    tuple(tail(*_SMALL, percent) for percent in (50, 95, 99)),
    counted="Goodput is the payload of all flows at their receivers over the workload's own time.",
)
