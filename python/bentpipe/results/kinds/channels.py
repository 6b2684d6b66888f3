"""Channels: what they carried together, in how many flows."""

from bentpipe.results.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, entry, workloads_of

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
)
