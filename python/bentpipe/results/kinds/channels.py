"""Channels: what they carried together, in how many flows, and how long the small ones took."""

import math

from bentpipe.results.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, Record, entry, workloads_of


def _small_flows(percent: int) -> Measure:
    """A percentile; infinite where so many were cut off by the run's end that it is one of theirs."""
    key = f"p{percent}_s"

    def values(record: Record, workload: str) -> list[float]:
        small = record["workloads"].get(workload, {}).get("small_flows") or {}
        took_s, late = small.get(key), small.get("not_finished", 0)
        if late * 100 > (100 - percent) * (small.get("count", 0) + late):
            return [math.inf]
        return [] if took_s is None else [float(took_s)]

    words = f"small flows' p{percent}"
    header = f"small flows\np{percent}"
    return Measure(words, header, "s", values, more_is_better=False, key=f"small_flows.{key}")


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
    (_small_flows(50), _small_flows(95)),
)
